//! Where an entry of an archive from a container may be written to: the rules of `kubectl cp`. No I/O.
//!
//! The container is not trusted: its `tar` may send any names. An entry has to be below the requested path, and is written below the local
//! target: never by an absolute path, by `..` or by a drive letter.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The path that was requested of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requested {
    /// What `tar` is called with.
    pub(super) argument: String,
    /// The names with which its entries begin: `tar` cuts off the root, and all up to the last `..`.
    prefix: Vec<String>,
}

/// Why an entry is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// Only this entry: it would be outside of the target.
    Outside,
    /// The archive: it is not that of the requested path.
    NotRequested,
}

impl Requested {
    pub(super) fn new(path: &str) -> Self {
        let trimmed = path.trim_end_matches('/');
        let mut prefix = Vec::new();
        for name in trimmed.split('/') {
            match name {
                "" | "." => {}
                ".." => prefix.clear(),
                name => prefix.push(name.to_owned()),
            }
        }
        Self {
            argument: argument(if trimmed.is_empty() && !path.is_empty() { "/" } else { trimmed }),
            prefix,
        }
    }

    /// The name of the file or directory; `None` for `/`, `.` and `..`.
    pub(super) fn name(&self) -> Option<&str> {
        self.prefix.last().map(String::as_str)
    }

    /// The place of an entry below the target; empty for the target itself.
    pub(super) fn place(&self, entry: &Path) -> Result<PathBuf, Rejected> {
        let mut names: Vec<OsString> = Vec::new();
        let mut climbs = false;
        for component in entry.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => names.push(name.to_owned()),
                Component::ParentDir => climbs = true,
                Component::RootDir | Component::Prefix(_) => return Err(Rejected::NotRequested),
            }
        }
        let begins =
            self.prefix.len() <= names.len() && self.prefix.iter().zip(&names).all(|(a, b)| b == a.as_str());
        if climbs {
            return Err(if begins { Rejected::Outside } else { Rejected::NotRequested });
        }
        if !begins {
            return Err(Rejected::NotRequested);
        }
        Ok(names[self.prefix.len()..].iter().collect())
    }
}

/// A path that programs do not take for an option.
pub(super) fn argument(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

/// A path in a container as its directory and its name; `None` without a name.
pub(super) fn split(path: &str) -> Option<(String, String)> {
    let trimmed = path.trim_end_matches('/');
    let (directory, name) = match trimmed.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(split) => split,
        None => (".", trimmed),
    };
    (!matches!(name, "" | "." | "..")).then(|| (argument(directory), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(requested: &str, entry: &str) -> Result<PathBuf, Rejected> {
        Requested::new(requested).place(Path::new(entry))
    }

    #[test]
    fn entries_are_placed_below_the_requested_path() {
        for (requested, entry, expected) in [
            ("/data", "data", ""),
            ("/data", "data/a", "a"),
            ("/data/", "data/./deep//b/", "deep/b"),
            ("data", "./data/a", "a"),
            ("/var/log", "var/log/x", "x"),
            (".", "./a", "a"),
            (".", "./", ""),
            ("/", "bin/sh", "bin/sh"),
            ("../x", "x/a", "a"),
            ("/a/../etc", "etc/hosts", "hosts"),
            ("/data", "data/..a", "..a"),
        ] {
            assert_eq!(place(requested, entry), Ok(PathBuf::from(expected)), "{requested} {entry}");
        }
    }

    #[test]
    fn entries_elsewhere_are_rejected() {
        for (requested, entry, expected) in [
            ("/data", "data/../../etc/passwd", Rejected::Outside),
            ("/data", "data/a/../b", Rejected::Outside),
            (".", "../x", Rejected::Outside),
            ("/data", "../data/x", Rejected::Outside),
            ("/data", "/data/x", Rejected::NotRequested),
            ("/", "/etc/passwd", Rejected::NotRequested),
            ("/data", "database/x", Rejected::NotRequested),
            ("/data", "other", Rejected::NotRequested),
            ("/data/deep", "data", Rejected::NotRequested),
            ("/data", "../etc/passwd", Rejected::NotRequested),
        ] {
            assert_eq!(place(requested, entry), Err(expected), "{requested} {entry}");
        }
    }

    #[test]
    fn a_target_in_a_container_has_a_directory_and_a_name() {
        let parts = |path| split(path).map(|(directory, name)| format!("{directory} {name}"));
        assert_eq!(parts("/data/a").as_deref(), Some("/data a"));
        assert_eq!(parts("/a/").as_deref(), Some("/ a"));
        assert_eq!(parts("a").as_deref(), Some(". a"));
        assert_eq!(parts("-x/a").as_deref(), Some("./-x a"));
        for path in ["", "/", ".", "..", "/a/.."] {
            assert_eq!(parts(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_is_no_option() {
        assert_eq!(Requested::new("--checkpoint-action=exec=sh").argument, "./--checkpoint-action=exec=sh");
        assert_eq!(Requested::new("/").argument, "/");
    }

    proptest! {
        /// Whatever a container sends, what is placed stays below the target.
        #[test]
        fn what_is_placed_is_below_the_target(
            requested in "[a/.]{0,6}",
            entry in prop::collection::vec(prop_oneof![
                Just("..".to_owned()), Just(".".to_owned()), Just(String::new()), Just("a".to_owned()),
                Just("C:".to_owned()), Just("\\..\\x".to_owned()), "[a-z.]{1,3}",
            ], 0..8),
        ) {
            if let Ok(place) = place(&requested, &entry.join("/")) {
                prop_assert!(place.components().all(|part| matches!(part, Component::Normal(_))), "{place:?}");
                prop_assert!(Path::new("/target").join(&place).starts_with("/target"));
            }
        }
    }
}
