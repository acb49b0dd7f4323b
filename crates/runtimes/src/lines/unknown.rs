//! Types of records that this version does not know, and how many there were.

/// Types that are told apart; a file of garbage should not fill the memory.
const TYPES_MAX: usize = 32;

/// Characters of a type's name that are kept.
const NAME_CHARS_MAX: usize = 64;

/// What stands for all types beyond the first ones.
const OTHERS: &str = "…";

/// Counts records of unknown types, in the order in which the types came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknown(Vec<(String, u64)>);

impl Unknown {
    pub(crate) fn count(&mut self, name: &str) {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        let is_full = self.0.len() >= TYPES_MAX;
        match self.0.iter_mut().find(|(known, _)| *known == name || (is_full && known == OTHERS)) {
            Some((_, count)) => *count += 1,
            None => self.0.push((if is_full { OTHERS.to_owned() } else { name }, 1)),
        }
    }

    pub(crate) fn types(&self) -> &[(String, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_every_record_is_counted_however_many_types_there_are() {
        let mut unknown = Unknown::default();
        (0..200).for_each(|number| unknown.count(&format!("type-{}", number % 100)));
        assert_eq!(unknown.types().iter().map(|(_, count)| count).sum::<u64>(), 200);
        assert_eq!(unknown.types().len(), TYPES_MAX + 1);
        assert_eq!(unknown.types().first(), Some(&("type-0".to_owned(), 2)));
    }
}
