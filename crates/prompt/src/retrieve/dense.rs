//! Dense vectors: the seam to a model that turns texts into vectors, and what nearness in meaning is worth.
//!
//! Off unless somebody configures it; where vectors come from and are kept is the engine's to know.

use super::candidate::Candidate;

/// How much nearer than the average candidate the nearest one has to be: where all are alike, none fits the task.
const SPREAD_MIN: f32 = 0.05;

/// Turns texts into vectors. Crate `llm` has a client; tests have scripted ones.
///
/// The same text has the same vector as long as the model is the same. May be called from any thread; blocks.
pub trait Embedder: Send + Sync {
    /// Returns the model's name: vectors of two models are never compared.
    fn model(&self) -> &str;

    /// Returns the address of the server: that one is down says nothing of another.
    fn server(&self) -> &str;

    /// Returns a vector for each text, all of one length.
    ///
    /// # Errors
    /// What happened, and whether the server is down.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, NoVectors>;
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVectors {
    /// What happened, as a sentence.
    pub reason: String,
    /// Whether the server cannot be reached, does not answer in time or fails: to ask it again soon only costs another wait. One that
    /// refuses, because of a key or a name, may be asked again at once.
    pub is_down: bool,
}

/// A vector of length 1 with a byte for each value: a quarter of the space, and no order of candidates that a person would notice
/// is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenseVector(pub Vec<i8>);

impl DenseVector {
    /// Scales a vector. Each value is in steps of the greatest one, since lengths cancel out where two are compared.
    pub fn of(values: &[f32]) -> Self {
        let greatest = values.iter().fold(0.0_f32, |greatest, value| greatest.max(value.abs()));
        let scale = if greatest > 0.0 { f32::from(i8::MAX) / greatest } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "within the bounds of a byte by the scale")]
        let bytes = values.iter().map(|value| (value * scale).round() as i8);
        Self(bytes.collect())
    }

    /// Returns the cosine of the angle between two vectors, from -1 to 1; 0 for vectors of two lengths and for nothing.
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.0.len() != other.0.len() {
            return 0.0;
        }
        let dot = |one: &[i8], other: &[i8]| -> i64 {
            one.iter().zip(other).map(|(one, other)| i64::from(*one) * i64::from(*other)).sum()
        };
        let both = (as_float(dot(&self.0, &self.0)) * as_float(dot(&other.0, &other.0))).sqrt();
        if both > 0.0 { as_float(dot(&self.0, &other.0)) / both } else { 0.0 }
    }
}

/// Says of each candidate how near it is to the task, from 0 for the average one and those below to 1 for the nearest. The cosines of models lie
/// on scales of their own, so that only candidates of one question can be compared.
pub fn set_nearness(candidates: &mut [Candidate], cosines: &[Option<f32>]) {
    let known: Vec<f32> = cosines.iter().flatten().copied().collect();
    #[expect(clippy::cast_precision_loss, reason = "a count of candidates")]
    let mean = known.iter().sum::<f32>() / known.len().max(1) as f32;
    let spread = known.iter().fold(f32::MIN, |most, one| most.max(*one)) - mean;
    for (candidate, cosine) in candidates.iter_mut().zip(cosines) {
        let near = cosine.filter(|_| spread >= SPREAD_MIN).map(|cosine| (cosine - mean) / spread);
        candidate.nearness = near.filter(|near| *near > 0.0);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums of products of bytes; 24 bits are more than a cosine shows"
)]
const fn as_float(sum: i64) -> f32 {
    sum as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_keep_the_angle(one in prop::collection::vec(-1.0_f32..1.0, 64), other in prop::collection::vec(-1.0_f32..1.0, 64)) {
            let dot = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
            let exact = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
            let ours = DenseVector::of(&one).cosine(&DenseVector::of(&other));
            prop_assert!((exact - ours).abs() < 0.02, "{exact} and {ours}");
        }
    }

    #[test]
    fn nothing_and_vectors_of_two_lengths_are_not_near() {
        let of = |values: &[f32]| DenseVector::of(values);
        for (one, other) in [(of(&[]), of(&[])), (of(&[0.0]), of(&[1.0])), (of(&[1.0]), of(&[1.0, 1.0]))] {
            assert!(one.cosine(&other).abs() < f32::EPSILON);
        }
        assert!((of(&[1.0, 2.0]).cosine(&of(&[2.0, 4.0])) - 1.0).abs() < 0.001);
    }
}
