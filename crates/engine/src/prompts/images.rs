//! The images of an entry, by what their first bytes say of their size.
//! Not the tokens that they count, which depend on who reads them.

use stemmata_api::v1::PromptImage;
use stemmata_model::{Entry, ImageSource, Part};
use stemmata_runtimes::base64_head;
use stemmata_tokens::{IMAGE_HEAD_BYTES, image_size};

/// Images of an entry that are looked at, at most.
const IMAGES_MAX: usize = 64;

/// Returns the images of an entry, also those in results of tools.
pub(super) fn images_of(entry: &Entry) -> Vec<PromptImage> {
    let parts = entry.parts.iter().flat_map(|part| match part {
        Part::ToolResult { parts, .. } => parts.as_slice(),
        _ => std::slice::from_ref(part),
    });
    let images = parts.filter_map(|part| match part {
        Part::Image { source, .. } => Some(image(source)),
        _ => None,
    });
    images.take(IMAGES_MAX).collect()
}

fn image(source: &ImageSource) -> PromptImage {
    let size = match source {
        ImageSource::Base64(digits) => {
            base64_head(digits, IMAGE_HEAD_BYTES).and_then(|head| image_size(&head))
        }
        // Whoever is asked for a prompt fetches nothing.
        ImageSource::Artifact(_) | ImageSource::Url(_) => None,
    };
    PromptImage { width: size.map(|size| size.width), height: size.map(|size| size.height) }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, Role};

    use super::*;

    #[test]
    fn sizes_of_images_are_read_from_their_first_bytes() {
        let part = |digits: &str| Part::Image {
            media_type: "image/png".to_owned(),
            source: ImageSource::Base64(digits.to_owned()),
        };
        // A PNG of 1 × 1 pixels.
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
        let parts = vec![
            Part::Text("see".to_owned()),
            part(png),
            Part::ToolResult { call_id: "c".to_owned(), is_error: false, parts: vec![part("!"), part("")] },
        ];
        let entry = Entry::said(EntryId::new("e").expect("a name"), Role::User, parts);
        let known = PromptImage { width: Some(1), height: Some(1) };
        let unknown = PromptImage { width: None, height: None };
        assert_eq!(images_of(&entry), [known, unknown, unknown]);
    }
}
