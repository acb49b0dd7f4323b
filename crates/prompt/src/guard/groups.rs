//! What has to stay together: calls with their results, and the lines of the message that makes the calls.

use std::collections::HashMap;

use stemmata_model::{Entry, Role, group_tools};

/// The tool group of each entry. Groups that share an entry are one, and so are the lines of one message.
pub(crate) struct Groups {
    /// The group of each entry; none of what stands alone.
    pub(crate) of_entry: Vec<Option<u32>>,
    /// Whether a call of a group waits for its result, or the model has not answered to a result yet.
    pub(crate) is_open: HashMap<u32, bool>,
}

impl Groups {
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let groups = group_tools(entries);
        let mut joined: Vec<usize> = (0..groups.len()).collect();
        let mut of_entry: Vec<Option<usize>> = vec![None; entries.len()];
        let mut by_message: HashMap<&str, usize> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            for place in group.calls.iter().chain(&group.results) {
                if let Some(of_entry) = of_entry.get_mut(*place) {
                    match *of_entry {
                        Some(other) => join(&mut joined, other, number),
                        None => *of_entry = Some(number),
                    }
                }
            }
            let messages =
                group.calls.iter().filter_map(|place| entries.get(*place)?.meta.message_id.as_deref());
            by_message.extend(messages.map(|message| (message, number)));
        }
        for (entry, of_entry) in entries.iter().zip(&mut of_entry) {
            let message = entry.meta.message_id.as_deref().filter(|_| entry.role == Role::Assistant);
            *of_entry = of_entry.or_else(|| by_message.get(message?).copied());
        }
        let number = |group: usize| u32::try_from(root(&joined, group)).unwrap_or(u32::MAX);
        let answered = entries.iter().rposition(|entry| entry.role == Role::Assistant);
        let mut is_open: HashMap<u32, bool> = HashMap::new();
        for (group, tools) in groups.iter().enumerate() {
            let is_unseen =
                tools.results.iter().any(|place| answered.is_none_or(|answered| *place > answered));
            *is_open.entry(number(group)).or_default() |= is_unseen || !tools.open.is_empty();
        }
        Self { of_entry: of_entry.into_iter().map(|group| group.map(number)).collect(), is_open }
    }
}

fn root(joined: &[usize], mut group: usize) -> usize {
    while let Some(next) = joined.get(group).copied().filter(|next| *next != group) {
        group = next;
    }
    group
}

/// The lower number wins, so that chains stay short: groups are joined in their order.
fn join(joined: &mut [usize], one: usize, two: usize) {
    let (one, two) = (root(joined, one), root(joined, two));
    if let Some(place) = joined.get_mut(one.max(two)) {
        *place = one.min(two);
    }
}
