//! Writes generated files into a folder, and compares them with what is there.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use kube_client::new_file::{NewFile, has_text};

use super::{
    error::ManifestsError,
    file::{File, header},
    forms::Form,
    settings::Manifests,
};

/// What [`Manifests::write`] changed: paths below the folder, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that were created or replaced.
    pub written: Vec<String>,
    /// Files that were generated before and are no more.
    pub removed: Vec<String>,
}

/// What a folder lacks, before anything is changed.
#[derive(Debug)]
struct Plan<'a> {
    new: Vec<&'a File>,
    changed: Vec<&'a File>,
    /// Generated files that are no more.
    stale: Vec<String>,
}

impl Manifests {
    /// Writes the files of these forms below `folder`, and removes generated ones that are no more. Files that are as they should be are
    /// not touched, so this can run in each build.
    ///
    /// Only files whose first line says that they were generated for this operator are replaced and removed. Each is written beside its
    /// place and renamed, so that none is ever half there. Blocks: call it outside of an async runtime, or by `spawn_blocking`.
    ///
    /// # Errors
    /// If the parts do not fit together, or if another file is where one is to be: then nothing is changed. If a file cannot be read or
    /// written.
    pub fn write(
        &self,
        folder: impl AsRef<Path>,
        forms: impl IntoIterator<Item = Form>,
    ) -> Result<Written, ManifestsError> {
        let (folder, files) = (folder.as_ref(), self.files(forms)?);
        let plan = plan(folder, &files, &header(self))?;
        let mut written = Written::default();
        for file in files.iter().filter(|file| plan.new.contains(file) || plan.changed.contains(file)) {
            let path = folder.join(&file.path);
            replace(&path, &file.text).map_err(|reason| ManifestsError::Io { path, reason })?;
            written.written.push(file.path.clone());
        }
        for name in plan.stale {
            let path = folder.join(&name);
            remove(folder, &path).map_err(|reason| ManifestsError::Io { path, reason })?;
            written.removed.push(name);
        }
        Ok(written)
    }

    /// Whether `folder` has what [`write`](Self::write) would write and no generated file more, for CI. Changes nothing.
    ///
    /// # Errors
    /// [`ManifestsError::Outdated`] with the files that differ; otherwise as for [`write`](Self::write).
    pub fn check(
        &self,
        folder: impl AsRef<Path>,
        forms: impl IntoIterator<Item = Form>,
    ) -> Result<(), ManifestsError> {
        let files = self.files(forms)?;
        let Plan { new, changed, stale } = plan(folder.as_ref(), &files, &header(self))?;
        let new = new.iter().map(|file| format!("{} (missing)", file.path));
        let changed = changed.iter().map(|file| format!("{} (differs)", file.path));
        let stale = stale.iter().map(|path| format!("{path} (generated no more)"));
        let mut files: Vec<_> = new.chain(changed).chain(stale).collect();
        files.sort();
        if files.is_empty() { Ok(()) } else { Err(ManifestsError::Outdated { files }) }
    }
}

fn plan<'a>(folder: &Path, files: &'a [File], header: &str) -> Result<Plan<'a>, ManifestsError> {
    let mut plan = Plan { new: Vec::new(), changed: Vec::new(), stale: Vec::new() };
    for file in files {
        let path = folder.join(&file.path);
        match fs::read(&path) {
            Ok(text) if has_text(&text, &file.text) => {}
            Ok(text) if has_header(&text, header) => plan.changed.push(file),
            Ok(_) => return Err(ManifestsError::Foreign { path, header: header.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => plan.new.push(file),
            Err(reason) => return Err(ManifestsError::Io { path, reason }),
        }
    }
    let is_planned = |path: &str| files.iter().any(|file| file.path == path);
    let mut generated = Vec::new();
    find_generated(folder, "", header, &mut generated)?;
    generated.retain(|path| !is_planned(path));
    generated.sort();
    plan.stale = generated;
    Ok(plan)
}

/// The files below a folder that have the header. Links are not followed: what they lead to is not ours.
fn find_generated(
    folder: &Path,
    below: &str,
    header: &str,
    generated: &mut Vec<String>,
) -> Result<(), ManifestsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |reason| ManifestsError::Io { path, reason }
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(failed(folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed(folder))?);
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if kind.is_dir() && !name.starts_with('.') {
            find_generated(&path, &format!("{below}{name}/"), header, generated)?;
        } else if kind.is_file() && name.ends_with(".yaml") {
            let mut start = Vec::new();
            let length = header.len() as u64 + 2; // with a line end of Windows
            let read = fs::File::open(&path).and_then(|file| file.take(length).read_to_end(&mut start));
            read.map_err(failed(&path))?;
            if has_header(&start, header) {
                generated.push(format!("{below}{name}"));
            }
        }
    }
    Ok(())
}

fn has_header(text: &[u8], header: &str) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line) == header.as_bytes()
}

/// Replaces a file as a whole.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    NewFile::write(path, text.as_bytes())?.rename()
}

/// Removes a file and the folders that are empty then.
fn remove(folder: &Path, path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    let above = path.ancestors().skip(1).take_while(|above| *above != folder);
    // One that is not empty ends it.
    above.map(fs::remove_dir).take_while(io::Result::is_ok).for_each(drop);
    Ok(())
}
