//! The journal file: opens, appends, rewrites, and survives a full disk.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;

use super::{JournalLine, Record};
use crate::status_error::StatusError;

/// The file may grow by this much before it is rewritten, however small the state is.
const SLACK: u64 = 16 << 20;

/// The open journal file.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    file: File,
    /// Size of the state alone when the file was opened or last rewritten.
    base_size: u64,
    /// Size of the file: all complete lines.
    size: u64,
    /// Whether [`sync`](Self::sync) waits for the disk.
    synced: bool,
    /// Whether lines were appended since the last sync.
    unsynced: bool,
    /// The file is not the state: only a rewrite makes later writes possible.
    outdated: bool,
    /// The error of the last write, until one succeeds.
    failure: Option<WriteError>,
    /// Locks the directory.
    lock: File,
}

/// The state read from a directory.
#[derive(Debug, Default)]
pub(crate) struct PersistedState {
    /// 0 for a new directory.
    pub(crate) revision: u64,
    /// Serialized objects by group, plural and key.
    pub(crate) objects: BTreeMap<(String, String, String), Bytes>,
}

/// A change that the data directory did not accept.
#[derive(Clone, Debug)]
pub(crate) struct WriteError {
    dir: PathBuf,
    source: Arc<io::Error>,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to the data directory {}: {}", self.dir.display(), self.source)
    }
}

impl From<WriteError> for StatusError {
    fn from(error: WriteError) -> Self {
        Self::internal(error)
    }
}

impl From<WriteError> for DataError {
    fn from(WriteError { dir, source }: WriteError) -> Self {
        Self::Io { path: dir, source: io::Error::new(source.kind(), source) }
    }
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file operation failed.
    #[error("cannot use {path:?} as data directory")]
    Io {
        /// The directory, or the file in it.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Another server has locked the directory.
    #[error("the data directory {} is in use by another server", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The file is damaged before its last line, so that more than an unfinished write would be lost.
    #[error("{}, line {line}: {why}; move the file away to start empty, or truncate it before this line", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// A file with a key or credential cannot be used.
    #[error("{} cannot be used: {why}; remove it to have a new one made", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl Journal {
    /// Opens a directory, created if missing, and reads its state. An unfinished last line is cut off. The file of a new directory is empty
    /// until the first [`rewrite`](Self::rewrite).
    pub(crate) fn open(dir: &Path, synced: bool) -> Result<(Self, PersistedState), DataError> {
        let refused = |source| DataError::Io { path: dir.into(), source };
        // It would be the current directory.
        if dir.as_os_str().is_empty() {
            return Err(refused(io::Error::new(io::ErrorKind::InvalidInput, "its path is empty")));
        }
        fs::create_dir_all(dir).map_err(refused)?;
        let lock = open_private(&dir.join("lock"), OpenOptions::new().append(true)).map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DataError::InUse { path: dir.into() }),
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
        let path = dir.join("state");
        let file = open_private(&path, OpenOptions::new().append(true)).map_err(refused)?;
        let contents = match fs::read(&path) {
            Ok(bytes) => read(&path, Bytes::from(bytes))?,
            Err(source) => return Err(DataError::Io { path, source }),
        };
        file.set_len(contents.size).map_err(refused)?;
        let journal = Self {
            dir: dir.into(),
            file,
            base_size: contents.base_size,
            size: contents.size,
            synced,
            unsynced: false,
            outdated: contents.size == 0,
            failure: None,
            lock,
        };
        Ok((journal, contents.state))
    }

    /// Replaces the file by one with this state, synced to disk; later changes are appended to it. After an error, the file is as it was.
    pub(crate) fn rewrite(&mut self, lines: impl Iterator<Item = Vec<u8>>) -> Result<(), WriteError> {
        match write_new(&self.dir, lines) {
            Ok((file, size)) => {
                (self.file, self.base_size, self.size) = (file, size, size);
                (self.unsynced, self.outdated, self.failure) = (false, false, None);
                Ok(())
            }
            Err(error) => {
                // Frees the space on a full disk. An incomplete file is replaced by the next rewrite.
                drop(fs::remove_file(self.dir.join("state.next")));
                // Tried again when the file has doubled.
                self.base_size = self.size;
                Err(self.fail(error))
            }
        }
    }

    /// Appends a line. After an error the file ends with the line before, so that later lines can be read.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<(), WriteError> {
        debug_assert!(!self.outdated, "an outdated file is rewritten first");
        if let Err(error) = self.file.write_all(line) {
            self.outdated = self.file.set_len(self.size).is_err();
            return Err(self.fail(error));
        }
        self.size += line.len() as u64;
        self.unsynced = true;
        self.failure = None;
        Ok(())
    }

    /// Waits until the disk has all lines, if the journal is synced. After an error it is unknown which lines it has, so the file has to be
    /// rewritten.
    pub(crate) fn sync(&mut self) -> Result<(), WriteError> {
        if self.synced && self.unsynced {
            if let Err(error) = self.file.sync_data() {
                self.outdated = true;
                return Err(self.fail(error));
            }
            self.unsynced = false;
        }
        Ok(())
    }

    /// Whether the file is in this directory.
    pub(crate) fn is_in(&self, dir: &Path) -> bool {
        let same = |other: &PathBuf| fs::canonicalize(dir).is_ok_and(|dir| dir == *other);
        fs::canonicalize(&self.dir).is_ok_and(|own| same(&own))
    }

    /// Whether [`sync`](Self::sync) waits for the disk.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced
    }

    /// Whether the appended changes have outgrown the state.
    pub(crate) fn is_long(&self) -> bool {
        self.size > 2 * self.base_size + SLACK
    }

    /// The file is no longer the state, which was replaced: nothing is appended before a rewrite.
    pub(crate) fn set_outdated(&mut self) {
        self.outdated = true;
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated
    }

    /// The error of the last write. `None` once a write succeeded.
    pub(crate) fn failure(&self) -> Option<&WriteError> {
        self.failure.as_ref()
    }

    /// Lets every write fail, as on a full disk.
    #[cfg(test)]
    pub(crate) fn fill_disk(&mut self) {
        self.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    }

    fn fail(&mut self, error: io::Error) -> WriteError {
        let error = WriteError { dir: self.dir.clone(), source: Arc::new(error) };
        if self.failure.is_none() {
            tracing::error!("{error}; changes are refused until a write succeeds");
        }
        self.failure.insert(error).clone()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Survives a power failure as well.
        drop(self.file.sync_data());
        // Closing the file is not enough: a process that another thread is starting holds a copy of it until it runs its program.
        drop(self.lock.unlock());
    }
}

/// Opens a file that only its owner may read, created if missing.
fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let file = options.create(true).mode(0o600).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.create(true).open(path)
}

/// Replaces a file of the directory: after a crash there is the old file or the new one. Only its owner may read it.
pub fn replace_private(
    dir: &Path,
    name: impl AsRef<OsStr>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let name = name.as_ref();
    let next = dir.join([name, OsStr::new(".next")].join(OsStr::new("")));
    let mut out = BufWriter::new(open_private(&next, OpenOptions::new().write(true).truncate(true))?);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&next, dir.join(name))?;
    // The rename itself. Other systems cannot sync a directory.
    #[cfg(unix)]
    File::open(dir)?.sync_all()?;
    Ok(())
}

fn write_new(dir: &Path, lines: impl Iterator<Item = Vec<u8>>) -> io::Result<(File, u64)> {
    let mut size = 0;
    replace_private(dir, "state", |out| {
        for line in lines {
            out.write_all(&line)?;
            size += line.len() as u64;
        }
        Ok(())
    })?;
    Ok((OpenOptions::new().append(true).open(dir.join("state"))?, size))
}

/// What a state file holds.
#[derive(Default)]
struct Contents {
    state: PersistedState,
    /// Size of all complete lines, and of those that are still needed.
    size: u64,
    base_size: u64,
}

/// Applies the records. An incomplete last line is an unfinished write and is skipped.
fn read(path: &Path, bytes: Bytes) -> Result<Contents, DataError> {
    let mut contents = Contents::default();
    let (mut rest, mut at) = (bytes, 0);
    while !rest.is_empty() {
        let end = (&rest[..]).skip_until(b'\n').expect("invariant: memory can be read");
        let line = rest.split_to(end);
        let whole = line.strip_suffix(b"\n").ok_or_else(|| "it is incomplete".to_string());
        let parsed = whole.and_then(|whole| JournalLine::read(&line.slice_ref(whole)));
        let parsed = parsed.and_then(|line| match (at, &line) {
            (0, JournalLine::Record(_)) => Err("it is not the header of a state file".into()),
            _ => Ok(line),
        });
        match parsed {
            Ok(JournalLine::Head(revision)) => {
                contents.state.revision = contents.state.revision.max(revision)
            }
            Ok(JournalLine::Record(record)) => contents.state.apply(record),
            Err(why) if rest.is_empty() && at > 0 => {
                let (path, line) = (path.display(), at + 1);
                tracing::warn!("{path}: skipped the last line ({line}): {why}; its change is lost");
                break;
            }
            Err(why) => return Err(DataError::Damaged { path: path.into(), line: at + 1, why }),
        }
        contents.size += line.len() as u64;
        at += 1;
    }
    contents.base_size = contents.state.objects.values().map(|object| object.len() as u64).sum();
    Ok(contents)
}

impl PersistedState {
    fn apply(&mut self, record: Record) {
        let Record { revision, group, plural, key, object } = record;
        self.revision = self.revision.max(revision);
        let key = (group, plural, key);
        match object {
            Some(object) => drop(self.objects.insert(key, object)),
            None => drop(self.objects.remove(&key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(revision: u64, key: &str, gone: bool) -> Vec<u8> {
        let object = Bytes::from(format!("{{\"n\":{revision}}}"));
        JournalLine::change(revision, "", "pods", key, Some(&object).filter(|_| !gone))
    }

    fn saved(dir: &Path) -> Result<PersistedState, DataError> {
        Journal::open(dir, false).map(|(_, saved)| saved)
    }

    #[test]
    fn an_empty_path_is_not_the_current_directory() {
        let refused = saved(Path::new("")).unwrap_err();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert_eq!(
            (refused.to_string().as_str(), why.as_str()),
            (r#"cannot use "" as data directory"#, "its path is empty")
        );
    }

    #[test]
    fn changes_survive_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("made/when/missing");
        let (mut journal, empty) = Journal::open(&dir, true).unwrap();
        assert_eq!((empty.revision, empty.objects.len()), (0, 0));
        journal.rewrite([JournalLine::head(3), change(2, "a", false)].into_iter()).unwrap();
        for line in
            [change(4, "b", false), change(5, "a", false), change(6, "c", false), change(7, "c", true)]
        {
            journal.append(&line).unwrap();
        }
        journal.sync().unwrap();
        assert!(matches!(saved(&dir), Err(DataError::InUse { .. })));
        drop(journal);
        let saved_state = saved(&dir).unwrap();
        let keys: Vec<_> = saved_state
            .objects
            .iter()
            .map(|((.., key), o)| (key.as_str(), String::from_utf8_lossy(o)))
            .collect();
        assert_eq!(
            (saved_state.revision, keys),
            (7, vec![("a", r#"{"n":5}"#.into()), ("b", r#"{"n":4}"#.into())])
        );
    }

    #[test]
    fn an_unfinished_last_line_is_cut_off_and_other_damage_refused() {
        let whole = [JournalLine::head(1), change(2, "a", false), change(3, "b", false)].concat();
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let second = JournalLine::head(1).len() + change(2, "a", false).len();
        for cut in second + 1..whole.len() {
            fs::write(&state, &whole[..cut]).unwrap();
            let (mut journal, saved_state) = Journal::open(dir.path(), false).unwrap();
            assert_eq!((saved_state.revision, saved_state.objects.len()), (2, 1), "cut at {cut}");
            journal.append(&change(4, "c", false)).unwrap();
            drop(journal);
            let saved_state = saved(dir.path()).unwrap();
            assert_eq!((saved_state.revision, saved_state.objects.len()), (4, 2), "continued after {cut}");
        }
        let mut damaged = whole.clone();
        damaged[second - 5] ^= 1;
        fs::write(&state, &damaged).unwrap();
        let error = saved(dir.path()).unwrap_err().to_string();
        assert!(error.contains("state, line 2: its checksum is wrong; move the file away"), "{error}");
        fs::write(&state, "something else\n").unwrap();
        assert!(saved(dir.path()).unwrap_err().to_string().contains("state, line 1: "));
    }

    #[test]
    fn a_refused_write_is_reported_and_a_rewrite_mends_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path(), true).unwrap();
        journal.rewrite([JournalLine::head(1), change(2, "a", false)].into_iter()).unwrap();
        journal.fill_disk();
        let error = journal.append(&change(3, "b", false)).unwrap_err().to_string();
        let dir_name = dir.path().display().to_string();
        assert!(error.starts_with(&format!("cannot write to the data directory {dir_name}: ")), "{error}");
        assert!(journal.failure().is_some() && journal.is_outdated());
        journal.rewrite([JournalLine::head(2), change(2, "a", false)].into_iter()).unwrap();
        assert!(journal.failure().is_none() && !journal.is_outdated());
        journal.append(&change(4, "c", false)).unwrap();
        drop(journal);
        assert_eq!(saved(dir.path()).unwrap().objects.len(), 2);
    }

    /// As a process that another thread starts holds until it runs its program.
    #[test]
    fn a_closed_directory_is_unlocked_although_a_copy_of_the_lock_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(dir.path(), false).unwrap();
        let _copy = journal.lock.try_clone().unwrap();
        assert!(matches!(saved(dir.path()), Err(DataError::InUse { .. })));
        drop(journal);
        saved(dir.path()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_files() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("state"), "").unwrap();
        fs::set_permissions(dir.path().join("state"), fs::Permissions::from_mode(0o644)).unwrap();
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
        let (mut journal, _) = Journal::open(dir.path(), false).unwrap();
        assert_eq!((mode("state"), mode("lock")), (0o600, 0o600));
        journal.rewrite([JournalLine::head(1)].into_iter()).unwrap();
        assert_eq!(mode("state"), 0o600);
    }
}
