use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{JournalLine, Record};

/// The file may grow by this much before it is rewritten, however small the state is.
const SLACK: u64 = 16 << 20;

/// The open journal file.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    file: File,
    /// Size after the last rewrite, and now.
    base_size: u64,
    size: u64,
    /// The error of a failed write, after which no more changes are written.
    write_error: Option<String>,
    /// Locks the directory.
    _lock: File,
}

/// The state read from a directory.
#[derive(Debug, Default)]
pub(crate) struct PersistedState {
    /// 0 for a new directory.
    pub(crate) revision: u64,
    /// Keyed by group, plural and key.
    pub(crate) objects: BTreeMap<(String, String, String), serde_json::Value>,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file operation failed.
    #[error("cannot use {} as data directory", path.display())]
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
}

impl Journal {
    /// Opens a directory, created if missing, and reads its state. Nothing is written before [`rewrite`](Self::rewrite).
    pub(crate) fn open(dir: &Path) -> Result<(Self, PersistedState), DataError> {
        let refused = |source| DataError::Io { path: dir.into(), source };
        fs::create_dir_all(dir).map_err(refused)?;
        let lock = OpenOptions::new().create(true).append(true).open(dir.join("lock")).map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DataError::InUse { path: dir.into() }),
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
        let path = dir.join("state");
        let saved = match fs::read(&path) {
            Ok(bytes) => read(&path, &bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => PersistedState::default(),
            Err(source) => return Err(DataError::Io { path, source }),
        };
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(refused)?;
        Ok((Self { dir: dir.into(), file, base_size: 0, size: 0, write_error: None, _lock: lock }, saved))
    }

    /// Replaces the file by one with this state; later changes are appended to it.
    pub(crate) fn rewrite(&mut self, lines: impl Iterator<Item = Vec<u8>>) {
        let base_size = write_new(&self.dir, lines);
        match base_size {
            Ok((file, size)) => (self.file, self.base_size, self.size) = (file, size, size),
            Err(error) => self.fail(&error),
        }
    }

    /// Writes a line to the file, without syncing it to disk.
    pub(crate) fn append(&mut self, line: &[u8]) {
        if self.write_error.is_some() {
            return;
        }
        match self.file.write_all(line) {
            Ok(()) => self.size += line.len() as u64,
            Err(error) => self.fail(&error),
        }
    }

    /// Whether the appended changes have outgrown the state.
    pub(crate) fn is_long(&self) -> bool {
        self.size > 2 * self.base_size + SLACK
    }

    pub(crate) fn write_error(&self) -> Option<&str> {
        self.write_error.as_deref()
    }

    fn fail(&mut self, error: &io::Error) {
        let why = format!("cannot write to the data directory {}: {error}", self.dir.display());
        tracing::error!("{why}; no more changes are written");
        self.write_error = Some(why);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Survives a power failure as well.
        drop(self.file.sync_data());
    }
}

fn write_new(dir: &Path, lines: impl Iterator<Item = Vec<u8>>) -> io::Result<(File, u64)> {
    let (next, path) = (dir.join("state.next"), dir.join("state"));
    let mut out = BufWriter::new(File::create(&next)?);
    let mut size = 0;
    for line in lines {
        out.write_all(&line)?;
        size += line.len() as u64;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&next, &path)?;
    Ok((OpenOptions::new().append(true).open(&path)?, size))
}

/// Applies the records. An incomplete last line is an unfinished write and is skipped.
fn read(path: &Path, bytes: &[u8]) -> Result<PersistedState, DataError> {
    let mut saved = PersistedState::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let whole = line.strip_suffix(b"\n").ok_or_else(|| "it is incomplete".to_string());
        let parsed = whole.and_then(JournalLine::read).and_then(|line| match (at, &line) {
            (0, JournalLine::Record(_)) => Err("it is not the header of a state file".into()),
            _ => Ok(line),
        });
        match parsed {
            Ok(JournalLine::Head(revision)) => saved.revision = saved.revision.max(revision),
            Ok(JournalLine::Record(record)) => saved.apply(record),
            Err(why) if at + 1 == lines.len() && at > 0 => {
                let (path, line) = (path.display(), at + 1);
                tracing::warn!("{path}: skipped the last line ({line}): {why}; its change is lost");
            }
            Err(why) => return Err(DataError::Damaged { path: path.into(), line: at + 1, why }),
        }
    }
    Ok(saved)
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
    use bytes::Bytes;

    use super::*;

    fn change(revision: u64, key: &str, gone: bool) -> Vec<u8> {
        let object = Bytes::from(format!("{{\"n\":{revision}}}"));
        JournalLine::change(revision, "", "pods", key, Some(&object).filter(|_| !gone))
    }

    fn saved(dir: &Path) -> Result<PersistedState, DataError> {
        Journal::open(dir).map(|(_, saved)| saved)
    }

    #[test]
    fn changes_survive_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("made/when/missing");
        let (mut journal, empty) = Journal::open(&dir).unwrap();
        assert_eq!((empty.revision, empty.objects.len()), (0, 0));
        journal.rewrite([JournalLine::head(3), change(2, "a", false)].into_iter());
        for line in
            [change(4, "b", false), change(5, "a", false), change(6, "c", false), change(7, "c", true)]
        {
            journal.append(&line);
        }
        assert!(matches!(saved(&dir), Err(DataError::InUse { .. })));
        drop(journal);
        let found = saved(&dir).unwrap();
        let keys: Vec<_> =
            found.objects.iter().map(|((.., key), o)| (key.as_str(), o["n"].as_u64().unwrap())).collect();
        assert_eq!((found.revision, keys), (7, vec![("a", 5), ("b", 4)]));
    }

    #[test]
    fn an_unfinished_last_line_is_skipped_and_other_damage_refused() {
        let whole = [JournalLine::head(1), change(2, "a", false), change(3, "b", false)].concat();
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let second = JournalLine::head(1).len() + change(2, "a", false).len();
        for cut in second + 1..whole.len() {
            fs::write(&state, &whole[..cut]).unwrap();
            let found = saved(dir.path()).unwrap();
            assert_eq!((found.revision, found.objects.len()), (2, 1), "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[second - 5] ^= 1;
        fs::write(&state, &damaged).unwrap();
        let error = saved(dir.path()).unwrap_err().to_string();
        assert!(error.contains("state, line 2: its checksum is wrong; move the file away"), "{error}");
        fs::write(&state, "something else\n").unwrap();
        assert!(saved(dir.path()).unwrap_err().to_string().contains("state, line 1: "));
    }
}
