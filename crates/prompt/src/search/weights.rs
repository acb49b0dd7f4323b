//! The constants of the ranking, as data.
//!
//! Their source is the recipe that `docs/decisions/0020-search.md` describes, with the row that each was kept for.

/// All weights: entries that somebody wrote in a conversation have an author, those of an agent's session none.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// How BM25 saturates, in both stages.
    pub saturation: Saturation,
    /// How many tokens of a date's term one token of an entry is worth, inverted: a date counts as half a word.
    pub date: f64,
    /// For entries with an author.
    pub conversation: Recipe,
    /// For entries without.
    pub agent: Recipe,
}

/// The two constants of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// How slowly repeated words saturate.
    pub k1: f64,
    /// How much a long text is held against it.
    pub b: f64,
}

impl Saturation {
    /// Returns what `tf` words in a text are worth, the length given as a multiple of the average one.
    #[inline]
    pub fn of(self, tf: f64, length_ratio: f64) -> f64 {
        if tf > 0.0 {
            tf * (self.k1 + 1.0) / (tf + self.k1 * (1.0 - self.b + self.b * length_ratio))
        } else {
            0.0
        }
    }
}

/// The weights of the second stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// What the words of the entries before count in an entry's window, the nearest first.
    pub before: [f64; WINDOW],
    /// What the words of the entries after count, the nearest first.
    pub after: [f64; WINDOW],
    /// What the nearest entry before counts times if it asks: the answer has not the question's words.
    pub asked: f64,
    /// A longer neighbour counts as this many tokens: long tool results would drown what stands beside them.
    pub neighbour_tokens: f64,
    /// What an entry's own words count on top of its window.
    pub own: f64,
    /// The length at which an entry counts half: short ones say little.
    pub length: f64,
    /// The same for a prompt: a person says in a few words what calls and results repeat at length.
    pub prompt_length: f64,
    /// How much more an entry counts that has every word of the query itself than one that has few. By the same share it is not held
    /// against for being short.
    pub coverage: f64,
    /// How much more it counts on top of that if it is no longer than the query.
    pub brevity: f64,
    /// What an entry counts times that has no word of a short query itself: so little that those come first which have them all.
    pub nearby: f64,
    /// What an entry counts times if its author is the one participant that the query names.
    pub speaker: f64,
    /// What an entry that asks counts times.
    pub question: f64,
    /// How much more the newest entry of the scope counts than the oldest.
    pub recent: f64,
    /// What a decision counts times.
    pub decision: f64,
    /// What the call of a tool counts times: it says what was done, and to which file.
    pub call: f64,
    /// What instructions count times that the runtime added: every session repeats them.
    pub instruction: f64,
    /// What the summary of a compaction counts times: it repeats what people and models said, and is always newer than they are.
    pub summary: f64,
}

/// How many entries a window reaches to each side.
pub const WINDOW: usize = 4;

impl Weights {
    /// The weights that were measured.
    pub const MEASURED: Self = Self {
        saturation: Saturation { k1: 1.2, b: 0.6 },
        date: 0.5,
        conversation: Recipe {
            before: [0.5, 0.39, 0.30, 0.24],
            after: [0.4, 0.31, 0.24, 0.19],
            asked: 2.5,
            neighbour_tokens: 48.0,
            own: 0.25,
            length: 2.0,
            prompt_length: 2.0,
            coverage: 0.0,
            brevity: 0.0,
            nearby: 1.0,
            speaker: 1.2,
            question: 0.9,
            recent: 0.0,
            decision: 1.0,
            call: 1.0,
            instruction: 1.0,
            summary: 1.0,
        },
        agent: Recipe {
            before: [0.5, 0.39, 0.30, 0.24],
            after: [0.4, 0.31, 0.24, 0.19],
            asked: 2.0,
            neighbour_tokens: 48.0,
            own: 0.25,
            length: 20.0,
            prompt_length: 2.0,
            coverage: 1.0,
            brevity: 2.0,
            nearby: 0.01,
            speaker: 1.0,
            question: 1.0,
            recent: 1.0,
            decision: 1.15,
            call: 1.1,
            instruction: 0.8,
            summary: 0.5,
        },
    };
}
