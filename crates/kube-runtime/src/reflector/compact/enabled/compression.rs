//! Compression with zstd, and what it takes: contexts, which threads share, and dictionaries.

use parking_lot::Mutex;
use std::{cell::RefCell, sync::Arc};
use zstd_safe::{CCtx, CDict, DCtx, DDict, compress_bound};

/// Higher levels take longer and save little, because most of an object is in the dictionary.
const LEVEL: i32 = 1;
/// A context that has compressed more than this is not kept: it would keep memory in proportion.
const MAX_TEXT: usize = 256 << 10;

/// Text to which compressed text refers. What only the compression needs, half of the memory, is not in it: objects keep dictionaries that
/// are not used for others any more.
pub(super) struct Dictionary {
    decompression: DDict<'static>,
    /// In which it was made. See [`Compressor::forget`](super::dictionary::Compressor::forget).
    pub(super) epoch: u64,
}

/// A dictionary that is used for the next objects.
pub(super) struct PresentDictionary {
    compression: CDict<'static>,
    pub(super) dictionary: Arc<Dictionary>,
}

impl PresentDictionary {
    pub(super) fn new(content: &[u8], epoch: u64) -> Self {
        // Content that does not begin with zstd's magic number, as no JSON does, is taken as it is.
        let dictionary = Arc::new(Dictionary { decompression: DDict::create(content), epoch });
        Self { compression: CDict::create(content, LEVEL), dictionary }
    }
}

/// Compressed text, and the dictionary that its decompression needs.
#[derive(Clone)]
pub(super) struct Compressed {
    pub(super) bytes: Box<[u8]>,
    pub(super) dictionary: Option<Arc<Dictionary>>,
}

#[derive(Default)]
struct Context {
    compression: CCtx<'static>,
    output: Vec<u8>,
}

/// Those that no thread uses now: as many as threads have compressed at once.
static CONTEXTS: Mutex<Vec<Context>> = Mutex::new(Vec::new());

thread_local! {
    /// 96 KiB for each thread that reads compact caches.
    static DECOMPRESSION: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

impl Compressed {
    pub(super) fn new(text: &str, present: Option<&PresentDictionary>) -> Self {
        let free = CONTEXTS.lock().pop();
        let mut context = free.unwrap_or_default();
        let Context { compression, output } = &mut context;
        output.clear();
        output.reserve(compress_bound(text.len()));
        let written = match present {
            Some(present) => compression.compress_using_cdict(output, text.as_bytes(), &present.compression),
            None => compression.compress(output, text.as_bytes(), LEVEL),
        };
        written.expect("invariant: the output has room for any result");
        let bytes = output.as_slice().into();
        if text.len() <= MAX_TEXT {
            CONTEXTS.lock().push(context);
        }
        Self { bytes, dictionary: present.map(|present| Arc::clone(&present.dictionary)) }
    }

    /// The text, which has this length. `None` if these are not the bytes of such a text.
    pub(super) fn text(&self, length: usize) -> Option<Vec<u8>> {
        let mut output = Vec::with_capacity(length);
        let decompressed = DECOMPRESSION.with_borrow_mut(|context| match &self.dictionary {
            Some(dictionary) => {
                context.decompress_using_ddict(&mut output, &self.bytes, &dictionary.decompression)
            }
            None => context.decompress(&mut output, &self.bytes),
        });
        decompressed.ok().filter(|written| *written == length).map(|_| output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_not_compressed_are_an_error() {
        let text = "text ".repeat(100);
        let compressed = Compressed::new(&text, None);
        assert_eq!(compressed.text(text.len()).as_deref(), Some(text.as_bytes()));
        assert_eq!(compressed.text(text.len() - 1), None);
        let with_bytes = |bytes: &[u8]| Compressed { bytes: bytes.into(), dictionary: None };
        assert_eq!(with_bytes(&compressed.bytes[..9]).text(text.len()), None);
        assert_eq!(with_bytes(b"{}").text(2), None);
    }

    /// An old dictionary that one object needs costs half of what the present one does.
    #[test]
    fn a_kept_dictionary_takes_little_more_than_its_content() {
        let content: Vec<u8> = (0..64 << 10).map(|_| fastrand::u8(b'a'..=b'z')).collect();
        let kept = PresentDictionary::new(&content, 0).dictionary;
        let kept = kept.decompression.sizeof();
        assert!(kept < content.len() * 3 / 2, "{kept} bytes");
    }
}
