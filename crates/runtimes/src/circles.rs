//! Ways from records up to their roots, which lead in circles in a broken file.

/// Finds what each of `count` records gets from its way up: what `own` returns of the record itself, else of the nearest record above
/// it. Returns `None` for a record whose way ends or leads in a circle before that. Looks at each record once.
pub(crate) fn nearest_up<T: Copy>(
    count: usize,
    parent: impl Fn(usize) -> Option<usize>,
    own: impl Fn(usize) -> Option<T>,
) -> Vec<Option<T>> {
    // What was found, once that is known. What is walked over at the moment counts as nothing, so a circle finds nothing.
    let mut known: Vec<Option<Option<T>>> = vec![None; count];
    for start in 0..count {
        let (mut walked, mut next) = (Vec::new(), Some(start));
        let found = loop {
            let Some(at) = next else { break None };
            match known.get_mut(at) {
                Some(Some(found)) => break *found,
                Some(state) => *state = Some(None),
                None => break None,
            }
            walked.push(at);
            let found = own(at);
            if found.is_some() {
                break found;
            }
            next = parent(at);
        };
        for at in walked {
            if let Some(state) = known.get_mut(at) {
                *state = Some(found);
            }
        }
    }
    known.into_iter().map(Option::flatten).collect()
}

/// Returns the circles among `count` records, each as the records that lead back to themselves. Looks at each record once.
pub(crate) fn circles(count: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    // The walk that came to a record first.
    let mut walks: Vec<Option<usize>> = vec![None; count];
    for start in 0..count {
        let mut next = Some(start);
        let met = loop {
            let Some(at) = next else { break None };
            match walks.get_mut(at) {
                Some(walk @ None) => *walk = Some(start),
                Some(walk) => break (*walk == Some(start)).then_some(at),
                None => break None,
            }
            next = parent(at);
        };
        let around = std::iter::successors(met, |at| parent(*at).filter(|next| Some(*next) != met));
        found.extend(met.map(|_| around.collect()));
    }
    found
}

/// Says of each of `count` records whether the way from it to a root ends.
pub(crate) fn ways_end(count: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<bool> {
    let roots = nearest_up(count, &parent, |at| parent(at).is_none().then_some(()));
    roots.into_iter().map(|root| root.is_some()).collect()
}
