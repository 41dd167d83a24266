//! A local file that gets its name when it is complete: what was there before stays until then, and whoever has another name of it keeps
//! it. Blocks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The next content of a path.
#[derive(Debug)]
pub(super) enum LocalFile {
    /// Beside the path.
    Beside { file: NamedTempFile, target: PathBuf },
    /// A device or a pipe, which is written itself.
    InPlace(File),
}

impl LocalFile {
    /// For the path that the caller has chosen: a link is followed, and a device or a pipe is written itself.
    pub(super) fn chosen(path: &Path) -> io::Result<Self> {
        let target = resolved(path);
        match target.symlink_metadata() {
            Ok(there) if !there.is_file() && !there.is_dir() => {
                Ok(Self::InPlace(File::options().write(true).open(target)?))
            }
            _ => Self::replacing(&target),
        }
    }

    /// For `target`, with the permissions of the file that is there.
    pub(super) fn replacing(target: &Path) -> io::Result<Self> {
        let file = beside(target)?;
        if let Ok(old) = target.symlink_metadata()
            && old.is_file()
        {
            file.as_file().set_permissions(old.permissions())?;
        }
        Ok(Self::Beside { file, target: target.to_owned() })
    }

    /// Gives it its name. It was written to this handle, or anew under its path.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Beside { file, target } => file.persist(target).map(drop).map_err(|failed| failed.error),
            Self::InPlace(_) => Ok(()),
        }
    }
}

/// Makes `target` a second name of the file `first`, or a copy of it where the file system has no such names.
pub(super) fn link(first: &Path, target: &Path) -> io::Result<()> {
    if is_same(first, target) {
        return Ok(());
    }
    match named(tempfile::Builder::new()).make_in(parent(target), |path| fs::hard_link(first, path)) {
        Ok(linked) => linked.persist(target).map_err(|failed| failed.error),
        Err(_) => {
            let copied = beside(target)?;
            fs::copy(first, copied.path())?;
            copied.persist(target).map(drop).map_err(|failed| failed.error)
        }
    }
}

/// What a link leads to, also if that does not exist; any other path itself.
fn resolved(path: &Path) -> PathBuf {
    // As many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = parent(&path).join(to),
            Err(_) => break,
        }
    }
    path
}

/// An empty file in the directory of `target`, with the permissions of new files.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = named(tempfile::Builder::new());
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    builder.tempfile_in(parent(target))
}

fn named(mut builder: tempfile::Builder<'static, 'static>) -> tempfile::Builder<'static, 'static> {
    builder.prefix(".kube-cp-");
    builder
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether both are names of one file already. Renaming one to the other would do nothing then.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path: &Path| path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        id(one).is_some() && id(one) == id(other)
    }
    #[cfg(not(unix))]
    {
        one == other
    }
}
