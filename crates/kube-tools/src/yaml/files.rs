//! Which files of a path are read: kubectl's rules for `-f` and `--recursive`.

use std::path::{Path, PathBuf};

use super::error::ReadError;

/// The file itself, whatever its name; of a directory the files with one of [`EXTENSIONS`], in the order of their paths.
pub(super) fn files_of(path: &Path, recursive: bool) -> Result<Vec<PathBuf>, ReadError> {
    // This follows symbolic links, as mounted ConfigMaps have them.
    let metadata = std::fs::metadata(path).map_err(|err| unreadable(path, err))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    add_files(path, recursive, &mut files)?;
    match files.is_empty() {
        true => Err(ReadError::NoFiles { path: path.to_owned(), recursive }),
        false => Ok(files),
    }
}

/// As by kubectl, a symbolic link to a directory is not followed, so there is no circle. Other than by kubectl, directories whose names
/// begin with `..` are left out: a mounted ConfigMap has its files in one, and a link to each beside it.
fn add_files(directory: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let entries = std::fs::read_dir(directory).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|err| unreadable(directory, err))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_dir = entry.file_type().map_err(|err| unreadable(&path, err))?.is_dir();
        if is_dir && recursive && !entry.file_name().as_encoded_bytes().starts_with(b"..") {
            add_files(&path, recursive, files)?;
        } else if !is_dir && has_extension(&path) && !path.is_dir() {
            files.push(path);
        }
    }
    Ok(())
}

fn has_extension(path: &Path) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|name| EXTENSIONS.contains(&name))
}

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

pub(super) fn unreadable(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source }
}
