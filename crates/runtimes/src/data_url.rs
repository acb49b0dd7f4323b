//! Images as addresses: one that holds the image itself (`data:image/png;base64,…`), or one that says where it is.

use stemmata_model::{ImageSource, Part};

/// Returns the image at an address.
pub(crate) fn image(url: String) -> Part {
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((media_type, data)) => {
            Part::Image { media_type: media_type.to_owned(), source: ImageSource::Base64(data.to_owned()) }
        }
        None => Part::Image { media_type: String::new(), source: ImageSource::Url(url) },
    }
}

/// Returns the address of an image. None where its bytes are not here: whoever translates puts them in first, and without
/// them there is nothing to send.
pub(crate) fn address(media_type: &str, source: &ImageSource) -> Option<String> {
    match source {
        ImageSource::Base64(data) => Some(format!("data:{media_type};base64,{data}")),
        ImageSource::Url(url) => Some(url.clone()),
        ImageSource::Artifact(_) => None,
    }
}
