//! The files of a project on disk: read, and written all or none.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cargo_kube::batch::Batch;

use super::templates::Files;

/// The folder of the project: the current one, or the nearest above with a Cargo.toml. With the text of that file.
pub(in crate::cli) fn find() -> Result<(PathBuf, String)> {
    let current = std::env::current_dir().context("the current folder")?;
    for folder in current.ancestors() {
        let path = folder.join("Cargo.toml");
        if let Some(text) = read_one(&path)? {
            return Ok((folder.to_owned(), text));
        }
    }
    bail!("{}: expected a project, with Cargo.toml here or in a folder above", current.display())
}

/// Those of the files that exist, with the line ends of the templates and without a byte order mark.
pub(super) fn read<'a>(root: &Path, paths: impl Iterator<Item = &'a String>) -> Result<Files> {
    let mut files = Files::new();
    for path in paths {
        if let Some(text) = read_one(&root.join(path))? {
            files.insert(path.clone(), text);
        }
    }
    Ok(files)
}

fn read_one(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Encoding::of(&text).decode(&text))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// What editors of Windows, and Git there, do to a text.
#[derive(Clone, Copy)]
struct Encoding {
    /// It begins with a byte order mark.
    is_marked: bool,
    /// Every line ends with CR and LF.
    has_windows_lines: bool,
}

const MARK: char = '\u{feff}';

impl Encoding {
    fn of(text: &str) -> Self {
        let ends = text.matches('\n').count();
        let has_windows_lines = ends > 0 && ends == text.matches("\r\n").count();
        Self { is_marked: text.starts_with(MARK), has_windows_lines }
    }

    fn decode(self, text: &str) -> String {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        if self.has_windows_lines { text.replace("\r\n", "\n") } else { text.to_owned() }
    }

    fn encode(self, text: &str) -> String {
        let text = if self.has_windows_lines { text.replace('\n', "\r\n") } else { text.to_owned() };
        if self.is_marked { format!("{MARK}{text}") } else { text }
    }
}

/// Writes and removes files, with the line ends and the byte order mark that they have. An error before all texts are written changes
/// nothing, and no file is ever partial.
pub(in crate::cli) fn write(root: &Path, changes: &[(String, Option<String>)]) -> Result<()> {
    let mut batch = Batch::default();
    for (path, text) in changes {
        let path = root.join(path);
        match text {
            // One that cannot be read is an error when it is replaced.
            Some(text) => match std::fs::read_to_string(&path) {
                Ok(present) => batch.add(&path, Encoding::of(&present).encode(text).as_bytes())?,
                Err(_) => batch.add(&path, text.as_bytes())?,
            },
            None => batch.remove(path),
        }
    }
    Ok(batch.apply()?)
}

/// Writes a new folder: it has its name when it is complete.
pub(super) fn create(folder: &Path, files: &Files) -> Result<()> {
    let exists = || format!("{}: exists already; expected a new folder", folder.display());
    if folder.symlink_metadata().is_ok() {
        bail!(exists());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cargo-kube-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o777)); // less the process's umask
    }
    let temporary = builder.tempdir_in(parent).with_context(|| parent.display().to_string())?;
    let changes: Vec<_> = files.iter().map(|(path, text)| (path.clone(), Some(text.clone()))).collect();
    write(temporary.path(), &changes)?;
    std::fs::rename(temporary.path(), folder).with_context(exists)?;
    let _ = temporary.keep(); // it is elsewhere now
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn changes(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        all.iter().map(|(path, text)| ((*path).to_owned(), text.map(str::to_owned))).collect()
    }

    #[test]
    fn a_folder_is_created_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("pages");
        let files = Files::from([("a/b".to_owned(), "text".to_owned())]);
        create(&folder, &files).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("a/b")).unwrap(), "text");
        let error = create(&folder, &files).unwrap_err().to_string();
        assert_eq!(error, format!("{}: exists already; expected a new folder", folder.display()));
        assert_eq!(names(home.path()), ["pages"]);
    }

    #[test]
    fn a_file_keeps_its_line_ends_and_its_byte_order_mark() {
        let home = tempfile::tempdir().unwrap();
        for (present, read_as, written) in [
            ("a\r\nb\r\n", "a\nb\n", "a\r\nc\r\n"),
            ("a\nb\n", "a\nb\n", "a\nc\n"),
            ("a\r\nb\n", "a\r\nb\n", "a\nc\n"),
            ("\u{feff}a\nb\n", "a\nb\n", "\u{feff}a\nc\n"),
            ("\u{feff}a\r\nb\r\n", "a\nb\n", "\u{feff}a\r\nc\r\n"),
        ] {
            std::fs::write(home.path().join("file"), present).unwrap();
            let name = "file".to_owned();
            assert_eq!(read(home.path(), [&name].into_iter()).unwrap()[&name], read_as);
            write(home.path(), &changes(&[("file", Some("a\nc\n"))])).unwrap();
            assert_eq!(std::fs::read_to_string(home.path().join("file")).unwrap(), written);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_the_user_stays() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("shared"), "old").unwrap();
        std::os::unix::fs::symlink("shared", home.path().join("link")).unwrap();
        write(home.path(), &changes(&[("link", Some("new"))])).unwrap();
        assert!(home.path().join("link").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(home.path().join("shared")).unwrap(), "new");
    }

    #[test]
    fn if_one_file_cannot_be_written_no_other_is() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &changes(&[("a", Some("old")), ("file", Some(""))])).unwrap();
        let error = write(home.path(), &changes(&[("a", Some("new")), ("file/b", Some("new"))])).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
        assert_eq!(std::fs::read_to_string(home.path().join("a")).unwrap(), "old");
        assert_eq!(names(home.path()), ["a", "file"]);
        write(home.path(), &changes(&[("a", None)])).unwrap();
        assert_eq!(names(home.path()), ["file"]);
    }
}
