//! English words that a query does not look for: they are in every other entry.
//!
//! 58 of them, from the recipe. Entries keep them, so that phrases can be checked and lengths compared.

/// The words in ascending order.
const WORDS: [&str; 58] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "for", "from", "had", "has",
    "have", "he", "her", "hers", "him", "his", "how", "i", "in", "is", "it", "its", "me", "my", "of", "on",
    "or", "our", "s", "she", "t", "that", "the", "their", "them", "they", "this", "to", "was", "we", "were",
    "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your",
];

/// Returns whether a lower-case word is one.
pub(super) fn is_stop(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted_by(|one, two| one < two));
        assert!(is_stop("why") && !is_stop("retries"));
    }
}
