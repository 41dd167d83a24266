//! Compresses objects with a zstd dictionary that consists of other objects of the same collection.

use std::{
    cell::RefCell,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use zstd_safe::{CCtx, CDict, DCtx, DDict, compress_bound};

/// Higher levels take longer and save little, because most of an object is in the dictionary.
const LEVEL: i32 = 1;
/// The most bytes of objects in a dictionary. With zstd's tables it takes about four times as much.
const MAX_DICTIONARY: usize = 64 << 10;
/// Until the samples have this size, every object is a sample for the next dictionary: several objects show what they have in common.
const FIRST_SAMPLES: usize = 32 << 10;
/// After that, an object is a sample if its compressed size is more than an eighth of its size.
const SAMPLE_RATIO: usize = 8;
/// How much text is compressed between two new dictionaries: at least this, then as much as all text before, and at most [`MAX_INTERVAL`].
/// So dictionaries take a small part of the cache, even if no dictionary compresses its objects well.
const MIN_INTERVAL: usize = 4 << 10;
const MAX_INTERVAL: usize = 64 << 20;
/// A new dictionary is made if samples were at least this part of the text since the last one.
const SAMPLE_SHARE: usize = 4;

/// Whole objects, one after another, to which compressed objects refer. What only the compression needs, half of the memory, is not in it:
/// objects keep dictionaries that are not used for others any more.
pub(super) struct Dictionary {
    decompression: DDict<'static>,
    epoch: u64,
}

/// What the decompression of an object needs besides its bytes.
pub(super) enum Needed {
    Dictionary(Dictionary),
    /// It was compressed anew: other bytes, and what these need.
    Anew {
        bytes: Box<[u8]>,
        dictionary: Option<Arc<Needed>>,
    },
}

impl Needed {
    fn dictionary(&self) -> Option<&Dictionary> {
        match self {
            Self::Dictionary(dictionary) => Some(dictionary),
            Self::Anew { dictionary, .. } => dictionary.as_ref().and_then(|needed| needed.dictionary()),
        }
    }
}

/// Where text comes from: a cluster, while it belongs to those that share a dictionary.
#[derive(Debug, Default)]
pub(super) struct Source {
    has_left: AtomicBool,
}

impl Source {
    pub(super) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }

    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::Release);
    }
}

/// The dictionary of the next objects.
struct Present {
    compression: CDict<'static>,
    dictionary: Arc<Needed>,
}

impl Present {
    fn new(content: &[u8], epoch: u64) -> Self {
        // Content that does not begin with zstd's magic number, as no JSON does, is taken as it is.
        let dictionary = Dictionary { decompression: DDict::create(content), epoch };
        let dictionary = Arc::new(Needed::Dictionary(dictionary));
        Self { compression: CDict::create(content, LEVEL), dictionary }
    }
}

/// Compresses the objects of a collection, and learns its dictionary from them.
///
/// The first objects, and then those that the present dictionary compresses badly, are the samples for the next one. So it grows with the
/// variety of the collection and is renewed after the objects have changed. Kept objects hold the dictionary that they need. Where text
/// comes from several clusters, that of one which leaves is [forgotten](Self::forget).
pub(super) struct Compressor {
    context: CCtx<'static>,
    present: Option<Present>,
    /// The samples in the present dictionary.
    content: Vec<u8>,
    /// The samples since then, as many as a dictionary can have.
    samples: Vec<u8>,
    /// The bytes of all text so far, and the number of texts.
    total: usize,
    texts: usize,
    /// The bytes of the text since the present dictionary was made.
    recent: usize,
    /// The bytes of the samples among that.
    sampled: usize,
    /// The compressed bytes of one object.
    output: Vec<u8>,
    /// Of which clusters there is text in `content` or `samples`.
    contributors: Vec<Arc<Source>>,
    /// How often text was forgotten.
    epoch: u64,
    /// The dictionaries that were made. There are few: see [`MIN_INTERVAL`].
    made: Vec<Weak<Needed>>,
}

impl Default for Compressor {
    fn default() -> Self {
        Self {
            context: CCtx::create(),
            present: None,
            content: Vec::new(),
            samples: Vec::new(),
            total: 0,
            texts: 0,
            recent: 0,
            sampled: 0,
            output: Vec::new(),
            contributors: Vec::new(),
            epoch: 0,
            made: Vec::new(),
        }
    }
}

impl Compressor {
    /// The compressed text, and the dictionary that its decompression needs. `source`: where it comes from, if there are several.
    pub(super) fn compress(
        &mut self,
        text: &str,
        source: Option<&Arc<Source>>,
    ) -> (&[u8], Option<Arc<Needed>>) {
        let dictionary = self.present.as_ref().map(|present| Arc::clone(&present.dictionary));
        self.output.clear();
        self.output.reserve(compress_bound(text.len()));
        let compressed = match &self.present {
            Some(present) => {
                self.context.compress_using_cdict(&mut self.output, text.as_bytes(), &present.compression)
            }
            None => self.context.compress(&mut self.output, text.as_bytes(), LEVEL),
        };
        compressed.expect("invariant: the output has room for any result");
        self.total += text.len();
        self.texts += 1;
        self.recent += text.len();
        let compresses_badly = self.output.len() > text.len() / SAMPLE_RATIO;
        if (compresses_badly || self.content.len() < FIRST_SAMPLES) && text.len() <= MAX_DICTIONARY {
            self.learn(text, source);
        }
        (&self.output, dictionary)
    }

    /// The mean length of a text.
    pub(super) fn mean(&self) -> usize {
        self.total / self.texts.max(1)
    }

    /// Forgets all text if some of it comes from this source, and begins another dictionary. Objects that were compressed before are
    /// [outdated](Self::is_outdated).
    pub(super) fn forget(&mut self, source: &Arc<Source>) {
        if self.contributors.iter().any(|contributor| Arc::ptr_eq(contributor, source)) {
            let (epoch, made) = (self.epoch + 1, std::mem::take(&mut self.made));
            *self = Self { epoch, made, ..Self::default() };
        }
    }

    /// Whether what an object needs may have text that was forgotten.
    pub(super) fn is_outdated(&self, needed: &Needed) -> bool {
        needed.dictionary().is_some_and(|dictionary| dictionary.epoch < self.epoch)
    }

    /// Whether there are objects that are outdated.
    pub(super) fn has_outdated(&self) -> bool {
        self.made.iter().filter_map(Weak::upgrade).any(|needed| self.is_outdated(&needed))
    }

    #[cfg(test)]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the dictionary of the next objects has this text, or is to get it.
    pub(super) fn has_text(&self, text: &str) -> bool {
        let has = |samples: &[u8]| samples.windows(text.len()).any(|part| part == text.as_bytes());
        has(&self.content) || has(&self.samples)
    }

    fn learn(&mut self, sample: &str, source: Option<&Arc<Source>>) {
        if let Some(source) = source {
            if source.has_left() {
                return;
            }
            if !self.contributors.iter().any(|contributor| Arc::ptr_eq(contributor, source)) {
                self.contributors.push(Arc::clone(source));
            }
        }
        self.sampled += sample.len();
        append(&mut self.samples, sample.as_bytes());
        let interval = (self.total - self.recent).clamp(MIN_INTERVAL, MAX_INTERVAL);
        if self.recent >= interval && self.sampled * SAMPLE_SHARE >= self.recent {
            append(&mut self.content, &self.samples);
            let present = Present::new(&self.content, self.epoch);
            self.made.retain(|made| made.strong_count() > 0);
            self.made.push(Arc::downgrade(&present.dictionary));
            self.present = Some(present);
            self.samples = Vec::new();
            (self.recent, self.sampled) = (0, 0);
        }
    }
}

/// Appends samples, and removes the oldest ones if there is no room.
fn append(samples: &mut Vec<u8>, new: &[u8]) {
    let surplus = (samples.len() + new.len()).saturating_sub(MAX_DICTIONARY).min(samples.len());
    samples.drain(..surplus);
    samples.extend_from_slice(new);
}

thread_local! {
    /// 96 KiB for each thread that reads compact caches.
    static DECOMPRESSION: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Decompresses to `length` bytes. `None` if `compressed` is not what [`Compressor::compress`] has returned with this dictionary.
pub(super) fn decompress(compressed: &[u8], length: usize, needed: Option<&Needed>) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(length);
    let dictionary = needed.and_then(Needed::dictionary);
    let decompressed = DECOMPRESSION.with_borrow_mut(|context| match dictionary {
        Some(dictionary) => {
            context.decompress_using_ddict(&mut output, compressed, &dictionary.decompression)
        }
        None => context.decompress(&mut output, compressed),
    });
    decompressed.ok().filter(|written| *written == length).map(|_| output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(compressor: &Compressor) -> Option<Arc<Needed>> {
        compressor.present.as_ref().map(|present| Arc::clone(&present.dictionary))
    }

    /// An object of one of `kinds` kinds that have little in common.
    fn object(number: usize, kinds: usize) -> String {
        let mut words = fastrand::Rng::with_seed((number % kinds) as u64);
        let spec: Vec<String> = (0..60).map(|_| format!("{:x}", words.u64(..))).collect();
        format!(r#"{{"metadata":{{"name":"object-{number}"}},"spec":{spec:?}}}"#)
    }

    /// Compresses and decompresses the objects with these numbers. Returns the mean ratio of the last quarter.
    fn ratio(compressor: &mut Compressor, numbers: std::ops::Range<usize>, kinds: usize) -> f64 {
        let last_quarter = numbers.end - numbers.len() / 4;
        let (mut before, mut after) = (0, 0);
        for number in numbers {
            let text = object(number, kinds);
            let (compressed, dictionary) = compressor.compress(&text, None);
            let restored = decompress(compressed, text.len(), dictionary.as_deref());
            assert_eq!(restored.as_deref(), Some(text.as_bytes()));
            if number >= last_quarter {
                (before, after) = (before + text.len(), after + compressed.len());
            }
        }
        before as f64 / after as f64
    }

    #[test]
    fn the_dictionary_follows_the_variety_and_the_changes_of_a_collection() {
        let mut compressor = Compressor::default();
        assert!(ratio(&mut compressor, 0..40, 1) > 20.0, "equal objects");
        assert!(ratio(&mut compressor, 0..400, 12) > 20.0, "a dozen kinds");
        let dictionary = present(&compressor).unwrap();
        ratio(&mut compressor, 0..400, 12);
        assert!(Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()), "no reason for a new one");
        let other = 1_000_003; // kinds that were never there
        assert!(ratio(&mut compressor, other..other + 2000, 1_000_009) < 4.0);
        assert!(!Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()), "renewed");
    }

    #[test]
    fn a_few_odd_objects_do_not_replace_the_dictionary() {
        let mut compressor = Compressor::default();
        ratio(&mut compressor, 0..100, 1);
        let dictionary = present(&compressor).unwrap();
        for number in 0..1000 {
            let kinds = if number % 50 == 0 { 1_000_003 } else { 1 };
            ratio(&mut compressor, number..number + 1, kinds);
        }
        assert!(Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()));
    }

    #[test]
    fn few_dictionaries_are_made_of_objects_that_have_little_in_common() {
        let mut compressor = Compressor::default();
        let mut dictionaries: Vec<Arc<Needed>> = Vec::new();
        for number in 0..1000 {
            ratio(&mut compressor, number..number + 1, 1_000_003);
            if let Some(dictionary) = &present(&compressor)
                && !dictionaries.last().is_some_and(|last| Arc::ptr_eq(last, dictionary))
            {
                dictionaries.push(Arc::clone(dictionary));
            }
            assert!(compressor.content.len() <= MAX_DICTIONARY && compressor.samples.len() <= MAX_DICTIONARY);
        }
        // 1000 objects are about 2^8 times the first interval.
        assert!((7..=10).contains(&dictionaries.len()), "{}", dictionaries.len());
    }

    /// An old dictionary that one object needs costs half of what the present one does.
    #[test]
    fn a_kept_dictionary_takes_little_more_than_its_content() {
        let mut compressor = Compressor::default();
        ratio(&mut compressor, 0..1000, 1_000_003);
        assert!(compressor.content.len() > MAX_DICTIONARY * 9 / 10);
        let kept = present(&compressor).unwrap();
        let kept = kept.dictionary().unwrap().decompression.sizeof();
        assert!(kept < MAX_DICTIONARY * 3 / 2, "{kept} bytes");
    }

    #[test]
    fn what_was_compressed_before_its_text_is_forgotten_is_outdated() {
        let mut compressor = Compressor::default();
        let [one, two] = [Arc::<Source>::default(), Arc::default()];
        let compress =
            |compressor: &mut Compressor, numbers: std::ops::Range<usize>, source: &Arc<Source>| {
                let compress = |number| compressor.compress(&object(number, 3), Some(source)).1;
                numbers.filter_map(compress).last()
            };
        let before = compress(&mut compressor, 0..40, &one).unwrap();
        compressor.forget(&two);
        assert!(!compressor.is_outdated(&before) && !compressor.has_outdated(), "there is no text of it");
        let content = compressor.content.clone();
        two.leave();
        compress(&mut compressor, 100..200, &two);
        assert_eq!(compressor.content, content, "what has left adds nothing");
        compressor.forget(&two);
        assert!(!compressor.is_outdated(&before));
        compressor.forget(&one);
        assert!(compressor.is_outdated(&before) && compressor.has_outdated());
        assert!(compressor.content.is_empty() && compressor.samples.is_empty());
        let after = compress(&mut compressor, 0..40, &Arc::default()).unwrap();
        assert!(!compressor.is_outdated(&after) && compressor.has_outdated());
        drop(before);
        assert!(!compressor.has_outdated());
    }

    #[test]
    fn bytes_that_compress_did_not_return_are_an_error() {
        let mut compressor = Compressor::default();
        let text = object(1, 1);
        let (compressed, _) = compressor.compress(&text, None);
        assert_eq!(decompress(compressed, text.len() - 1, None), None);
        assert_eq!(decompress(&compressed[..9], text.len(), None), None);
        assert_eq!(decompress(b"{}", 2, None), None);
    }
}
