//! What is known of a model's window, and what the images of a prompt would count.

use stemmata_api::v1::{ClientWindow, ContextImages, ModelWindow, PromptTrace};
use stemmata_engine::tokens::{CLIENTS, ClientRow, Family, ModelRow, Pixels, image_tokens, model};

/// Returns what is known of a model's window.
pub(super) fn window(name: &str) -> ModelWindow {
    let row = model(name);
    let window = row.and_then(|row| row.window);
    let clients =
        CLIENTS.iter().filter(|client| row.is_some_and(|row| client.families.contains(&row.family)));
    ModelWindow {
        model: name.to_owned(),
        tokens: window.map(|(tokens, _)| tokens),
        source: window.map(|(_, source)| source.to_owned()),
        clients: clients.map(|client| client_window(client, row)).collect(),
    }
}

pub(super) fn client_window(client: &ClientRow, row: Option<&ModelRow>) -> ClientWindow {
    let window = client.window.or(row.and_then(|row| row.window)).map(|(tokens, _)| tokens);
    ClientWindow {
        client: client.client.to_owned(),
        tokens: window,
        compacts_at: window.and_then(|tokens| client.compacts_at.tokens(tokens)),
        source: client.source.to_owned(),
    }
}

/// Counts the images of what is in a prompt, as a model reads them.
pub(super) fn images(trace: &PromptTrace, name: Option<&str>) -> Option<ContextImages> {
    let family: Option<Family> = name.and_then(model).map(|row| row.family);
    let items = trace.candidates.iter().flat_map(|candidate| &candidate.items);
    let mut images = ContextImages { count: 0, sized: 0, tokens: 0 };
    for image in items.filter(|item| item.included).flat_map(|item| &item.images) {
        let size = image.width.zip(image.height).map(|(width, height)| Pixels { width, height });
        images.count += 1;
        images.sized += u64::from(size.is_some());
        images.tokens = images.tokens.saturating_add(image_tokens(family, size).0);
    }
    (images.count > 0).then_some(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_count_by_their_size_and_by_who_reads_them() {
        let image = |size: Option<u32>| serde_json::json!({"width": size, "height": size});
        let trace = |images: &[Option<u32>], included: bool| -> PromptTrace {
            let images: Vec<_> = images.iter().map(|size| image(*size)).collect();
            let item = serde_json::json!({"id": "7", "tokens": 1, "included": included, "images": images});
            let candidate = serde_json::json!({
                "id": "source:turns:0", "section": "s", "priority": "high", "position": 0, "offset_chars": 0, "decision": "full",
                "reason": "fits", "tokens": 1, "chars": 4, "full_tokens": 1, "cached": false, "is_cut": false, "items": [item],
            });
            serde_json::from_value(serde_json::json!({
                "version": 1, "mode": "full", "turn": {"agent": "a", "role": "r"}, "sources": 1, "chars": 4,
                "budget": {"over_budget_tokens": 0, "used_tokens": 1, "final_tokens": 1}, "sections": [],
                "candidates": [candidate], "truncation": {"applied": false, "before_chars": 4, "after_chars": 4},
            }))
            .expect("a trace")
        };
        let sizes = [Some(1_000), None];
        for (model, tokens) in [
            (None, 2_400),
            (Some("claude-opus-4-5"), 2_534),
            (Some("gpt-5"), 1_965),
            (Some("nobody's"), 2_400),
        ] {
            let counted = images(&trace(&sizes, true), model).expect("images");
            assert_eq!((counted.count, counted.sized, counted.tokens), (2, 1, tokens), "{model:?}");
        }
        assert_eq!(images(&trace(&sizes, false), None), None, "what is not in the prompt does not count");
        assert_eq!(images(&trace(&[], true), None), None);
    }
}
