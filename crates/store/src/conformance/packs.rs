//! Packing: it changes where bytes are, and nothing that can be read.

use stemmata_model::{ArtifactId, Timestamp, artifact_id};

use super::Make;
use super::builders::{bytes_of, write};
use super::transactions::verify_is_clean;
use crate::maintain::pack::PackOptions;
use crate::seam::Upkeep;
use crate::write::{ContentPart, NewContent, Write};

/// Packing changes nothing that can be read, two at once are harmless, and what is packed is known to writes.
pub(super) fn check_packs(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let Some(files) = store.on_disk() else { return };
    let noise: Vec<u8> =
        (0..200_000_u32).flat_map(|step| step.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let bodies: Vec<Vec<u8>> = (0..40_u8)
        .map(|step| match step {
            0 => Vec::new(),
            1 => noise.clone(),
            step => vec![step; usize::from(step) * 777],
        })
        .collect();
    let ids: Vec<ArtifactId> = bodies.iter().map(|body| artifact_id(body)).collect();
    let middle = bodies.get(5..9).expect("there are more");
    let whole = artifact_id(&middle.concat());
    let length = |body: &Vec<u8>| u64::try_from(body.len()).expect("a short body");
    let options = PackOptions::new(Timestamp::from_micros(1));
    for part in bodies.chunks(13) {
        let new = part.iter().map(|body| Write::Content(NewContent::literal(body.clone())));
        write(&*store, new.collect());
        std::thread::scope(|scope| {
            let packing = || files.pack(&options).map(|_| ()).expect("packed");
            scope.spawn(packing);
            packing();
        });
    }
    let parts = middle
        .iter()
        .map(|body| ContentPart::Slice { of: artifact_id(body), offset: 0, length: length(body) })
        .collect();
    write(&*store, vec![Write::Content(NewContent::composed(whole, parts))]);
    files.pack(&options).expect("packed");
    assert_eq!(files.pack(&options).expect("a look").contents, 0, "nothing is left");
    let known = bodies.iter().map(|body| Write::Content(NewContent::literal(body.clone()))).collect();
    assert_eq!(write(&*store, known).new_contents, 0);
    for (id, body) in ids.iter().zip(&bodies) {
        assert!(bytes_of(&*store, *id) == *body);
        assert_eq!(store.content_length(*id).expect("a read"), Some(length(body)));
    }
    let mut all = vec![Vec::new(); ids.len()];
    let sink = &mut |number: usize, piece: &[u8]| {
        if let Some(one) = all.get_mut(number) {
            one.extend_from_slice(piece);
        }
        Ok(())
    };
    store.read_contents(&ids, sink).expect("a read");
    assert!(all == bodies, "many at once are as one by one");
    assert!(bytes_of(&*store, whole) == middle.concat());
    let mut range = Vec::new();
    let sink = &mut |piece: &[u8]| {
        range.extend_from_slice(piece);
        Ok(())
    };
    store.read_content(artifact_id(&noise), Some(70_000..70_010), sink).expect("a read");
    assert_eq!(Some(range.as_slice()), noise.get(70_000..70_010));
    verify_is_clean(&*store);
}
