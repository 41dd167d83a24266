//! Archives of local files.

use tar::Archive;

use super::*;

/// Type, name, mode, link and content of each entry.
type Entries = Vec<(EntryType, String, u32, String, String)>;

fn packed(local: &Path, name: &str) -> (Result<(), CopyErrorKind>, Entries, Counter) {
    let (mut archive, counter) = (Vec::new(), Counter::new(None));
    let result = pack(local, name, &counter, &mut archive);
    let mut entries = Vec::new();
    if result.is_ok() {
        for entry in Archive::new(&archive[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let link = entry.link_name().unwrap().unwrap_or_default().display().to_string();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let name = entry.path().unwrap().display().to_string();
            entries.push((entry.header().entry_type(), name, header.mode().unwrap(), link, content));
        }
    }
    (result, entries, counter)
}

#[cfg(unix)]
#[test]
fn a_directory_is_packed_with_its_links_and_modes_under_its_new_name() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("deep")).unwrap();
    fs::write(root.join("deep/b"), "two").unwrap();
    fs::write(root.join("a"), "one").unwrap();
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o4750)).unwrap();
    symlink("../../elsewhere", root.join("link")).unwrap();
    symlink("deep", root.join("linked")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let (result, entries, counter) = packed(root, "new");
    result.unwrap();
    let lines: Vec<String> =
        entries.iter().map(|(kind, name, _, link, text)| format!("{kind:?} {name} {link} {text}")).collect();
    assert_eq!(
        lines,
        [
            "Directory new  ",
            "Regular new/a  one",
            "Directory new/deep  ",
            "Regular new/deep/b  two",
            "Symlink new/link ../../elsewhere ",
            "Symlink new/linked deep ",
        ]
    );
    assert_eq!(entries[1].2, 0o750);
    let copied = counter.copied();
    assert_eq!((copied.files, copied.directories, copied.links, copied.bytes), (2, 2, 2, 6));
    assert!(copied.skipped[0].path.ends_with("socket"));
}

#[test]
fn names_of_any_length_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(200);
    fs::write(folder.path().join(&name), "x").unwrap();
    let (result, entries, _) = packed(folder.path(), &"d".repeat(90));
    result.unwrap();
    assert_eq!(entries[1].1, format!("{}/{name}", "d".repeat(90)));
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (result, ..) = packed(&folder.path().join("none"), "x");
    assert!(result.unwrap_err().to_string().contains("none: "));
}

#[test]
fn a_file_that_became_shorter_is_an_error_and_a_longer_one_is_cut() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "abcdef").unwrap();
    let counter = Counter::new(None);
    let contents = |left| Contents { file: File::open(file.path()).unwrap(), left, counter: &counter };
    let mut text = String::new();
    contents(3).read_to_string(&mut text).unwrap();
    assert_eq!(text, "abc");
    assert!(contents(9).read_to_string(&mut text).is_err());
}
