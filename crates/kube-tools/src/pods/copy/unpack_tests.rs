//! Archives of well-meaning and of hostile containers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tar::{Builder, Header};
use tokio::sync::watch;

use super::*;
use crate::pods::copy::progress::{Copied, CopyProgress};

/// An archive with any names, which `tar` would refuse to write.
struct Raw(Builder<Vec<u8>>);

impl Default for Raw {
    fn default() -> Self {
        Self(Builder::new(Vec::new()))
    }
}

impl Raw {
    fn entry(&mut self, kind: EntryType, name: &str, link: &str, content: &[u8]) -> &mut Self {
        let mut header = Header::new_gnu();
        let gnu = header.as_gnu_mut().unwrap();
        gnu.name[..name.len()].copy_from_slice(name.as_bytes());
        gnu.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o6754);
        header.set_mtime(1_700_000_000);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(&mut self, name: &str, content: &[u8]) -> &mut Self {
        self.entry(EntryType::Regular, name, "", content)
    }

    fn directory(&mut self, name: &str) -> &mut Self {
        self.entry(EntryType::Directory, name, "", b"")
    }

    fn link(&mut self, name: &str, to: &str) -> &mut Self {
        self.entry(EntryType::Symlink, name, to, b"")
    }

    /// A hole, and five bytes behind it, which end there.
    fn sparse(&mut self, name: &str, end: u64) -> &mut Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNUSparse);
        header.set_mode(0o640);
        header.set_mtime(1_700_000_000);
        header.set_path(name).unwrap();
        header.set_size(5);
        let gnu = header.as_gnu_mut().unwrap();
        let octal = |number: u64| -> [u8; 12] { format!("{number:011o}\0").as_bytes().try_into().unwrap() };
        (gnu.sparse[0].offset, gnu.sparse[0].numbytes) = (octal(end - 5), octal(5));
        gnu.set_real_size(end);
        header.set_cksum();
        self.0.append(&header, &b"hello"[..]).unwrap();
        self
    }

    fn bytes(&mut self) -> Vec<u8> {
        std::mem::take(self).0.into_inner().unwrap()
    }
}

fn unpack_to(target: &Path, requested: &str, archive: &[u8]) -> (Result<(), CopyErrorKind>, Copied) {
    let counter = Counter::new(None);
    let unpacker = Unpacker {
        requested: Requested::new(requested),
        target: target.to_owned(),
        preserve: true,
        counter: counter.clone(),
    };
    (unpacker.unpack(archive), counter.copied())
}

/// All files and links below a folder, with what they contain.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut contents = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                contents.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                waiting.push(path);
            } else {
                contents.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    contents
}

fn texts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn files_and_directories_keep_modes_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/copy");
    let archive = Raw::default()
        .directory("data/")
        .file("data/a", b"one")
        .directory("data/empty/")
        .file("data/deep/b", b"two")
        .bytes();
    let (result, copied) = unpack_to(&target, "/data", &archive);
    result.unwrap();
    assert_eq!((copied.files, copied.directories, copied.bytes, copied.skipped_count), (2, 2, 6, 0));
    assert_eq!(tree(&target), texts(&[("a", "one"), ("deep/b", "two")]));
    assert!(target.join("empty").is_dir());
    for path in ["a", "empty", ""] {
        let metadata = target.join(path).metadata().unwrap();
        let modified = metadata.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(modified.as_secs(), 1_700_000_000, "{path}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(metadata.permissions().mode() & 0o7777, 0o754, "{path}: no set-user-ID");
        }
    }
}

#[test]
fn a_file_becomes_the_target_and_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy");
    fs::write(&target, "a longer text").unwrap();
    let (result, copied) =
        unpack_to(&target, "/etc/hosts", &Raw::default().file("etc/hosts", b"new").bytes());
    result.unwrap();
    assert_eq!((fs::read_to_string(&target).unwrap().as_str(), copied.files), ("new", 1));
}

#[test]
fn what_leaves_the_target_is_skipped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy");
    let archive = Raw::default()
        .file("data/good", b"1")
        .file("data/../../evil", b"2")
        .link("data/link", "../../evil")
        .file("data/link/x", b"3")
        .entry(EntryType::Fifo, "data/fifo", "", b"")
        .entry(EntryType::Link, "data/hard", "data/../../secret", b"")
        .bytes();
    let (result, copied) = unpack_to(&target, "/data", &archive);
    result.unwrap();
    // No link was created, so what is behind its name is an ordinary file.
    assert_eq!(tree(folder.path()), texts(&[("copy/good", "1"), ("copy/link/x", "3")]));
    let skipped: Vec<String> =
        copied.skipped.iter().map(|s| format!("{}: {}", s.path.display(), s.reason)).collect();
    let expected = [
        "data/../../evil: outside of the target",
        "data/link: a symbolic link to ../../evil",
        "data/fifo: neither a file nor a directory",
        "data/../../secret: outside of the target",
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn another_archive_than_the_requested_one_is_an_error() {
    for name in ["/etc/passwd", "other/x", "../data/x"] {
        let folder = tempfile::tempdir().unwrap();
        let archive = Raw::default().file("data/a", b"1").file(name, b"2").bytes();
        let (result, copied) = unpack_to(&folder.path().join("copy"), "/data", &archive);
        match (name, result) {
            ("../data/x", result) => assert_eq!((result.unwrap(), copied.skipped_count), ((), 1)),
            (_, result) => {
                let err = result.unwrap_err().to_string();
                assert!(err.contains(&format!("corrupted: {name} is not below /data")), "{err}");
            }
        }
        assert_eq!(tree(folder.path()), texts(&[("copy/a", "1")]));
    }
}

#[cfg(unix)]
#[test]
fn local_links_below_the_target_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, outside) = (folder.path().join("copy"), folder.path().join("outside"));
    fs::create_dir_all(&target).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    std::os::unix::fs::symlink(&outside, target.join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.join("kept"), target.join("file")).unwrap();
    let archive = Raw::default().file("data/dir/x", b"1").file("data/file", b"2").bytes();
    let (result, copied) = unpack_to(&target, "/data", &archive);
    result.unwrap();
    assert_eq!(tree(&outside), texts(&[("kept", "kept")]));
    assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "2");
    assert!(!target.join("file").is_symlink());
    assert!(copied.skipped[0].reason.starts_with("behind the local link"), "{copied:?}");
}

#[test]
fn a_hard_link_is_the_file_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Raw::default()
        .file("data/a", b"one")
        .entry(EntryType::Link, "data/b", "data/a", b"")
        .entry(EntryType::Link, "data/c", "data/none", b"")
        .bytes();
    let (result, copied) = unpack_to(folder.path(), "data", &archive);
    result.unwrap();
    assert_eq!(tree(folder.path()), texts(&[("a", "one"), ("b", "one")]));
    assert_eq!((copied.files, copied.skipped_count), (2, 1));
}

#[test]
fn a_hard_link_to_a_file_that_was_there_before_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "mine").unwrap();
    let archive = Raw::default()
        .entry(EntryType::Link, "data/second", "data/mine", b"")
        .file("data/second", b"evil")
        .bytes();
    let (result, copied) = unpack_to(folder.path(), "data", &archive);
    result.unwrap();
    assert_eq!(tree(folder.path()), texts(&[("mine", "mine"), ("second", "evil")]));
    assert_eq!((copied.files, copied.skipped_count), (1, 1));
    assert_eq!(copied.skipped[0].reason, "a hard link to data/mine, which was not copied");
}

#[cfg(unix)]
#[test]
fn a_second_copy_replaces_read_only_files_and_leaves_their_other_names_alone() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let folder = tempfile::tempdir().unwrap();
    let (target, other) = (folder.path().join("copy"), folder.path().join("other"));
    let archive = |text: &[u8]| {
        let header = |kind, name: &str, mode, content: &[u8]| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(content.len() as u64);
            header.set_path(name).unwrap();
            header.set_cksum();
            header
        };
        let mut raw = Builder::new(Vec::new());
        raw.append(&header(EntryType::Directory, "data/", 0o555, b""), &b""[..]).unwrap();
        raw.append(&header(EntryType::Regular, "data/a", 0o444, text), text).unwrap();
        raw.append(&header(EntryType::Regular, "data/b", 0o444, text), text).unwrap();
        let mut link = header(EntryType::Link, "data/c", 0o444, b"");
        link.set_link_name("data/a").unwrap();
        link.set_cksum();
        raw.append(&link, &b""[..]).unwrap();
        raw.into_inner().unwrap()
    };
    unpack_to(&target, "/data", &archive(b"one")).0.unwrap();
    fs::hard_link(target.join("a"), &other).unwrap();
    let inode = target.join("a").metadata().unwrap().ino();
    let (result, copied) = unpack_to(&target, "/data", &archive(b"two"));
    result.unwrap();
    assert_eq!((copied.files, copied.skipped_count), (3, 0));
    assert_eq!(tree(&target), texts(&[("a", "two"), ("b", "two"), ("c", "two")]));
    assert_eq!(fs::read_to_string(&other).unwrap(), "one", "the other name keeps its content");
    assert_ne!(target.join("a").metadata().unwrap().ino(), inode);
    assert_eq!(target.join("a").metadata().unwrap().ino(), target.join("c").metadata().unwrap().ino());
    for (path, mode) in [("", 0o555), ("a", 0o444)] {
        assert_eq!(target.join(path).metadata().unwrap().permissions().mode() & 0o777, mode, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_the_caller_has_chosen_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (link, real) = (folder.path().join("link"), folder.path().join("real"));
    std::os::unix::fs::symlink("real", &link).unwrap();
    for text in ["one", "two"] {
        unpack_to(&link, "/x", &Raw::default().file("x", text.as_bytes()).bytes()).0.unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), text);
    }
}

#[cfg(unix)]
#[test]
fn the_holes_of_a_sparse_file_take_no_space() {
    use std::os::unix::fs::MetadataExt;

    let folder = tempfile::tempdir().unwrap();
    let sparse = |end: u64| Raw::default().sparse("data/sparse", end).file("data/after", b"1").bytes();
    // No more than the octal form of an offset has room for.
    let end = (8 << 30) - 1;
    let (result, copied) = unpack_to(folder.path(), "data", &sparse(end));
    result.unwrap();
    assert_eq!((copied.files, copied.bytes), (2, 6));
    let metadata = folder.path().join("sparse").metadata().unwrap();
    assert_eq!((metadata.len(), metadata.mode() & 0o777), (end, 0o640));
    assert!(metadata.blocks() * 512 < 1 << 20, "{} blocks", metadata.blocks());
}

/// Sparse files, which `tar` makes anew, and directories that an earlier copy has closed.
#[cfg(unix)]
#[test]
fn without_preserve_times_and_permissions_are_those_of_this_side() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let unpack = || {
        let counter = Counter::new(None);
        let (requested, target) = (Requested::new("data"), folder.path().to_owned());
        let unpacker = Unpacker { requested, target, preserve: false, counter };
        let mut raw = Raw::default();
        raw.directory("data/closed").file("data/closed/a", b"one").sparse("data/sparse", 10);
        unpacker.unpack(&raw.bytes()[..]).unwrap();
    };
    let (closed, sparse) = (folder.path().join("closed"), folder.path().join("sparse"));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    unpack();
    assert_eq!(mode(&sparse), mode(&closed.join("a")), "not the mode of the entry");
    assert!(sparse.metadata().unwrap().modified().unwrap().elapsed().unwrap().as_secs() < 3600);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(&sparse, fs::Permissions::from_mode(0o604)).unwrap();
    unpack();
    assert_eq!((mode(&closed), mode(&sparse)), (0o555, 0o604));
    assert_eq!(fs::read_to_string(closed.join("a")).unwrap(), "one");
}

#[test]
fn a_file_that_was_cut_off_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Raw::default().file("data/a", b"one").file("data/b", &[b'x'; 5000]).bytes();
    let (result, copied) = unpack_to(folder.path(), "data", &archive[..3000]);
    assert!(matches!(result, Err(CopyErrorKind::Archive(_))), "{result:?}");
    // Nor is there any other file.
    assert_eq!(tree(folder.path()), texts(&[("a", "one")]));
    assert_eq!(copied.files, 1);
    fs::write(folder.path().join("b"), "old").unwrap();
    assert!(unpack_to(folder.path(), "data", &archive[..3000]).0.is_err());
    assert_eq!(
        tree(folder.path()),
        texts(&[("a", "one"), ("b", "old")]),
        "the old file stays until the new one is whole"
    );
    for garbage in [&b"no archive"[..], &[b'x'; 2000]] {
        assert!(matches!(unpack_to(folder.path(), "data", garbage).0, Err(CopyErrorKind::Archive(_))));
    }
}

#[test]
fn an_archive_of_a_link_alone_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy");
    let (result, _) = unpack_to(&target, "/data", &Raw::default().link("data", "/other").bytes());
    assert_eq!(result.unwrap_err().to_string(), "nothing was copied: data is a symbolic link to /other");
    assert!(!target.exists());
    let (result, _) = unpack_to(&target, "/data", &Raw::default().bytes());
    assert_eq!(
        result.unwrap_err().to_string(),
        "nothing was copied: the archive from the container is empty"
    );
}

#[test]
fn a_local_file_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let (result, _) = unpack_to(folder.path(), "data", &Raw::default().file("data/a", b"one").bytes());
    let err = result.unwrap_err().to_string();
    assert!(err.starts_with(&format!("{}: ", folder.path().join("a").display())), "{err}");
}

#[test]
fn the_progress_counts_files_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, progress) = watch::channel(CopyProgress::default());
    let unpacker = Unpacker {
        requested: Requested::new("data"),
        target: folder.path().join("copy"),
        preserve: false,
        counter: Counter::new(Some(sender)),
    };
    unpacker.unpack(&Raw::default().file("data/a", &[b'x'; 100_000]).bytes()[..]).unwrap();
    assert_eq!(*progress.borrow(), CopyProgress { files: 1, bytes: 100_000 });
}

fn hostile_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => Just("data".to_owned()),
        2 => Just("..".to_owned()),
        1 => Just(String::new()),
        1 => Just(".".to_owned()),
        3 => "[ab]",
        1 => Just("link".to_owned()),
        1 => Just("out".to_owned()),
    ];
    (any::<bool>(), prop::collection::vec(part, 1..5))
        .prop_map(|(below, parts)| if below { format!("data/{}", parts.join("/")) } else { parts.join("/") })
}

fn entry_type() -> impl Strategy<Value = EntryType> {
    prop_oneof![
        3 => Just(EntryType::Regular),
        2 => Just(EntryType::Directory),
        2 => Just(EntryType::Symlink),
        2 => Just(EntryType::Link),
        1 => Just(EntryType::Fifo),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever names, links and types a container sends, and whatever links were there before: nothing outside of the target changes.
    #[test]
    fn nothing_outside_of_the_target_changes(
        entries in prop::collection::vec((entry_type(), hostile_name(), hostile_name()), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (target, outside) = (folder.path().join("target"), folder.path().join("out"));
        fs::create_dir_all(&target).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("a"), "kept").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, target.join("link")).unwrap();
        let mut raw = Raw::default();
        for (kind, name, link) in &entries {
            raw.entry(*kind, name, link, if *kind == EntryType::Regular { b"evil" } else { b"" });
        }
        let _ = unpack_to(&target, "/data", &raw.bytes());
        prop_assert_eq!(tree(&outside), texts(&[("a", "kept")]));
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        prop_assert_eq!(names, ["out", "target"]);
        // No link was created.
        let links = tree(&target).into_iter().filter(|(name, text)| text.starts_with("-> ") && name != "link").count();
        prop_assert_eq!(links, 0);
    }
}
