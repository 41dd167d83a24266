//! The objects in a file or a folder, as kubectl reads them; in a folder, without the files of kustomize.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use kube_tools::yaml::{Objects, ReadError};

/// What kustomize reads in a folder. kubectl refuses it for `-f`; a base has it beside its objects.
const KUSTOMIZATIONS: [&str; 2] = ["kustomization.yaml", "kustomization.yml"];

/// Reads one file, whatever its name, or the `.yaml`, `.yml` and `.json` files of a folder but its kustomization.
///
/// # Errors
/// As [`Objects::read`].
pub fn objects(path: &Path, recursive: bool) -> Result<Objects, ReadError> {
    let mut folders = Vec::new();
    add_folders(path, recursive, &mut folders).map_err(|source| io_error(path, source))?;
    if !folders.iter().any(|folder| KUSTOMIZATIONS.iter().any(|name| folder.join(name).is_file())) {
        return if recursive { Objects::read_recursive(path) } else { Objects::read(path) };
    }
    let mut objects = Objects::default();
    let mut count = 0;
    for folder in folders {
        for file in files(&folder).map_err(|source| io_error(&folder, source))? {
            objects.extend(Objects::read(file)?)?;
            count += 1;
        }
    }
    match count {
        0 => Err(ReadError::NoFiles { path: path.to_owned(), recursive }),
        _ => Ok(objects),
    }
}

/// The folders that are read: none for a file.
fn add_folders(path: &Path, recursive: bool, folders: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        return Ok(()); // also one that is not there: reading it says so
    }
    folders.push(path.to_owned());
    if recursive {
        for entry in sorted(path)? {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b"..");
            if entry.file_type()?.is_dir() && !is_hidden {
                add_folders(&entry.path(), recursive, folders)?;
            }
        }
    }
    Ok(())
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = sorted(folder)?.into_iter().map(|entry| entry.path());
    let is_read = |path: &PathBuf| {
        let is_kustomization =
            path.file_name().is_some_and(|name| KUSTOMIZATIONS.iter().any(|it| name == *it));
        let extension = path.extension().and_then(OsStr::to_str);
        extension.is_some_and(|it| ["yaml", "yml", "json"].contains(&it))
            && !is_kustomization
            && !path.is_dir()
    };
    Ok(paths.filter(is_read).collect())
}

fn sorted(folder: &Path) -> io::Result<Vec<std::fs::DirEntry>> {
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    Ok(entries)
}

fn io_error(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::ResourceExt;

    #[test]
    fn the_files_of_kustomize_are_passed_over_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
        let map = |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n");
        for folder in ["base", "base/more", "base/..old", "empty"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        write("base/kustomization.yaml", "kind: Kustomization\nresources: [b.yaml]\n");
        write("empty/kustomization.yml", "resources: []\n");
        write("base/b.yaml", &map("b"));
        write("base/a.json", &map("a"));
        write("base/notes.txt", "no object");
        write("base/more/c.yml", &map("c"));
        write("base/..old/d.yml", &map("d"));
        let read = |name: &str, recursive| {
            let objects = objects(&home.path().join(name), recursive)?;
            Ok::<_, ReadError>(objects.iter().map(ResourceExt::name_any).collect::<Vec<_>>())
        };
        assert_eq!(read("base", false).unwrap(), ["a", "b"]);
        assert_eq!(read("base", true).unwrap(), ["a", "b", "c"]);
        assert_eq!(read("base/b.yaml", false).unwrap(), ["b"]);
        assert!(matches!(read("empty", false), Err(ReadError::NoFiles { recursive: false, .. })));
        assert!(matches!(read("nowhere", true), Err(ReadError::Io { .. })));
        // Whoever names the file wants it read.
        let refused = read("base/kustomization.yaml", false).unwrap_err().to_string();
        assert!(refused.contains("kustomization.yaml, document 1"), "{refused}");
        write("base/e.yaml", "kind: Other\n");
        assert!(read("base", false).unwrap_err().to_string().contains("e.yaml, document 1"));
    }
}
