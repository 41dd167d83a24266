//! From an archive to local files. Blocks.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tar::{Archive, Entry, EntryType, Unpacked};

use super::error::CopyErrorKind;
use super::local_file::{LocalFile, link};
use super::path::{Rejected, Requested};
use super::progress::Counter;

/// Writes the entries of an archive to local files.
pub(super) struct Unpacker {
    pub(super) requested: Requested,
    /// The file or directory that the requested path becomes.
    pub(super) target: PathBuf,
    pub(super) preserve: bool,
    pub(super) counter: Counter,
}

/// What an archive has brought so far.
#[derive(Default)]
struct Brought {
    directories: Vec<Directory>,
    files: Files,
}

/// The files of an archive: only these may get a second name. Hashes with a secret key, because an archive may have millions.
#[derive(Default)]
struct Files {
    key: RandomState,
    hashes: HashSet<u64>,
}

/// Permissions and time of a directory: set at the end, because writing into it needs the one and changes the other.
struct Directory {
    path: PathBuf,
    attributes: Attributes,
}

#[derive(Clone, Copy)]
struct Attributes {
    mode: Option<u32>,
    modified: Option<SystemTime>,
}

impl Unpacker {
    /// Reads the archive to the end of its bytes.
    pub(super) fn unpack(&self, mut reader: impl Read) -> Result<(), CopyErrorKind> {
        let mut brought = Brought::default();
        let unpacked = self.entries(&mut reader, &mut brought);
        // The deepest first, so that none is closed before what is in it.
        for directory in brought.directories.iter().rev() {
            directory.attributes.set_on_directory(&directory.path);
        }
        unpacked?;
        let copied = self.counter.copied();
        if copied.is_empty() {
            let skipped = copied.skipped.first();
            return Err(CopyErrorKind::Nothing(skipped.map_or_else(
                || "the archive from the container is empty".to_owned(),
                |skipped| format!("{} is {}", skipped.path.display(), skipped.reason),
            )));
        }
        Ok(())
    }

    fn entries(&self, reader: &mut impl Read, brought: &mut Brought) -> Result<(), CopyErrorKind> {
        let mut archive = Archive::new(&mut *reader);
        for entry in archive.entries().map_err(corrupted)? {
            self.entry(&mut entry.map_err(corrupted)?, brought)?;
        }
        io::copy(reader, &mut io::sink()).map(drop).map_err(corrupted)
    }

    fn entry(&self, entry: &mut Entry<'_, impl Read>, brought: &mut Brought) -> Result<(), CopyErrorKind> {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let name = entry.path().map_err(corrupted)?.into_owned();
        let Some(target) = self.place(&name)? else { return Ok(()) };
        let attributes = self.attributes(entry);
        match kind {
            EntryType::Directory => {
                self.replace(&target)?;
                fs::create_dir_all(&target).map_err(|source| local(&target, source))?;
                let closed = open_directory(&target).map_err(|source| local(&target, source))?;
                self.counter.directory();
                let attributes =
                    if self.preserve { attributes } else { Attributes { mode: closed, modified: None } };
                brought.directories.push(Directory { path: target, attributes });
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.file(entry, &target, attributes)?;
                brought.files.insert(&target);
            }
            EntryType::Link => {
                if self.hard_link(entry, &name, &target, &brought.files)? {
                    brought.files.insert(&target);
                }
            }
            EntryType::Symlink => {
                let to = entry.link_name().ok().flatten().unwrap_or_default();
                self.counter.skip(&name, format!("a symbolic link to {}", to.display()));
            }
            _ => self.counter.skip(&name, "neither a file nor a directory"),
        }
        Ok(())
    }

    /// The local path of an entry, whose parents exist; `None` if it was skipped.
    fn place(&self, name: &Path) -> Result<Option<PathBuf>, CopyErrorKind> {
        let below = match self.requested.place(name) {
            Ok(below) => below,
            Err(Rejected::Outside) => {
                self.counter.skip(name, "outside of the target");
                return Ok(None);
            }
            Err(Rejected::NotRequested) => {
                let what = format!("{} is not below {}", name.display(), self.requested.argument);
                return Err(CopyErrorKind::Archive(what));
            }
        };
        if let Some(link) = self.local_link(&below) {
            self.counter.skip(name, format!("behind the local link {}", link.display()));
            return Ok(None);
        }
        let target =
            if below.as_os_str().is_empty() { self.target.clone() } else { self.target.join(&below) };
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|source| local(parent, source))?;
        }
        Ok(Some(target))
    }

    /// The first link among the directories between the target and an entry: it could lead anywhere.
    fn local_link(&self, below: &Path) -> Option<PathBuf> {
        let mut path = self.target.clone();
        let parents = below.parent()?;
        parents.components().find_map(|name| {
            path.push(name);
            path.is_symlink().then(|| path.clone())
        })
    }

    fn file(
        &self,
        entry: &mut Entry<'_, impl Read>,
        target: &Path,
        attributes: Attributes,
    ) -> Result<(), CopyErrorKind> {
        let failed = |source| local(target, source);
        let created =
            if target == self.target { LocalFile::chosen(target) } else { LocalFile::replacing(target) };
        let mut local_file = created.map_err(failed)?;
        match &mut local_file {
            LocalFile::InPlace(device) => self.write(entry, target, device)?,
            LocalFile::Beside { file, .. } => {
                let sparse = match entry.header().entry_type() {
                    EntryType::GNUSparse => Some(self.sparse(entry, file.path()).map_err(failed)?),
                    _ => None,
                };
                if sparse.is_none() {
                    self.write(entry, target, file.as_file_mut())?;
                }
                if self.preserve {
                    let written = sparse.as_ref().unwrap_or(file.as_file());
                    attributes.set_on_file(written).map_err(failed)?;
                }
            }
        }
        local_file.finish().map_err(failed)?;
        self.counter.file();
        Ok(())
    }

    /// Holes stay holes: zeros in their place would fill the disk, from an archive of one block.
    fn sparse(&self, entry: &mut Entry<'_, impl Read>, path: &Path) -> io::Result<File> {
        let stored = entry.header().entry_size()?;
        let permissions = path.metadata()?.permissions();
        entry.set_preserve_mtime(self.preserve);
        let Unpacked::File(file) = entry.unpack(path)? else {
            return Err(io::Error::other("a sparse entry is no file"));
        };
        // It has made the file anew, with the mode of the entry.
        file.set_permissions(permissions)?;
        self.counter.bytes(usize::try_from(stored).unwrap_or(usize::MAX));
        Ok(file)
    }

    fn write(
        &self,
        entry: &mut Entry<'_, impl Read>,
        target: &Path,
        file: &mut File,
    ) -> Result<(), CopyErrorKind> {
        let mut left = entry.size();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = match entry.read(&mut buffer) {
                Ok(0) if left == 0 => return Ok(()),
                // An archive that was cut off ends its last entry without an error.
                Ok(0) => return Err(corrupted(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => length,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(corrupted(err)),
            };
            file.write_all(&buffer[..length]).map_err(|source| local(target, source))?;
            self.counter.bytes(length);
            left = left.saturating_sub(length as u64);
        }
    }

    /// A second name of a file of this archive. Returns whether there is one.
    fn hard_link(
        &self,
        entry: &Entry<'_, impl Read>,
        name: &Path,
        target: &Path,
        files: &Files,
    ) -> Result<bool, CopyErrorKind> {
        let to = entry.link_name().map_err(corrupted)?.unwrap_or_default();
        let Some(first) = self.place(&to)? else { return Ok(false) };
        // What was there before is not of the container, and must not be changed through a second name.
        let is_file = first.symlink_metadata().is_ok_and(|metadata: Metadata| metadata.is_file());
        if !is_file || !files.contains(&first) {
            self.counter.skip(name, format!("a hard link to {}, which was not copied", to.display()));
            return Ok(false);
        }
        if first != target {
            link(&first, target).map_err(|source| local(target, source))?;
        }
        self.counter.file();
        Ok(true)
    }

    /// Removes a local link in the place of an entry, except for the target itself, which the caller has chosen.
    fn replace(&self, target: &Path) -> Result<(), CopyErrorKind> {
        if target != self.target && target.is_symlink() {
            return fs::remove_file(target).map_err(|source| local(target, source));
        }
        Ok(())
    }

    fn attributes(&self, entry: &Entry<'_, impl Read>) -> Attributes {
        let header = entry.header();
        let modified = header
            .mtime()
            .ok()
            .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        // Set-user-ID and the like are for the users of the container.
        Attributes { mode: header.mode().ok().map(|mode| mode & 0o777), modified }
    }
}

impl Files {
    fn insert(&mut self, path: &Path) {
        self.hashes.insert(self.key.hash_one(path));
    }

    fn contains(&self, path: &Path) -> bool {
        self.hashes.contains(&self.key.hash_one(path))
    }
}

impl Attributes {
    fn set_on_file(self, file: &File) -> io::Result<()> {
        if let Some(modified) = self.modified {
            file.set_modified(modified)?;
        }
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Some file systems have no such attributes of directories.
    fn set_on_directory(self, path: &Path) {
        let set = File::open(path).and_then(|directory| self.set_on_file(&directory));
        if let Err(err) = set {
            tracing::debug!(path = %path.display(), error = %err, "permissions and time of a directory not set");
        }
    }
}

/// A directory that an earlier copy has made read-only takes files again, until it gets its permissions at the end. Returns those that it
/// had, if they were changed.
fn open_directory(path: &Path) -> io::Result<Option<u32>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        const OWNER: u32 = 0o700;
        let mode = path.metadata()?.permissions().mode();
        if mode & OWNER != OWNER {
            fs::set_permissions(path, fs::Permissions::from_mode(mode | OWNER))?;
            return Ok(Some(mode & 0o777));
        }
    }
    Ok(None)
}

fn local(path: &Path, source: io::Error) -> CopyErrorKind {
    CopyErrorKind::Local { path: path.to_owned(), source }
}

fn corrupted(err: io::Error) -> CopyErrorKind {
    CopyErrorKind::Archive(err.to_string())
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
