//! Stream headers: length-prefixed names and values, compressed by zlib with a dictionary, in one zlib stream per direction.

use std::{collections::BTreeMap, sync::LazyLock};

use bytes::Buf;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

/// The largest decompressed size of headers.
const LIMIT: usize = 64 * 1024;

/// The dictionary of the draft, section 2.6.10.1: first words with their lengths, then text.
static DICTIONARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut dictionary = Vec::new();
    for word in WORDS.split_ascii_whitespace().map(|word| word.replace('_', " ")) {
        dictionary.extend_from_slice(&u32::try_from(word.len()).unwrap_or(0).to_be_bytes());
        dictionary.extend_from_slice(word.as_bytes());
    }
    dictionary.extend_from_slice(TEXT.as_bytes());
    dictionary
});

const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
    content-length content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie \
    keep-alive origin";

const TEXT: &str = "1001012012022052063003023033043053063074024054064074084094104114124134144154164175025045052\
    03 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden\
    404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug \
    Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,\
    application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch\
    charset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/// Decompresses incoming header blocks, in order.
#[derive(Debug)]
pub(super) struct Unpacker(Decompress);

impl Unpacker {
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    /// Headers by lower-case name. After an error, nothing more can be decompressed.
    pub(super) fn unpack(&mut self, mut packed: &[u8]) -> Result<BTreeMap<String, String>, String> {
        let mut plain = Vec::with_capacity(1024);
        while !packed.is_empty() {
            let before = (self.0.total_in(), plain.len());
            let result = self.0.decompress_vec(packed, &mut plain, FlushDecompress::Sync);
            let read = usize::try_from(self.0.total_in() - before.0).unwrap_or(packed.len());
            packed = &packed[read.min(packed.len())..];
            match result {
                Ok(_) if read == 0 && plain.len() == before.1 => plain.reserve(1024),
                Ok(_) => {}
                Err(error) if error.needs_dictionary().is_some() => {
                    self.0.set_dictionary(&DICTIONARY).map_err(|error| error.to_string())?;
                }
                Err(error) => return Err(error.to_string()),
            }
            if plain.len() > LIMIT || plain.capacity() > 2 * LIMIT {
                return Err(format!("headers of more than {LIMIT} bytes"));
            }
        }
        parse(&plain).ok_or_else(|| "truncated headers".to_owned())
    }
}

/// Compresses the headers of replies, which have none.
#[derive(Debug)]
pub(super) struct Packer(Compress);

impl Packer {
    pub(super) fn new() -> Self {
        let mut packer = Compress::new(Compression::fast(), true);
        packer.set_dictionary(&DICTIONARY).expect("invariant: nothing has been packed yet");
        Self(packer)
    }

    pub(super) fn pack_none(&mut self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(64);
        self.0
            .compress_vec(&0u32.to_be_bytes(), &mut packed, FlushCompress::Sync)
            .expect("invariant: there is room for four bytes");
        packed
    }
}

fn parse(mut plain: &[u8]) -> Option<BTreeMap<String, String>> {
    let count = plain.try_get_u32().ok()?;
    let mut headers = BTreeMap::new();
    for _ in 0..count {
        let (name, value) = (text(&mut plain)?, text(&mut plain)?);
        headers.insert(name.to_ascii_lowercase(), value);
    }
    Some(headers)
}

fn text(plain: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(plain.try_get_u32().ok()?).ok()?;
    let (text, rest) = plain.split_at_checked(length)?;
    *plain = rest;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(packer: &mut Compress, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = u32::try_from(headers.len()).unwrap().to_be_bytes().to_vec();
        for word in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend_from_slice(&u32::try_from(word.len()).unwrap().to_be_bytes());
            plain.extend_from_slice(word.as_bytes());
        }
        let mut packed = Vec::with_capacity(200_000);
        packer.compress_vec(&plain, &mut packed, FlushCompress::Sync).unwrap();
        packed
    }

    #[test]
    fn the_dictionary_is_that_of_the_draft() {
        let mut packer = Compress::new(Compression::fast(), true);
        // Its length and checksum, by which zlib's header names it.
        assert_eq!((DICTIONARY.len(), packer.set_dictionary(&DICTIONARY).unwrap()), (1423, 0xe3c6_a7c2));
    }

    #[test]
    fn blocks_are_decompressed_in_order() {
        let mut packer = Compress::new(Compression::default(), true);
        packer.set_dictionary(&DICTIONARY).unwrap();
        let mut unpacker = Unpacker::new();
        for port in ["80", "8080"] {
            let packed = pack(&mut packer, &[("Streamtype", "data"), ("port", port)]);
            let headers = unpacker.unpack(&packed).unwrap();
            assert_eq!((headers["streamtype"].as_str(), headers["port"].as_str()), ("data", port));
        }
        let mut unpacker = Unpacker::new();
        let mut ours = Packer::new();
        assert!(unpacker.unpack(&ours.pack_none()).unwrap().is_empty());
        assert!(unpacker.unpack(&ours.pack_none()).unwrap().is_empty());
    }

    #[test]
    fn a_zip_bomb_is_refused() {
        let mut packer = Compress::new(Compression::best(), true);
        let zeros = "0".repeat(10_000_000);
        let packed = pack(&mut packer, &[("a", &zeros)]);
        assert!(packed.len() < LIMIT);
        assert!(Unpacker::new().unpack(&packed).unwrap_err().contains("more than 65536 bytes"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_headers_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            drop(Unpacker::new().unpack(&bytes));
        }
    }
}
