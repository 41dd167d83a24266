//! Uids and `generateName` suffixes: unique, not secret. Random, or the same in every run from a seed.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The uids and names that one server generates; clones share the sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    seed: Option<u64>,
    /// The number of the next value of a seeded sequence.
    next: Arc<AtomicU64>,
}

impl Ids {
    /// The sequence of a seed, or random values without one.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self { seed, next: Arc::default() }
    }

    /// Goes on after a state of this revision was loaded, so that its uids do not come again.
    pub(crate) fn continue_after(&self, revision: u64) {
        // Far more values than one change takes.
        self.next.fetch_max(revision.saturating_mul(1 << 20), Ordering::Relaxed);
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&self) -> String {
        uuid(self.value(), self.value())
    }

    /// `base` and five characters that cannot form words, truncated to a legal length.
    pub(crate) fn generated_name(&self, base: &str) -> String {
        let cut = base.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= 58);
        let cut = cut.last().unwrap_or(0);
        base[..cut].chars().chain(letters(self.value()).take(5)).collect()
    }

    fn value(&self) -> u64 {
        match self.seed {
            Some(seed) => mixed(seed, self.next.fetch_add(1, Ordering::Relaxed)),
            None => random(),
        }
    }
}

/// The characters of a number in names. They cannot form words.
pub(crate) fn letters(mut number: u64) -> impl Iterator<Item = char> {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    std::iter::repeat_with(move || {
        let index = number % ALPHABET.len() as u64;
        number /= ALPHABET.len() as u64;
        char::from(ALPHABET[usize::try_from(index).unwrap_or(0)])
    })
}

/// A random version 4 UUID, for what is not part of the state: requests, reviews, tokens.
pub(crate) fn uid() -> String {
    uuid(random(), random())
}

fn uuid(high: u64, low: u64) -> String {
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, (high & 0x0fff) | 0x4000);
    let (d, e) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

fn random() -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(COUNTER.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

/// The value of number `n`, by SplitMix64.
fn mixed(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
        let ids = Ids::default();
        let name = ids.generated_name("web-");
        assert!(name.starts_with("web-") && name.len() == 9);
        assert_eq!(ids.generated_name(&"x".repeat(200)).len(), 63);
        assert!(ids.generated_name(&"ü".repeat(200)).len() <= 63);
    }

    #[test]
    fn a_seed_determines_the_sequence() {
        let sequence = |seed| {
            let ids = Ids::new(seed);
            [ids.uid(), ids.generated_name("a-"), ids.uid()]
        };
        assert_eq!(sequence(Some(7)), sequence(Some(7)));
        assert_ne!(sequence(Some(7)), sequence(Some(8)));
        assert_ne!(sequence(None), sequence(None));
        let [first, _, second] = sequence(Some(7));
        assert_ne!(first, second);
    }

    #[test]
    fn a_loaded_state_is_not_numbered_again() {
        let (ids, first) = (Ids::new(Some(7)), Ids::new(Some(7)));
        first.continue_after(5);
        let loaded: Vec<_> = (0..50).map(|_| ids.uid()).collect();
        assert!((0..50).all(|_| !loaded.contains(&first.uid())));
    }
}
