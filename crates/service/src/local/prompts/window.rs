//! What is known of a model's window, and what the images of a prompt would count.

use stemmata_api::v1::{ClientWindow, ContextImages, ModelWindow, PromptTrace};
use stemmata_engine::clients::{self, Client};
use stemmata_engine::known_window;
use stemmata_engine::model::Maker;
use stemmata_engine::tokens::{self, KnownWindow, Pixels, image_tokens, model};

/// Where a window comes from that a session's client wrote down.
pub(in crate::local) const REPORTED: &str = "what the session reports";

/// Returns what is known of a model's window. What the session reports of its own comes first.
pub(super) fn window(name: &str, reported: Option<u64>) -> ModelWindow {
    let window = reported.map(|tokens| KnownWindow::said(tokens, REPORTED)).or_else(|| tokens::window(name));
    let is_of_model = |client: &&&Client| {
        model(name)
            .zip(client.compaction)
            .is_some_and(|(row, compaction)| compaction.makers.contains(&row.maker))
    };
    let of_model = clients::ALL.iter().filter(is_of_model);
    let clients = of_model.filter_map(|client| client_window(client, Some(name), reported));
    ModelWindow {
        model: name.to_owned(),
        tokens: window.map(|known| known.tokens),
        source: window.map(|known| known.source.to_owned()),
        assumed: window.is_some_and(|known| known.is_assumed),
        // A client cannot run in a window that its reserve fills.
        clients: clients.filter(|client| client.compacts_at != Some(0)).collect(),
    }
}

/// Returns when a client compacts, where that is known: in the window that the session reports, else in its own or the model's, whichever is smaller.
pub(super) fn client_window(
    client: &Client,
    model: Option<&str>,
    reported: Option<u64>,
) -> Option<ClientWindow> {
    let compaction = client.compaction?;
    let window = match reported {
        Some(tokens) => Some(KnownWindow::said(tokens, REPORTED)),
        None => known_window(client.id, model).map(|(_, known)| known),
    };
    Some(ClientWindow {
        client: client.id.to_owned(),
        tokens: window.map(|known| known.tokens),
        compacts_at: window.and_then(|known| compaction.at.tokens(known.tokens)),
        source: compaction.source.to_owned(),
        assumed: window.is_some_and(|known| known.is_assumed),
    })
}

/// Counts the images of what is in a prompt, as a model reads them.
pub(super) fn images(trace: &PromptTrace, name: Option<&str>) -> Option<ContextImages> {
    let maker: Option<Maker> = name.and_then(model).map(|row| row.maker);
    let items = trace.candidates.iter().flat_map(|candidate| &candidate.items);
    let mut images = ContextImages { count: 0, sized: 0, tokens: 0 };
    for image in items.filter(|item| item.included).flat_map(|item| &item.images) {
        let size = image.width.zip(image.height).map(|(width, height)| Pixels { width, height });
        images.count += 1;
        images.sized += u64::from(size.is_some());
        images.tokens = images.tokens.saturating_add(image_tokens(maker, size).0);
    }
    (images.count > 0).then_some(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A threshold beyond the window that it is in would say that the client never compacts.
    #[test]
    fn a_client_compacts_within_the_window_that_is_known() {
        for (model, reported, tokens, clients) in [
            ("gpt-5", None, Some(400_000), vec![("codex", 258_400, 232_560), ("pi", 400_000, 383_616)]),
            (
                "gpt-5",
                Some(128_000),
                Some(128_000),
                vec![("codex", 128_000, 115_200), ("pi", 128_000, 111_616)],
            ),
            ("gpt-4", None, Some(8_192), vec![("codex", 8_192, 7_372)]),
        ] {
            let known = window(model, reported);
            let rows: Vec<(&str, u64, u64)> = known
                .clients
                .iter()
                .map(|one| (one.client.as_str(), one.tokens.unwrap_or(0), one.compacts_at.unwrap_or(0)))
                .collect();
            assert_eq!((known.tokens, rows), (tokens, clients), "{model} {reported:?}");
        }
    }

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
