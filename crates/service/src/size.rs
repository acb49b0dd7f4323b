//! Sizes for people: what problems and warnings say of bytes.

/// Returns bytes in the largest unit that leaves a number of at least one: `512 B`, `1.2 kB`, `34 MB`.
pub fn bytes(count: u64) -> String {
    scaled(count, &["B", "kB", "MB", "GB", "TB", "PB", "EB"], " ")
}

/// Returns a number in the largest of some units, each a thousand of the one before.
pub fn scaled(count: u64, units: &[&str], space: &str) -> String {
    let mut whole = u128::from(count);
    let mut scale = 1_u128;
    let mut unit = 0;
    // A value that rounds to 1000 belongs to the next unit.
    while unit + 1 < units.len() && whole * 10 + scale * 5 >= scale * 10_000 {
        scale *= 1000;
        unit += 1;
    }
    whole *= 10;
    let name = units.get(unit).copied().unwrap_or_default();
    let tenths = (whole + scale / 2) / scale;
    let text = if unit == 0 || tenths >= 100 {
        ((whole / 10 + scale / 2) / scale).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    format!("{text}{space}{name}")
}
