//! OpenAI's embeddings, as OpenAI and the servers that follow it write them.

use serde::Deserialize;
use serde_json::{Value, json};

/// Returns the body of a request.
pub(crate) fn body(texts: &[String], model: &str) -> Value {
    json!({"model": model, "input": texts, "encoding_format": "float"})
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

/// Reads the body of a reply to so many texts; `Err` says what is wrong with it.
pub(crate) fn reply(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
    let mut reply: Reply =
        serde_json::from_slice(body).map_err(|error| format!("these are not embeddings: {error}"))?;
    // Nothing says that they come in the order of the texts.
    reply.data.sort_by_key(|one| one.index);
    if !reply.data.iter().map(|one| one.index).eq(0..count) {
        return Err(format!("it has {} embeddings, and not one for each of {count} texts", reply.data.len()));
    }
    let vectors: Vec<Vec<f32>> = reply.data.into_iter().map(|one| one.embedding).collect();
    let length = vectors.first().map_or(0, Vec::len);
    let is_good = |vector: &Vec<f32>| vector.len() == length && vector.iter().all(|value| value.is_finite());
    if length == 0 || !vectors.iter().all(is_good) {
        return Err("its embeddings are empty, of several lengths, or no numbers".to_owned());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::reply;

    #[test]
    fn embeddings_come_in_the_order_of_the_texts_or_are_refused() {
        let two = br#"{"data":[{"index":1,"embedding":[0.5,1]},{"index":0,"embedding":[2,3]}],"model":"m"}"#;
        assert_eq!(reply(two, 2).unwrap(), [[2.0, 3.0], [0.5, 1.0]]);
        for (bad, count) in [
            (&two[..], 3),
            (br#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}"#, 2),
            (br#"{"data":[{"index":0,"embedding":[]}]}"#, 1),
            (br#"{"data":[{"index":0,"embedding":[1e40]}]}"#, 1),
            (br#"{"error":"no"}"#, 1),
        ] {
            assert!(reply(bad, count).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
