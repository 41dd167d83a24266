//! The files of a project, before and after a command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All files below a folder.
pub(crate) fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            found.insert(path.clone(), std::fs::read_to_string(&path).expect("a text"));
        }
    }
    found
}
