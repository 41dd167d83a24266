//! In-memory file systems, one per container.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read},
    sync::Arc,
};

use parking_lot::Mutex;

use super::Container;

/// The file systems of all containers.
#[derive(Clone, Debug, Default)]
pub(super) struct FileSystems(Arc<Mutex<BTreeMap<Container, FileSystem>>>);

/// Files and directories by absolute path without a trailing slash; `/` and `/tmp` always exist.
#[derive(Debug)]
pub(super) struct FileSystem(BTreeMap<String, FileEntry>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileEntry {
    File(Vec<u8>),
    Directory,
}

impl FileSystems {
    pub(super) fn with<T>(&self, container: &Container, work: impl FnOnce(&mut FileSystem) -> T) -> T {
        work(self.0.lock().entry(container.clone()).or_default())
    }

    pub(super) fn forget(&self, namespace: &str, pod: &str) {
        self.0.lock().retain(|container, _| container.namespace != namespace || container.pod != pod);
    }
}

impl Default for FileSystem {
    fn default() -> Self {
        Self(["/", "/tmp"].map(|path| (path.to_owned(), FileEntry::Directory)).into())
    }
}

impl FileSystem {
    pub(super) fn entry(&self, path: &str) -> Option<&FileEntry> {
        self.0.get(&absolute(path))
    }

    /// Writes a file and creates its parent directories.
    pub(super) fn write(&mut self, path: &str, content: Vec<u8>) {
        let path = absolute(path);
        self.make_parents(&path);
        self.0.insert(path, FileEntry::File(content));
    }

    pub(super) fn make_directory(&mut self, path: &str) {
        let path = absolute(path);
        self.make_parents(&path);
        self.0.entry(path).or_insert(FileEntry::Directory);
    }

    /// The names in a directory, or the path of a file; `None` when the path does not exist.
    pub(super) fn list(&self, path: &str) -> Option<Vec<String>> {
        let path = absolute(path);
        match self.0.get(&path)? {
            FileEntry::File(_) => Some(vec![path]),
            FileEntry::Directory => {
                let prefix = format!("{}/", path.trim_end_matches('/'));
                let below = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
                Some(below.filter(|rest| !rest.is_empty() && !rest.contains('/')).map(Into::into).collect())
            }
        }
    }

    /// Paths and everything below them as a tar archive. Relative paths, and their names, start at the directory; names have no leading
    /// slash, as with `tar`.
    pub(super) fn pack(&self, directory: &str, paths: &[&str]) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for path in paths {
            let (from, path) = match path.starts_with('/') {
                true => ("/".to_owned(), absolute(path)),
                false => (absolute(directory), absolute(&format!("{directory}/{path}"))),
            };
            self.append(&mut archive, from.trim_end_matches('/'), &path)?;
        }
        archive.into_inner()
    }

    fn append(&self, archive: &mut tar::Builder<Vec<u8>>, from: &str, path: &str) -> io::Result<()> {
        let missing = || io::Error::other(format!("{path}: Cannot stat: No such file or directory"));
        self.0.get(path).ok_or_else(missing)?;
        let below = format!("{}/", path.trim_end_matches('/'));
        for (name, entry) in self.0.iter().filter(|(name, _)| *name == path || name.starts_with(&below)) {
            // A path that leads out of the directory keeps its whole name.
            let name = name
                .strip_prefix(from)
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
                .unwrap_or(name);
            let name = name.trim_start_matches('/');
            if name.is_empty() {
                continue;
            }
            let mut header = tar::Header::new_gnu();
            match entry {
                FileEntry::File(content) => {
                    header.set_mode(0o644);
                    header.set_size(content.len() as u64);
                    archive.append_data(&mut header, name, content.as_slice())?;
                }
                FileEntry::Directory => {
                    header.set_mode(0o755);
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_size(0);
                    archive.append_data(&mut header, name, io::empty())?;
                }
            }
        }
        Ok(())
    }

    /// Extracts a tar archive into a directory.
    pub(super) fn unpack(&mut self, directory: &str, archive: &[u8]) -> io::Result<()> {
        for entry in tar::Archive::new(Cursor::new(archive)).entries()? {
            let mut entry = entry?;
            let path = format!("{directory}/{}", entry.path()?.display());
            match entry.header().entry_type() {
                tar::EntryType::Directory => self.make_directory(&path),
                _ => {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    self.write(&path, content);
                }
            }
        }
        Ok(())
    }

    fn make_parents(&mut self, path: &str) {
        for (at, _) in path.match_indices('/').skip(1) {
            self.0.entry(path[..at].to_owned()).or_insert(FileEntry::Directory);
        }
    }
}

/// Normalizes a path: absolute, without `.`, `..` and trailing slashes. Relative paths start at the root.
fn absolute(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_round_trip() {
        let mut disk = FileSystem::default();
        disk.write("/data/a.txt", b"one".to_vec());
        disk.write("data/deep/../deeper/b", b"two".to_vec());
        assert_eq!(disk.list("/data").unwrap(), ["a.txt", "deeper"]);
        let archive = disk.pack("/", &["/data/"]).unwrap();
        let mut other = FileSystem::default();
        other.unpack("/tmp", &archive).unwrap();
        assert_eq!(other.entry("/tmp/data/deeper/b"), Some(&FileEntry::File(b"two".to_vec())));
        assert_eq!(other.list("/tmp/data").unwrap(), ["a.txt", "deeper"]);
        let relative = disk.pack("/data", &["a.txt", "deeper"]).unwrap();
        other.unpack("/rel", &relative).unwrap();
        assert_eq!(other.list("/rel").unwrap(), ["a.txt", "deeper"]);
        other.unpack("/all", &disk.pack("data", &["."]).unwrap()).unwrap();
        assert_eq!(other.entry("/all/deeper/b"), Some(&FileEntry::File(b"two".to_vec())));
        assert!(disk.pack("/", &["/nowhere"]).unwrap_err().to_string().contains("/nowhere"));
        assert_eq!(disk.list("/nowhere"), None);
        assert!(other.unpack("/tmp", b"no archive at all, and far too short for one").is_err());
    }
}
