//! The folder name that Claude Code gives to a working directory.
//! Not reversible: every character that is no ASCII letter or digit becomes the same sign.

/// The longest name before a hash takes the place of the rest: the client's own limit.
const SLUG_UNITS_MAX: usize = 200;

/// Returns the folder name of a directory. The client counts UTF-16 units, so a character beyond the basic
/// plane becomes two signs.
pub(super) fn of(cwd: &str) -> String {
    let units = cwd.encode_utf16().map(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    });
    let slug: String = units.collect();
    if slug.len() <= SLUG_UNITS_MAX {
        return slug;
    }
    let head: String = slug.chars().take(SLUG_UNITS_MAX).collect();
    format!("{head}-{}", base36(hash(cwd).unsigned_abs()))
}

/// The 31-hash over UTF-16 units that JavaScript programs know from Java.
fn hash(text: &str) -> i32 {
    let add = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    text.encode_utf16().fold(0, add)
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_client_s() {
        let rows = [
            ("/work/my.project", "-work-my-project"),
            ("/home/ü/😀x", "-home-----x"),
            ("C:\\Users\\me", "C--Users-me"),
        ];
        for (cwd, slug) in rows {
            assert_eq!(of(cwd), slug);
        }
    }

    #[test]
    fn a_long_name_ends_in_a_hash() {
        let cwd = format!("/{}", "a".repeat(250));
        let slug = of(&cwd);
        assert_eq!(slug.split_at(SLUG_UNITS_MAX).0, format!("-{}", "a".repeat(199)));
        assert!(slug.len() > SLUG_UNITS_MAX + 1 && slug.len() <= SLUG_UNITS_MAX + 7, "{slug}");
        assert_ne!(of(&format!("{cwd}a")), slug);
    }

    #[test]
    fn the_hash_is_the_one_of_javascript() {
        assert_eq!(hash("hello"), 99_162_322);
        assert_eq!(base36(0), "0");
        assert_eq!(base36(99_162_322), "1n1e4y");
    }
}
