//! [`Files`]: generated files, which are written all or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::Error;
use kube_client::new_file::has_text;

use crate::batch::{Batch, Refused};

/// In the directory: the files of the last run, so that those of kinds that no longer exist are removed, and no other file is.
const LIST: &str = ".cargo-kube-gen";

/// The files of a run, by their paths below the directory of the run.
#[derive(Clone, Debug)]
pub struct Files {
    texts: BTreeMap<PathBuf, String>,
    kinds: Vec<Kind>,
    types: usize,
}

/// A version of a kind in the generated files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kind {
    /// The name of the definition, such as `pages.example.com`.
    pub crd: String,
    /// The name of the version, such as `v1`.
    pub version: String,
    /// The path of the struct below the module of the run, such as `example_com::page::v1::Page`.
    pub path: String,
}

impl Files {
    pub(super) fn new(texts: BTreeMap<PathBuf, String>, kinds: Vec<Kind>, types: usize) -> Self {
        Self { texts, kinds, types }
    }

    /// The paths and texts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: impl AsRef<Path>) -> Option<&str> {
        self.texts.get(path.as_ref()).map(String::as_str)
    }

    /// The versions of all kinds.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The number of structs and enums, without those that the derive makes of each kind.
    #[must_use]
    pub fn types(&self) -> usize {
        self.types
    }

    /// Writes the files to `directory`, which is made if it does not exist.
    ///
    /// Each file is written under a temporary name first and renamed when all of them are complete, so that no file is ever partial. Files
    /// that have the text already are not touched, so Cargo does not build them again. Files of an earlier run that this one does not have
    /// are removed.
    ///
    /// # Errors
    /// [`Error::Foreign`] if it would overwrite a file that is not of an earlier run; [`Error::Io`]. In both cases no file has changed,
    /// unless a renaming failed: then the same call finishes the work.
    pub fn write(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = directory.as_ref();
        let earlier = listed(directory)?;
        let own: BTreeSet<PathBuf> = self.texts.keys().cloned().collect();
        // Renamed first: from then on the list has every file that may exist.
        let mut changed: Vec<_> =
            changed_list(directory, &own.union(&earlier).cloned().collect())?.into_iter().collect();
        for (path, text) in &self.texts {
            let target = directory.join(path);
            let present = read(&target)?;
            if present.as_deref().is_some_and(|present| has_text(present, text)) {
                continue;
            }
            if present.is_some() && !earlier.contains(path) {
                return Err(Error::Foreign { path: target });
            }
            changed.push((target, text.clone()));
        }
        let mut batch = Batch::default();
        for (target, text) in changed {
            batch.add(&target, text.as_bytes())?;
        }
        earlier.difference(&own).for_each(|path| batch.remove(directory.join(path)));
        batch.apply()?;
        // Directories of groups without kinds.
        let parents = earlier.difference(&own).filter_map(|path| path.parent());
        for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
            let _ = std::fs::remove_dir(directory.join(parent));
        }
        let mut batch = Batch::default();
        if let Some((target, text)) = changed_list(directory, &own)? {
            batch.add(&target, text.as_bytes())?;
        }
        Ok(batch.apply()?)
    }

    /// Compares the files with those in `directory`, and writes nothing: for CI.
    ///
    /// # Errors
    /// [`Error::OutOfDate`] with all paths that [`write`](Self::write) would change; [`Error::Io`].
    pub fn check(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = directory.as_ref();
        let mut paths = Vec::new();
        for (path, text) in &self.texts {
            let target = directory.join(path);
            if !read(&target)?.is_some_and(|present| has_text(&present, text)) {
                paths.push(target);
            }
        }
        let stale = listed(directory)?.into_iter().filter(|path| !self.texts.contains_key(path));
        paths.extend(stale.map(|path| directory.join(path)));
        if paths.is_empty() { Ok(()) } else { Err(Error::OutOfDate { paths }) }
    }
}

/// The files of the last run; those with a path that leaves the directory are not ours.
fn listed(directory: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let text = read(&directory.join(LIST))?.unwrap_or_default();
    let lines = String::from_utf8_lossy(&text).lines().map(PathBuf::from).collect::<Vec<_>>();
    let inside =
        |path: &PathBuf| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    Ok(lines.into_iter().filter(|path| !path.as_os_str().is_empty() && inside(path)).collect())
}

/// The list and its text, unless it has these paths already.
fn changed_list(directory: &Path, paths: &BTreeSet<PathBuf>) -> Result<Option<(PathBuf, String)>, Error> {
    // With `/` everywhere: teams share the file between operating systems.
    let line =
        |path: &PathBuf| path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/") + "\n";
    let text: String = paths.iter().map(line).collect();
    let target = directory.join(LIST);
    let is_same = read(&target)?.is_some_and(|present| has_text(&present, &text));
    Ok((!is_same).then_some((target, text)))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        Err(err) => Err(io(path, err)),
    }
}

impl From<Refused> for Error {
    fn from(Refused { path, source }: Refused) -> Self {
        Self::Io { path, source }
    }
}

fn io(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Files {
        let texts = texts.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        Files::new(texts, Vec::new(), 0)
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort();
        names
    }

    #[test]
    fn stale_files_are_removed_and_unchanged_ones_not_touched() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        files(&[("mod.rs", "a"), ("a/b.rs", "b"), ("c/d.rs", "d")]).write(&target).unwrap();
        std::fs::write(target.join("mine.rs"), "mine").unwrap();
        let before = std::fs::metadata(target.join("mod.rs")).unwrap().modified().unwrap();
        let later = files(&[("mod.rs", "a"), ("a/b.rs", "changed")]);
        let err = later.check(&target).unwrap_err().to_string();
        let path = |name: &str| target.join(name).display().to_string();
        assert_eq!(err, format!("out of date: {}, {}", path("a/b.rs"), path("c/d.rs")));
        later.write(&target).unwrap();
        later.check(&target).unwrap();
        assert_eq!(names(&target), [".cargo-kube-gen", "a", "mine.rs", "mod.rs"]);
        assert_eq!(std::fs::read_to_string(target.join("a/b.rs")).unwrap(), "changed");
        assert_eq!(std::fs::metadata(target.join("mod.rs")).unwrap().modified().unwrap(), before);
    }

    #[test]
    fn line_ends_of_windows_are_no_difference() {
        let home = tempfile::tempdir().unwrap();
        let generated = files(&[("mod.rs", "a\nb\n")]);
        generated.write(home.path()).unwrap();
        for name in ["mod.rs", LIST] {
            let path = home.path().join(name);
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace('\n', "\r\n")).unwrap();
        }
        generated.check(home.path()).unwrap();
        generated.write(home.path()).unwrap();
        assert_eq!(std::fs::read_to_string(home.path().join("mod.rs")).unwrap(), "a\r\nb\r\n", "not touched");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_the_user_stays() {
        let home = tempfile::tempdir().unwrap();
        let (shared, out) = (home.path().join("shared.rs"), home.path().join("out"));
        files(&[("a.rs", "a")]).write(&out).unwrap();
        std::fs::rename(out.join("a.rs"), &shared).unwrap();
        std::os::unix::fs::symlink("../shared.rs", out.join("a.rs")).unwrap();
        files(&[("a.rs", "changed")]).write(&out).unwrap();
        assert!(out.join("a.rs").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(shared).unwrap(), "changed");
    }

    #[test]
    fn a_file_of_the_program_stops_the_run_before_anything_is_written() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("z.rs"), "mine").unwrap();
        let err = files(&[("a.rs", "a"), ("z.rs", "z")]).write(home.path()).unwrap_err().to_string();
        assert!(err.contains("z.rs: exists and is not a file of `cargo kube gen`"), "{err}");
        assert_eq!(names(home.path()), ["z.rs"]);
        assert_eq!(std::fs::read_to_string(home.path().join("z.rs")).unwrap(), "mine");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_others_as_they_were() {
        let home = tempfile::tempdir().unwrap();
        files(&[("a.rs", "a")]).write(home.path()).unwrap();
        std::fs::write(home.path().join("dir"), "a file where a directory is needed").unwrap();
        let later = files(&[("a.rs", "changed"), ("dir/b.rs", "b")]);
        assert!(matches!(later.write(home.path()), Err(Error::Io { .. })));
        assert_eq!(std::fs::read_to_string(home.path().join("a.rs")).unwrap(), "a");
        assert_eq!(names(home.path()), [".cargo-kube-gen", "a.rs", "dir"]);
    }

    #[test]
    fn the_list_never_names_files_outside() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("outside.rs");
        std::fs::write(&outside, "").unwrap();
        let target = home.path().join("out");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join(LIST), format!("../outside.rs\n{}\n", outside.display())).unwrap();
        files(&[("a.rs", "a")]).write(&target).unwrap();
        assert!(outside.exists());
    }
}
