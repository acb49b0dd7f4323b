//! The contents of a bundle: their hashes are computed, and what they are made of is looked up.

use stemmata_model::{ArtifactId, to_u64};
use stemmata_store::{Commits, StoreError};

use super::{Checker, ContentRow, Fault, at};
use crate::bundle::bytes::{Malformed, Take};
use crate::bundle::rows::{ComposedRow, ContentRef, PartRow, take_composed, take_lengths, take_named};
use crate::bundle::source::Literal;

impl Checker<'_> {
    pub(super) fn block(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        let mut take = Take::new(body);
        let lengths = take_lengths(&mut take)?;
        let bytes = take.rest();
        self.unfold(to_u64(bytes.len()))?;
        self.found.summary.content_bytes += to_u64(bytes.len());
        let (block, mut offset) = (self.blocks.count(), 0_u32);
        let mut rest = take;
        for length in lengths {
            let content = rest.bytes(length)?;
            let length = u32::try_from(length).map_err(|_| Malformed::new("a content is too long"))?;
            let hash = stemmata_model::artifact_id(content);
            self.found.literals.push(Literal { hash, length, block, offset });
            offset += length;
        }
        self.blocks.met(self.at, bytes.to_vec());
        Ok(())
    }

    pub(super) fn named(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        let mut take = Take::new(body);
        for _ in 0..take.rows("contents")? {
            let row = take_named(&mut take)?;
            if !row.is_forgotten {
                self.found.summary.needed_contents += 1;
                if let Some(store) = self.store
                    && !self.known_contents.contains(&row.hash)
                    && !self.missing_contents.contains(&row.hash)
                {
                    let is_here = store.content_length(row.hash)? == Some(row.length)
                        && !is_forgotten(store, row.hash)?;
                    // Each is looked up once, however often it is named.
                    let known = if is_here { &mut self.known_contents } else { &mut self.missing_contents };
                    known.insert(row.hash);
                }
            }
            self.found.named.push(row);
        }
        Ok(take.end()?)
    }

    pub(super) fn composed(&mut self, body: &[u8]) -> std::result::Result<(), Fault> {
        let mut take = Take::new(body);
        for _ in 0..take.rows("contents")? {
            let row = take_composed(&mut take)?;
            let length = self.length_of_parts(&row.parts)?;
            self.unfold(length)?;
            let content = self.hash_of_parts(&row)?;
            self.found.composed.push(content);
        }
        Ok(take.end()?)
    }

    fn length_of_parts(&self, parts: &[PartRow]) -> std::result::Result<u64, Malformed> {
        let mut whole = 0_u64;
        for part in parts {
            let within = match part.of {
                ContentRef::Literal(number) => {
                    at(&self.found.literals, number).map(|own| u64::from(own.length))
                }
                ContentRef::Named(number) => {
                    at(&self.found.named, number).filter(|own| !own.is_forgotten).map(|own| own.length)
                }
                ContentRef::Composed(_) => None,
            };
            let within = within.ok_or_else(|| Malformed::new("a content has a part that there is not"))?;
            if part.offset.checked_add(part.length).is_none_or(|end| end > within) || part.length == 0 {
                return Err(Malformed::new("a content has a part that ends beyond its bytes"));
            }
            whole = whole.saturating_add(part.length);
        }
        Ok(whole)
    }

    fn hash_of_parts(&mut self, row: &ComposedRow) -> std::result::Result<ContentRow, Fault> {
        let mut hasher = blake3::Hasher::new();
        for part in &row.parts {
            let range = part.offset..part.offset.saturating_add(part.length);
            match part.of {
                ContentRef::Literal(number) => {
                    let Some(literal) = at(&self.found.literals, number).copied() else { continue };
                    let index = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
                    let bytes = self.blocks.bytes(&literal)?;
                    hasher.update(bytes.get(index(range.start)..index(range.end)).unwrap_or_default());
                }
                ContentRef::Named(number) => {
                    let Some(named) = at(&self.found.named, number) else { continue };
                    let is_here = !self.missing_contents.contains(&named.hash);
                    match (self.store.filter(|_| is_here), row.hash) {
                        (Some(store), _) => {
                            store.read_content(named.hash, Some(range), &mut |bytes: &[u8]| {
                                hasher.update(bytes);
                                Ok(())
                            })?;
                        }
                        (None, Some(hash)) => return Ok(ContentRow { hash, is_checked: false }),
                        (None, None) => {
                            return Err(Malformed::new("a content with a part elsewhere has no hash").into());
                        }
                    }
                }
                ContentRef::Composed(_) => {}
            }
        }
        let hash = ArtifactId::from_bytes(*hasher.finalize().as_bytes());
        if row.hash.is_some_and(|given| given != hash) {
            return Err(Malformed::new("the parts of a content have another hash than it").into());
        }
        Ok(ContentRow { hash, is_checked: true })
    }

    /// Returns the hash of a content, and whether its hash was computed.
    pub(super) fn content(&self, of: ContentRef) -> std::result::Result<ContentRow, Malformed> {
        let found = match of {
            ContentRef::Literal(number) => {
                at(&self.found.literals, number).map(|own| ContentRow { hash: own.hash, is_checked: true })
            }
            ContentRef::Composed(number) => at(&self.found.composed, number).copied(),
            ContentRef::Named(number) => {
                at(&self.found.named, number).map(|own| ContentRow { hash: own.hash, is_checked: true })
            }
        };
        found.ok_or_else(|| Malformed::new("a commit has a content that there is not"))
    }
}

/// Returns whether only the name of a content is left here.
pub(super) fn is_forgotten(store: &dyn Commits, id: ArtifactId) -> Result<bool, StoreError> {
    match store.read_content(id, Some(0..0), &mut |_| Ok(())) {
        Err(StoreError::ContentForgotten(_)) => Ok(true),
        // Damage is for `verify` to tell, and for who reads the bytes.
        Ok(()) | Err(StoreError::Corrupt { .. } | StoreError::ContentMissing(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
