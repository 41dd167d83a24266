use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{JournalLine, Record};

/// A file may grow by this before it is begun anew, however small the state is.
const SLACK: u64 = 16 << 20;

/// The open file that changes are appended to.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    file: File,
    /// Size when it was begun, and now.
    begun: u64,
    size: u64,
    /// Why writing failed; from then on nothing more is written.
    write_error: Option<String>,
    /// Held as long as the directory is in use.
    _lock: File,
}

/// What a directory held.
#[derive(Debug, Default)]
pub(crate) struct PersistedState {
    /// 0 when there was nothing.
    pub(crate) revision: u64,
    /// By group, plural and key.
    pub(crate) objects: BTreeMap<(String, String, String), serde_json::Value>,
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The system refuses something.
    #[error("cannot use {} as data directory", path.display())]
    Io {
        /// The directory, or the file in it.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another server uses the directory.
    #[error("the data directory {} is in use by another server", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The state is damaged before its end, so that more than an unfinished write would be lost.
    #[error("{}, line {line}: {why}; move the file away to begin anew, or cut it off before this line", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl Journal {
    /// Opens a directory, made where it is missing, and reads what is there. Nothing is written before
    /// [`begin`](Self::rewrite).
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
        Ok((Self { dir: dir.into(), file, begun: 0, size: 0, write_error: None, _lock: lock }, saved))
    }

    /// Replaces the file by one with this state, and appends to that from now on.
    pub(crate) fn rewrite(&mut self, lines: impl Iterator<Item = Vec<u8>>) {
        let begun = begin(&self.dir, lines);
        match begun {
            Ok((file, size)) => (self.file, self.begun, self.size) = (file, size, size),
            Err(error) => self.fail(&error),
        }
    }

    /// Hands a line to the system, so that it outlives this process.
    pub(crate) fn append(&mut self, line: &[u8]) {
        if self.write_error.is_some() {
            return;
        }
        match self.file.write_all(line) {
            Ok(()) => self.size += line.len() as u64,
            Err(error) => self.fail(&error),
        }
    }

    /// Whether the changes have outgrown the state they began with.
    pub(crate) fn is_long(&self) -> bool {
        self.size > 2 * self.begun + SLACK
    }

    pub(crate) fn write_error(&self) -> Option<&str> {
        self.write_error.as_deref()
    }

    fn fail(&mut self, error: &io::Error) {
        let why = format!("cannot write to the data directory {}: {error}", self.dir.display());
        tracing::error!("{why}; nothing more is written");
        self.write_error = Some(why);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // The system has it all; this is for the machine going down.
        drop(self.file.sync_data());
    }
}

fn begin(dir: &Path, lines: impl Iterator<Item = Vec<u8>>) -> io::Result<(File, u64)> {
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

/// Draws the records together. A last line that is not whole was not finished when the process ended, and is left out.
fn read(path: &Path, bytes: &[u8]) -> Result<PersistedState, DataError> {
    let mut saved = PersistedState::default();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let whole = line.strip_suffix(b"\n").ok_or_else(|| "it is not finished".to_string());
        let parsed = whole.and_then(JournalLine::read).and_then(|line| match (at, &line) {
            (0, JournalLine::Record(_)) => Err("it is not the head of a state file".into()),
            _ => Ok(line),
        });
        match parsed {
            Ok(JournalLine::Head(revision)) => saved.revision = saved.revision.max(revision),
            Ok(JournalLine::Record(record)) => saved.apply(record),
            Err(why) if at + 1 == lines.len() && at > 0 => {
                let (path, line) = (path.display(), at + 1);
                tracing::warn!("{path}: the last line ({line}) is left out: {why}; the change in it is lost");
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
        let place = (group, plural, key);
        match object {
            Some(object) => drop(self.objects.insert(place, object)),
            None => drop(self.objects.remove(&place)),
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
    fn changes_outlive_the_journal() {
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
    fn an_unfinished_end_is_left_out_and_other_damage_is_refused() {
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
