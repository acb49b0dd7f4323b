//! Images of turns: read from requests as providers take them, and given back with a window's entries.

use stemmata_api::v1::TurnImage;
use stemmata_model::{ImageSource, Part};

/// Bytes of a media type at most.
const MEDIA_TYPE_BYTES_MAX: usize = 64;

/// What the address of an image begins with. Providers fetch from nowhere else, and no file of this machine is one's to give.
const SCHEMES: [&str; 3] = ["https://", "http://", "gs://"];

/// Reads an image, or says which field is wrong.
pub(super) fn read(image: &TurnImage) -> Result<Part, String> {
    let (media_type, source) = match (&image.data, &image.url) {
        (Some(data), None) => inline("data", &image.media_type, data)?,
        (None, Some(url)) if is_data(url) => inline("url", &image.media_type, url)?,
        (None, Some(url)) => {
            let is_address = SCHEMES.iter().any(|scheme| has_prefix(url, scheme) && url.len() > scheme.len());
            if !is_address || url.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
                return Err(format!("`url` of an image begins with one of {}", SCHEMES.join(", ")));
            }
            (image.media_type.as_str(), ImageSource::Url(url.clone()))
        }
        _ => return Err("an image has either `data` or `url`".to_owned()),
    };
    let name = media_type.strip_prefix("image/").unwrap_or_default();
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '+' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_name) || media_type.len() > MEDIA_TYPE_BYTES_MAX {
        return Err("`media_type` of an image is one such as `image/png`".to_owned());
    }
    Ok(Part::Image { media_type: media_type.to_owned(), source })
}

/// Reads the bytes of an image, which may be a `data:` URL: that says what they are.
fn inline<'a>(field: &str, media_type: &'a str, text: &'a str) -> Result<(&'a str, ImageSource), String> {
    let bad = || format!("`{field}` of an image is base64, or a `data:` URL of an image in base64");
    let (media_type, data) = if is_data(text) {
        let (head, data) = text.split_once(',').ok_or_else(bad)?;
        let head = head.get("data:".len()..).and_then(|head| head.strip_suffix(";base64")).ok_or_else(bad)?;
        let said = head.split(';').next().unwrap_or_default();
        if !said.is_empty() && !said.starts_with("image/") {
            return Err(bad());
        }
        (if said.is_empty() { media_type } else { said }, data)
    } else {
        (media_type, text)
    };
    // Some encoders break lines.
    let data: String = data.chars().filter(|sign| !sign.is_ascii_whitespace()).collect();
    let digits = data.strip_suffix("==").or_else(|| data.strip_suffix('=')).unwrap_or(&data);
    let is_digit = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '+' | '/');
    if digits.is_empty() || !digits.chars().all(is_digit) || !data.len().is_multiple_of(4) {
        return Err(bad());
    }
    Ok((media_type, ImageSource::Base64(data)))
}

fn is_data(text: &str) -> bool {
    has_prefix(text, "data:")
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Returns the images of parts as the wire has them.
pub(super) fn shown(parts: &[Part]) -> Vec<TurnImage> {
    let image = |part: &Part| {
        let Part::Image { media_type, source } = part else { return None };
        let (data, url) = match source {
            ImageSource::Base64(data) => (Some(data.clone()), None),
            ImageSource::Url(url) => (None, Some(url.clone())),
            ImageSource::Artifact(_) => (None, None),
        };
        Some(TurnImage { media_type: media_type.clone(), data, url })
    };
    parts.iter().filter_map(image).collect()
}
