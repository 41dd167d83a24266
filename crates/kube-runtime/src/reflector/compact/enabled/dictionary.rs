//! The dictionary of a collection: other objects of it, with which its objects are compressed.

use super::compression::{Compressed, Dictionary, PresentDictionary};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

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

/// Compresses the objects of a collection, and learns its dictionary from them.
///
/// The first objects, and then those that the present dictionary compresses badly, are the samples for the next one. So it grows with the
/// variety of the collection and is renewed after the objects have changed. Kept objects hold the dictionary that they need. Where text
/// comes from several clusters, that of one which leaves is [forgotten](Self::forget).
///
/// Many threads may compress at once: the lock is held neither while text is compressed nor while a dictionary is made.
#[derive(Default)]
pub(super) struct Compressor {
    learned: Mutex<Learned>,
    /// That of `learned`.
    epoch: AtomicU64,
    /// The mean length of a text.
    mean: AtomicUsize,
}

/// What was learned from the text so far.
#[derive(Default)]
struct Learned {
    /// Of the next objects.
    present: Option<Arc<PresentDictionary>>,
    /// The samples in the present dictionary, or in one that is being made.
    content: Vec<u8>,
    /// How often that has changed.
    contents: u64,
    /// The samples since then, as many as a dictionary can have.
    samples: Vec<u8>,
    /// The bytes of all text so far, and the number of texts.
    total: usize,
    texts: usize,
    /// The bytes of the text since `content` has changed.
    recent: usize,
    /// The bytes of the samples among that.
    sampled: usize,
    /// Of which clusters there is text in `content` or `samples`, by address.
    contributors: HashMap<usize, Arc<Source>>,
    /// How often text was forgotten.
    epoch: u64,
    /// The dictionaries that were made. There are few: see [`MIN_INTERVAL`].
    made: Vec<Weak<Dictionary>>,
}

/// What a dictionary is to be made of.
struct Due {
    content: Vec<u8>,
    contents: u64,
    epoch: u64,
}

impl Compressor {
    /// The compressed text. `source`: where it comes from, if there are several.
    pub(super) fn compress(&self, text: &str, source: Option<&Arc<Source>>) -> Compressed {
        let (present, epoch) = {
            let learned = self.learned.lock();
            (learned.present.clone(), learned.epoch)
        };
        let compressed = Compressed::new(text, present.as_deref());
        let compresses_badly = compressed.bytes.len() > text.len() / SAMPLE_RATIO;
        let due = {
            let mut learned = self.learned.lock();
            let mean = learned.count(text);
            self.mean.store(mean, Ordering::Relaxed);
            let is_sample = compresses_badly || learned.content.len() < FIRST_SAMPLES;
            // What was forgotten meanwhile may be this.
            let may_learn = text.len() <= MAX_DICTIONARY && learned.epoch == epoch;
            if is_sample && may_learn { learned.learn(text, source) } else { None }
        };
        due.into_iter().for_each(|due| self.make(&due));
        compressed
    }

    /// The mean length of a text.
    pub(super) fn mean(&self) -> usize {
        self.mean.load(Ordering::Relaxed)
    }

    /// Forgets all text if some of it comes from this source, and begins another dictionary. Objects that were compressed before are
    /// [outdated](Self::is_outdated).
    pub(super) fn forget(&self, source: &Arc<Source>) {
        let mut learned = self.learned.lock();
        if learned.contributors.contains_key(&address(source)) {
            let (epoch, made) = (learned.epoch + 1, std::mem::take(&mut learned.made));
            let forgotten = std::mem::replace(&mut *learned, Learned { epoch, made, ..Learned::default() });
            self.epoch.store(epoch, Ordering::Release);
            drop(learned);
            drop(forgotten); // without the lock
        }
    }

    /// Whether what an object needs may have text that was forgotten.
    pub(super) fn is_outdated(&self, object: &Compressed) -> bool {
        let epoch = self.epoch.load(Ordering::Acquire);
        object.dictionary.as_ref().is_some_and(|dictionary| dictionary.epoch < epoch)
    }

    /// Whether there are objects that are outdated.
    pub(super) fn has_outdated(&self) -> bool {
        let learned = self.learned.lock();
        learned.made.iter().filter_map(Weak::upgrade).any(|dictionary| dictionary.epoch < learned.epoch)
    }

    #[cfg(test)]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Whether the dictionary of the next objects has this text, or is to get it.
    pub(super) fn has_text(&self, text: &str) -> bool {
        let has = |samples: &[u8]| samples.windows(text.len()).any(|part| part == text.as_bytes());
        let learned = self.learned.lock();
        has(&learned.content) || has(&learned.samples)
    }

    /// Makes a dictionary. The next objects have it, unless there is a newer one or its text was forgotten meanwhile.
    fn make(&self, due: &Due) {
        let present = Arc::new(PresentDictionary::new(&due.content, due.epoch));
        let mut learned = self.learned.lock();
        if (learned.epoch, learned.contents) == (due.epoch, due.contents) {
            learned.made.retain(|made| made.strong_count() > 0);
            learned.made.push(Arc::downgrade(&present.dictionary));
            let before = learned.present.replace(present);
            drop(learned);
            drop(before); // without the lock
        }
    }
}

impl Learned {
    /// Returns the mean length.
    fn count(&mut self, text: &str) -> usize {
        self.total += text.len();
        self.texts += 1;
        self.recent += text.len();
        self.total / self.texts
    }

    /// Returns what a dictionary is to be made of, if one is due.
    fn learn(&mut self, sample: &str, source: Option<&Arc<Source>>) -> Option<Due> {
        if let Some(source) = source {
            if source.has_left() {
                return None;
            }
            self.contributors.entry(address(source)).or_insert_with(|| Arc::clone(source));
        }
        self.sampled += sample.len();
        append(&mut self.samples, sample.as_bytes());
        let interval = (self.total - self.recent).clamp(MIN_INTERVAL, MAX_INTERVAL);
        if self.recent < interval || self.sampled * SAMPLE_SHARE < self.recent {
            return None;
        }
        append(&mut self.content, &self.samples);
        self.contents += 1;
        self.samples = Vec::new();
        (self.recent, self.sampled) = (0, 0);
        Some(Due { content: self.content.clone(), contents: self.contents, epoch: self.epoch })
    }
}

fn address(source: &Arc<Source>) -> usize {
    Arc::as_ptr(source).addr()
}

/// Appends samples, and removes the oldest ones if there is no room.
fn append(samples: &mut Vec<u8>, new: &[u8]) {
    let surplus = (samples.len() + new.len()).saturating_sub(MAX_DICTIONARY).min(samples.len());
    samples.drain(..surplus);
    samples.extend_from_slice(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(compressor: &Compressor) -> Option<Arc<PresentDictionary>> {
        compressor.learned.lock().present.clone()
    }

    /// An object of one of `kinds` kinds that have little in common.
    fn object(number: usize, kinds: usize) -> String {
        let mut words = fastrand::Rng::with_seed((number % kinds) as u64);
        let spec: Vec<String> = (0..60).map(|_| format!("{:x}", words.u64(..))).collect();
        format!(r#"{{"metadata":{{"name":"object-{number}"}},"spec":{spec:?}}}"#)
    }

    /// Compresses and decompresses the objects with these numbers. Returns the mean ratio of the last quarter.
    fn ratio(compressor: &Compressor, numbers: std::ops::Range<usize>, kinds: usize) -> f64 {
        let last_quarter = numbers.end - numbers.len() / 4;
        let (mut before, mut after) = (0, 0);
        for number in numbers {
            let text = object(number, kinds);
            let compressed = compressor.compress(&text, None);
            assert_eq!(compressed.text(text.len()).as_deref(), Some(text.as_bytes()));
            if number >= last_quarter {
                (before, after) = (before + text.len(), after + compressed.bytes.len());
            }
        }
        before as f64 / after as f64
    }

    #[test]
    fn the_dictionary_follows_the_variety_and_the_changes_of_a_collection() {
        let compressor = Compressor::default();
        assert!(ratio(&compressor, 0..40, 1) > 20.0, "equal objects");
        assert!(ratio(&compressor, 0..400, 12) > 20.0, "a dozen kinds");
        let dictionary = present(&compressor).unwrap();
        ratio(&compressor, 0..400, 12);
        assert!(Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()), "no reason for a new one");
        let other = 1_000_003; // kinds that were never there
        assert!(ratio(&compressor, other..other + 2000, 1_000_009) < 4.0);
        assert!(!Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()), "renewed");
    }

    #[test]
    fn a_few_odd_objects_do_not_replace_the_dictionary() {
        let compressor = Compressor::default();
        ratio(&compressor, 0..100, 1);
        let dictionary = present(&compressor).unwrap();
        for number in 0..1000 {
            let kinds = if number % 50 == 0 { 1_000_003 } else { 1 };
            ratio(&compressor, number..number + 1, kinds);
        }
        assert!(Arc::ptr_eq(&dictionary, &present(&compressor).unwrap()));
    }

    #[test]
    fn few_dictionaries_are_made_of_objects_that_have_little_in_common() {
        let compressor = Compressor::default();
        let mut dictionaries: Vec<Arc<PresentDictionary>> = Vec::new();
        for number in 0..1000 {
            ratio(&compressor, number..number + 1, 1_000_003);
            if let Some(dictionary) = &present(&compressor)
                && !dictionaries.last().is_some_and(|last| Arc::ptr_eq(last, dictionary))
            {
                dictionaries.push(Arc::clone(dictionary));
            }
            let learned = compressor.learned.lock();
            assert!(learned.content.len() <= MAX_DICTIONARY && learned.samples.len() <= MAX_DICTIONARY);
        }
        // 1000 objects are about 2^8 times the first interval.
        assert!((7..=10).contains(&dictionaries.len()), "{}", dictionaries.len());
    }

    #[test]
    fn what_was_compressed_before_its_text_is_forgotten_is_outdated() {
        let compressor = Compressor::default();
        let [one, two] = [Arc::<Source>::default(), Arc::default()];
        let compress = |compressor: &Compressor, numbers: std::ops::Range<usize>, source: &Arc<Source>| {
            let compress = |number| compressor.compress(&object(number, 3), Some(source));
            numbers.map(compress).last().unwrap()
        };
        let before = compress(&compressor, 0..40, &one);
        compressor.forget(&two);
        assert!(!compressor.is_outdated(&before) && !compressor.has_outdated(), "there is no text of it");
        let content = || compressor.learned.lock().content.clone();
        let before_it_left = content();
        two.leave();
        compress(&compressor, 100..200, &two);
        assert_eq!(content(), before_it_left, "what has left adds nothing");
        compressor.forget(&two);
        assert!(!compressor.is_outdated(&before));
        compressor.forget(&one);
        assert!(compressor.is_outdated(&before) && compressor.has_outdated());
        assert!(content().is_empty() && compressor.learned.lock().samples.is_empty());
        let after = compress(&compressor, 0..40, &Arc::default());
        assert!(!compressor.is_outdated(&after) && compressor.has_outdated());
        drop(before);
        assert!(!compressor.has_outdated());
    }

    /// The lock is not held meanwhile: a long text of one cluster delays none of the others.
    #[test]
    fn others_are_compressed_while_a_long_text_is() {
        let compressor = Compressor::default();
        let mut words = fastrand::Rng::with_seed(1);
        let long: String = (0..1 << 20).map(|_| words.alphanumeric()).collect();
        let long = long.repeat(24);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let (compressor, long, is_done) = (&compressor, &long, &is_done);
            scope.spawn(move || {
                begun.send(()).unwrap();
                compressor.compress(long, None);
                is_done.store(true, Ordering::Release);
            });
            has_begun.recv().unwrap();
            let others = (0..100).take_while(|_| {
                compressor.compress("{}", None);
                !is_done.load(Ordering::Acquire)
            });
            assert_eq!(others.count(), 100);
        });
    }

    /// Two threads, of which one has begun when the text is forgotten.
    #[test]
    fn what_was_begun_before_text_is_forgotten_teaches_nothing() {
        let compressor = Compressor::default();
        let source = Arc::default();
        let mut learned = compressor.learned.lock();
        let due = (0..40).filter_map(|number| {
            learned.count(&object(number, 1));
            learned.learn(&object(number, 1), Some(&source))
        });
        let due = due.last().unwrap();
        drop(learned);
        compressor.forget(&source);
        compressor.make(&due);
        assert!(present(&compressor).is_none());
    }
}
