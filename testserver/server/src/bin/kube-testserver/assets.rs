//! The folder that Go's envtest takes from `KUBEBUILDER_ASSETS`: programs by the names that it starts.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::{Error, apiserver, etcd};

/// The names by which this program is another one.
pub(crate) const PROGRAMS: [&str; 2] = [apiserver::NAME, etcd::NAME];

/// Tests that need it find it in the same folder; others do not look for it.
const KUBECTL: &str = "kubectl";

/// Writes the folder and prints its path.
pub(crate) fn print(folder: &Path) -> Result<(), Error> {
    let folder = write(folder).map_err(|why| format!("cannot write {}: {why}", folder.display()))?;
    writeln!(io::stdout(), "{}", folder.display())?;
    Ok(())
}

fn write(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let folder = fs::canonicalize(folder)?;
    // Not the path of a link, which the folder may replace.
    let program = fs::canonicalize(std::env::current_exe()?)?;
    for name in PROGRAMS {
        place(&program, &folder, name)?;
    }
    if let Some(kubectl) = installed(KUBECTL, &folder).filter(|_| !folder.join(KUBECTL).is_file()) {
        place(&kubectl, &folder, KUBECTL)?;
    }
    Ok(folder)
}

/// Links to the program, so that the folder follows its updates. A file that is no link may be the genuine program, and stays.
#[cfg(unix)]
fn place(program: &Path, folder: &Path, name: &str) -> io::Result<()> {
    let link = folder.join(name);
    if fs::symlink_metadata(&link).is_ok_and(|there| !there.is_symlink()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} is there already")));
    }
    // In one step, so that a test that starts meanwhile finds the old one or the new one.
    let next = folder.join(format!(".{name}.{}", std::process::id()));
    std::os::unix::fs::symlink(program, &next)?;
    fs::rename(&next, link)
}

#[cfg(not(unix))]
fn place(program: &Path, folder: &Path, name: &str) -> io::Result<()> {
    fs::copy(program, folder.join(name).with_extension(std::env::consts::EXE_EXTENSION)).map(drop)
}

/// A program on the path, outside of this folder.
fn installed(name: &str, folder: &Path) -> Option<PathBuf> {
    let file = Path::new(name).with_extension(std::env::consts::EXE_EXTENSION);
    let paths = std::env::var_os("PATH")?;
    let candidates = std::env::split_paths(&paths).filter(|path| path != folder).map(|path| path.join(&file));
    candidates.filter_map(|path| fs::canonicalize(path).ok()).find(|path| path.is_file())
}
