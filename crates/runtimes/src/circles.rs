//! Parents that lead in a circle: which ways to a root end. A broken file may have others.

/// Says of each of `count` records whether the way from it to a root ends.
pub(crate) fn ways_end(count: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<bool> {
    // Whether a record's way ends, once that is known; what is walked over at the moment counts as a circle.
    let mut known: Vec<Option<bool>> = vec![None; count];
    for start in 0..count {
        let (mut walked, mut next) = (Vec::new(), Some(start));
        let ends = loop {
            let Some(at) = next else { break true };
            match known.get_mut(at) {
                Some(Some(ends)) => break *ends,
                Some(state) => *state = Some(false),
                None => break true,
            }
            walked.push(at);
            next = parent(at);
        };
        for at in walked {
            if let Some(state) = known.get_mut(at) {
                *state = Some(ends);
            }
        }
    }
    known.into_iter().map(|ends| ends.unwrap_or(true)).collect()
}
