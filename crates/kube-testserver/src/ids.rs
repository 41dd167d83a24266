//! Random uids and `generateName` suffixes: unique, not secret.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// A version 4 UUID.
pub(crate) fn uid() -> String {
    let (high, low) = (random(), random());
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, (high & 0x0fff) | 0x4000);
    let (d, e) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

/// `base` and five characters that cannot form words, truncated to a legal length.
pub(crate) fn generated_name(base: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let cut =
        base.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= 58).last().unwrap_or(0);
    let mut number = random();
    let suffix = std::iter::repeat_with(|| {
        let index = number % ALPHABET.len() as u64;
        number /= ALPHABET.len() as u64;
        char::from(ALPHABET[usize::try_from(index).unwrap_or(0)])
    });
    base[..cut].chars().chain(suffix.take(5)).collect()
}

fn random() -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_have_the_form_of_version_4_and_differ() {
        let (one, two) = (uid(), uid());
        assert_ne!(one, two);
        let parts: Vec<_> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]));
    }

    #[test]
    fn generated_names_stay_legal() {
        let name = generated_name("web-");
        assert!(name.starts_with("web-") && name.len() == 9);
        assert_eq!(generated_name(&"x".repeat(200)).len(), 63);
        assert!(generated_name(&"ü".repeat(200)).len() <= 63);
    }
}
