//! From local files to an archive. Blocks.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::error::CopyErrorKind;
use super::progress::Counter;

/// Writes `local`, and what is in it, as entries of an archive that begin with `name`. Links are written as links.
pub(super) fn pack(
    local: &Path,
    name: &str,
    counter: &Counter,
    writer: impl Write,
) -> Result<(), CopyErrorKind> {
    let mut builder = Builder::new(writer);
    let mut waiting = vec![(local.to_owned(), PathBuf::from(name))];
    while let Some((path, name)) = waiting.pop() {
        let failed = |source| CopyErrorKind::Local { path: path.clone(), source };
        let metadata = path.symlink_metadata().map_err(failed)?;
        let kind = metadata.file_type();
        let mut header = header_of(&metadata);
        if kind.is_dir() {
            header.set_entry_type(EntryType::Directory);
            builder.append_data(&mut header, &name, io::empty()).map_err(failed)?;
            counter.directory();
            let mut children = fs::read_dir(&path)
                .and_then(|entries| {
                    entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()
                })
                .map_err(failed)?;
            // The last one is the next.
            children.sort_unstable_by(|a, b| b.cmp(a));
            waiting.extend(children.iter().map(|child| (path.join(child), name.join(child))));
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(failed)?;
            header.set_entry_type(EntryType::Symlink);
            builder.append_link(&mut header, &name, &target).map_err(failed)?;
            counter.link();
        } else if kind.is_file() {
            let file = File::open(&path).map_err(failed)?;
            header.set_entry_type(EntryType::Regular);
            header.set_size(metadata.len());
            let contents = Contents { file, left: metadata.len(), counter };
            builder.append_data(&mut header, &name, contents).map_err(failed)?;
            counter.file();
        } else {
            counter.skip(&path, "neither a file, a directory nor a link");
        }
    }
    let ended = builder.into_inner().and_then(|mut writer| writer.flush());
    ended.map_err(|source| CopyErrorKind::Local { path: local.to_owned(), source })
}

/// Permissions and time. The owner is that of the process that reads the archive.
fn header_of(metadata: &Metadata) -> Header {
    let mut header = Header::new_gnu();
    header.set_metadata_in_mode(metadata, tar::HeaderMode::Complete);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header.set_mode(header.mode().unwrap_or(0o644) & 0o777);
    header
}

/// A file, of which exactly as many bytes are read as its entry has.
struct Contents<'a> {
    file: File,
    left: u64,
    counter: &'a Counter,
}

impl Read for Contents<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.file.read(&mut buffer[..room])?;
        if length == 0 && room > 0 {
            return Err(io::Error::other("the file became shorter while it was read"));
        }
        self.left -= u64::try_from(length).unwrap_or(0);
        self.counter.bytes(length);
        Ok(length)
    }
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
