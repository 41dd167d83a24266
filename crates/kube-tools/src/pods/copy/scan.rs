//! Where the entries of an archive begin, and whether it is whole: read while its bytes pass. No I/O.

use bytes::Bytes;
use tar::{Header, PaxExtensions};

const BLOCK: usize = 512;

/// The byte of a block of a sparse map that says whether another one follows.
const IS_EXTENDED: usize = 504;

/// The most bytes of the headers of one entry: names and attributes of any file system are shorter.
const HEADERS_LIMIT: usize = 1 << 20;

/// Follows the structure of an archive.
#[derive(Debug, Default)]
pub(super) struct ArchiveScanner {
    /// The bytes so far.
    offset: u64,
    state: State,
    /// The begin of a block that is not complete.
    block: Vec<u8>,
    /// The headers of the next entry, as far as they are complete.
    headers: Vec<u8>,
    /// The size of the next entry, if an extension header says it.
    extended_size: Option<u64>,
    entry: Option<EntryStart>,
}

/// The begin of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryStart {
    /// Its first byte in the archive.
    pub(super) offset: u64,
    /// Its extension headers, and its own: name, size, time and mode.
    pub(super) headers: Bytes,
}

/// What the next block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Header,
    /// Data of an extension header, which belongs to the headers of the next entry.
    Extension {
        left: u64,
        size: usize,
        is_pax: bool,
    },
    /// More of the map of a sparse file, whose content has so many bytes.
    SparseMap {
        content: u64,
    },
    Content {
        left: u64,
    },
    /// The second half of the end-of-archive marker.
    SecondZeros,
    Ended,
}

impl ArchiveScanner {
    /// The next bytes of the archive, in pieces of any length.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            let taken = match &mut self.state {
                State::Ended => bytes.len(),
                State::Content { left } => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= taken as u64;
                    if *left == 0 {
                        self.state = State::Header;
                    }
                    taken
                }
                _ => {
                    let taken = bytes.len().min(BLOCK - self.block.len());
                    self.block.extend_from_slice(&bytes[..taken]);
                    taken
                }
            };
            self.offset += taken as u64;
            bytes = &bytes[taken..];
            if self.block.len() == BLOCK {
                let block = std::mem::take(&mut self.block);
                self.state = self.next_state(&block)?;
            }
        }
        Ok(())
    }

    /// The last entry whose headers are complete.
    pub(super) fn entry(&self) -> Option<&EntryStart> {
        self.entry.as_ref()
    }

    /// Whether the archive has its end-of-archive marker, so that no entry is missing.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    fn next_state(&mut self, block: &[u8]) -> Result<State, String> {
        let is_zero = block.iter().all(|byte| *byte == 0);
        match self.state {
            State::Header if is_zero && self.headers.is_empty() => Ok(State::SecondZeros),
            State::SecondZeros if is_zero => Ok(State::Ended),
            State::SecondZeros => Err("its end-of-archive marker is incomplete".to_owned()),
            State::Header => {
                self.keep(block)?;
                self.after_header(block)
            }
            State::Extension { left, size, is_pax } => {
                self.keep(block)?;
                let left = left - BLOCK as u64;
                if left > 0 {
                    return Ok(State::Extension { left, size, is_pax });
                }
                if is_pax {
                    let padded = size.next_multiple_of(BLOCK);
                    let data = &self.headers[self.headers.len() - padded..][..size];
                    self.extended_size = extended_size(data).or(self.extended_size);
                }
                Ok(State::Header)
            }
            State::SparseMap { content } => {
                self.keep(block)?;
                Ok(if block[IS_EXTENDED] == 1 { self.state } else { self.begin(content) })
            }
            State::Content { .. } | State::Ended => Ok(self.state),
        }
    }

    fn after_header(&mut self, block: &[u8]) -> Result<State, String> {
        let header = Header::from_byte_slice(block);
        let too_large = |size: u64| format!("an entry has {size} bytes");
        let size = header.entry_size().map_err(|err| err.to_string())?;
        let padded = |size: u64| size.checked_next_multiple_of(BLOCK as u64).ok_or_else(|| too_large(size));
        let (kind, is_gnu) = (header.entry_type(), header.as_gnu().is_some());
        let is_pax = kind.is_pax_local_extensions();
        if (is_gnu || header.as_ustar().is_some())
            && (is_pax || kind.is_gnu_longname() || kind.is_gnu_longlink())
        {
            let left = padded(size)?;
            let size = usize::try_from(size).map_err(|_| too_large(size))?;
            return Ok(if left == 0 { State::Header } else { State::Extension { left, size, is_pax } });
        }
        let content = padded(self.extended_size.take().unwrap_or(size))?;
        match header.as_gnu().filter(|_| kind.is_gnu_sparse()) {
            Some(gnu) if gnu.is_extended() => Ok(State::SparseMap { content }),
            _ => Ok(self.begin(content)),
        }
    }

    /// The headers of an entry are complete.
    fn begin(&mut self, content: u64) -> State {
        let headers = Bytes::from(std::mem::take(&mut self.headers));
        self.entry = Some(EntryStart { offset: self.offset - headers.len() as u64, headers });
        if content == 0 { State::Header } else { State::Content { left: content } }
    }

    fn keep(&mut self, block: &[u8]) -> Result<(), String> {
        if self.headers.len() >= HEADERS_LIMIT {
            return Err(format!("the headers of an entry have more than {HEADERS_LIMIT} bytes"));
        }
        self.headers.extend_from_slice(block);
        Ok(())
    }
}

/// The size of the next entry, where a header has no room for it.
fn extended_size(data: &[u8]) -> Option<u64> {
    let size = PaxExtensions::new(data).map_while(Result::ok).find(|extension| extension.key() == Ok("size"));
    size?.value().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tar::{Builder, EntryType};

    use super::*;

    fn archive(entries: &[(&str, usize)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, size) in entries {
            let mut header = Header::new_gnu();
            header.set_size(*size as u64);
            builder.append_data(&mut header, name, &vec![b'x'; *size][..]).unwrap();
        }
        builder.into_inner().unwrap()
    }

    /// Where the last entry begins after each number of bytes, whatever the pieces.
    fn entry_after(archive: &[u8], length: usize, piece: usize) -> Option<(u64, usize)> {
        let mut scanner = ArchiveScanner::default();
        archive[..length].chunks(piece).for_each(|piece| scanner.receive(piece).unwrap());
        scanner.entry().map(|entry| (entry.offset, entry.headers.len()))
    }

    #[test]
    fn entries_are_found_whatever_the_pieces() {
        // A long name has an extension header of two blocks.
        let archive = archive(&[("a", 5), (&"n".repeat(200), 1000), ("c", 0)]);
        for piece in [1, 511, 512, 700, 100_000] {
            let after = |length| entry_after(&archive, length, piece);
            assert_eq!(after(511), None);
            assert_eq!(after(512), Some((0, 512)));
            assert_eq!(after(1024 + 1535), Some((0, 512)), "the headers of the second are incomplete");
            assert_eq!(after(1024 + 1536), Some((1024, 1536)));
            assert_eq!(after(1024 + 1536 + 1024 + 512), Some((3584, 512)));
        }
    }

    #[test]
    fn only_the_marker_ends_an_archive() {
        let archive = archive(&[("a", 5), ("b", 600)]);
        for length in 0..=archive.len() {
            let mut scanner = ArchiveScanner::default();
            scanner.receive(&archive[..length]).unwrap();
            assert_eq!(scanner.has_ended(), length == archive.len(), "{length} of {}", archive.len());
        }
        let mut scanner = ArchiveScanner::default();
        scanner.receive(&archive).unwrap();
        scanner.receive(b"padding of a record, whatever it is").unwrap();
        assert!(scanner.has_ended());
        let mut half = ArchiveScanner::default();
        half.receive(&[0; BLOCK]).unwrap();
        assert!(half.receive(&[1; BLOCK]).unwrap_err().contains("incomplete"));
    }

    #[test]
    fn a_size_may_be_that_of_an_extension_header() {
        let mut builder = Builder::new(Vec::new());
        builder.append_pax_extensions([("size", &b"1024"[..])]).unwrap();
        let mut archive = builder.get_ref().clone();
        let mut header = Header::new_ustar();
        header.set_path("large").unwrap();
        header.set_size(0);
        header.set_cksum();
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(&[1; 1024]);
        archive.extend_from_slice(&[0; 1024]);
        let mut scanner = ArchiveScanner::default();
        scanner.receive(&archive).unwrap();
        assert!(scanner.has_ended());
    }

    #[test]
    fn the_map_of_a_sparse_file_belongs_to_its_headers() {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_size(512);
        header.as_gnu_mut().unwrap().isextended = [1];
        header.set_cksum();
        let mut archive = header.as_bytes().to_vec();
        let mut map = [0; BLOCK];
        map[504] = 1;
        archive.extend_from_slice(&map);
        archive.extend_from_slice(&[0; BLOCK]);
        archive.extend_from_slice(&[b'x'; BLOCK]);
        archive.extend_from_slice(&[0; 2 * BLOCK]);
        let mut scanner = ArchiveScanner::default();
        scanner.receive(&archive).unwrap();
        assert_eq!(scanner.entry().map(|entry| (entry.offset, entry.headers.len())), Some((0, 3 * BLOCK)));
        assert!(scanner.has_ended());
    }

    #[test]
    fn headers_without_end_are_an_error() {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        let mut scanner = ArchiveScanner::default();
        scanner.receive(header.as_bytes()).unwrap();
        let piece = [b'n'; 64 << 10];
        let err = (0..40).find_map(|_| scanner.receive(&piece).err()).unwrap();
        assert!(err.contains("the headers of an entry have more than"), "{err}");
        header.set_entry_type(EntryType::Regular);
        header.set_size(u64::MAX);
        assert!(ArchiveScanner::default().receive(header.as_bytes()).is_err());
    }
}
