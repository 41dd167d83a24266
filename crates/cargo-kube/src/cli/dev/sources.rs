//! Says when a source of the program changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::cli::program::Program;

/// Watches the sources of a program while it exists.
pub(super) struct Sources {
    watcher: RecommendedWatcher,
    places: Places,
    watched: BTreeSet<PathBuf>,
    /// Folders that were made, removed or renamed since: what watched them has gone with them.
    renewed: Arc<Mutex<BTreeSet<PathBuf>>>,
    changes: mpsc::Receiver<Change>,
}

/// The file that has changed, or one of several. `None` if changes were missed.
type Change = Option<PathBuf>;

/// Which files are sources.
#[derive(Clone, Debug)]
struct Places {
    folders: BTreeSet<PathBuf>,
    workspace: PathBuf,
    target: PathBuf,
}

impl Sources {
    /// From now on, no change is missed.
    pub(super) fn watch(program: &Program) -> Result<Self> {
        let places = Places::of(program)?;
        let (sender, changes) = mpsc::channel(1);
        let seen = places.clone();
        let renewed = Arc::new(Mutex::new(BTreeSet::new()));
        let of_handler = Arc::clone(&renewed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let changed: Option<Change> = match event {
                Ok(event) => {
                    if !matches!(event.kind, EventKind::Modify(ModifyKind::Data(_))) {
                        let tops = event.paths.iter().filter(|path| seen.is_top(path)).cloned();
                        of_handler.lock().unwrap_or_else(PoisonError::into_inner).extend(tops);
                    }
                    let looked_at = matches!(event.kind, EventKind::Access(_));
                    let source = event.paths.iter().find(|path| seen.has(path)).cloned();
                    (!looked_at && (event.need_rescan() || source.is_some())).then_some(source)
                }
                // Whatever was missed: a build finds out.
                Err(_) => Some(None),
            };
            if let Some(change) = changed {
                // A full channel says it already.
                let _ = sender.try_send(change);
            }
        })?;
        let mut sources = Self { watcher, places, watched: BTreeSet::new(), renewed, changes };
        sources.refresh()?;
        Ok(sources)
    }

    /// The next change, or several at once.
    pub(super) async fn changed(&mut self) -> Change {
        match self.changes.recv().await {
            Some(change) => change,
            None => std::future::pending().await,
        }
    }

    /// Watches folders that are new. The folder of a package is watched by its subfolders, because its largest ones are not watched: what
    /// Cargo writes, and `.git`.
    pub(super) fn refresh(&mut self) -> Result<()> {
        // The lock is not held below: the watcher responds only when its handler has ended, which takes the lock.
        let renewed = std::mem::take(&mut *self.renewed.lock().unwrap_or_else(PoisonError::into_inner));
        for folder in renewed {
            if self.watched.remove(&folder) {
                // It is gone already, or is watched again below.
                let _ = self.watcher.unwatch(&folder);
            }
        }
        let mut wanted = vec![(self.places.workspace.clone(), RecursiveMode::NonRecursive)];
        for folder in &self.places.folders {
            wanted.push((folder.clone(), RecursiveMode::NonRecursive));
            // A folder that cannot be read is Cargo's to report.
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let folders =
                entries.map(|entry| entry.path()).filter(|path| path.is_dir() && self.places.has(path));
            wanted.extend(folders.map(|path| (path, RecursiveMode::Recursive)));
        }
        for (folder, mode) in wanted {
            if self.watched.contains(&folder) {
                continue;
            }
            match self.watcher.watch(&folder, mode) {
                Ok(()) => {
                    self.watched.insert(folder);
                }
                // Removed meanwhile.
                Err(_) if !folder.exists() => {}
                Err(err) => {
                    return Err(err).with_context(|| format!("{} cannot be watched", folder.display()));
                }
            }
        }
        Ok(())
    }
}

impl Places {
    /// With the paths that the operating system tells.
    fn of(program: &Program) -> Result<Self> {
        let canonical = |path: &Path| fs::canonicalize(path).with_context(|| path.display().to_string());
        Ok(Self {
            folders: program.sources.iter().map(|folder| canonical(folder)).collect::<Result<_>>()?,
            workspace: canonical(&program.workspace)?,
            target: canonical(&program.target)?,
        })
    }

    /// Whether it is directly in the folder of a package.
    fn is_top(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.folders.contains(parent))
    }

    fn has(&self, path: &Path) -> bool {
        if path.starts_with(&self.target) {
            return false;
        }
        let of_workspace = path.strip_prefix(&self.workspace).ok().and_then(Path::to_str);
        if matches!(of_workspace, Some("Cargo.toml" | "Cargo.lock")) {
            return true;
        }
        // Of several folders, one inside another, the innermost decides.
        let inside = self.folders.iter().rev().find_map(|folder| path.strip_prefix(folder).ok());
        inside.is_some_and(|inside| {
            let is_hidden =
                |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
            // Files that editors keep beside the one that is edited.
            let is_temporary = inside.to_str().is_some_and(|name| name.ends_with('~'));
            !inside.components().any(is_hidden) && !is_temporary
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn sources_are_what_cargo_reads() {
        let folders = ["/w/op", "/w", "/other/lib"].map(PathBuf::from).into();
        let places = Places { folders, workspace: "/w".into(), target: "/w/target".into() };
        for (path, expected) in [
            ("/w/src/main.rs", true),
            ("/w/Cargo.toml", true),
            ("/w/op/build.rs", true),
            ("/other/lib/data/page.html", true),
            ("/w/target/debug/op", false),
            ("/w/.git/index", false),
            ("/w/op/src/.main.rs.swp", false),
            ("/w/src/main.rs~", false),
            ("/elsewhere/a.rs", false),
            ("/other/Cargo.toml", false),
        ] {
            assert_eq!(places.has(Path::new(path)), expected, "{path}");
        }
        let virtual_workspace = Places { folders: BTreeSet::from(["/w/op".into()]), ..places };
        assert!(virtual_workspace.has(Path::new("/w/Cargo.lock")));
        assert!(!virtual_workspace.has(Path::new("/w/README.md")));
    }

    #[tokio::test]
    async fn a_change_in_a_new_folder_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        for name in ["src", "target"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let program = Program {
            name: "op".into(),
            manifest: folder.join("Cargo.toml"),
            folder: folder.clone(),
            sources: BTreeSet::from([folder.clone()]),
            workspace: folder.clone(),
            target: folder.join("target"),
            build_arguments: Vec::new(),
        };
        let mut sources = Sources::watch(&program).unwrap();
        let seen = async |sources: &mut Sources| {
            tokio::time::timeout(Duration::from_secs(10), sources.changed()).await.expect("a change")
        };
        fs::create_dir(folder.join("assets")).unwrap();
        assert_eq!(seen(&mut sources).await, Some(folder.join("assets")));
        sources.refresh().unwrap();
        for _ in 0..2 {
            // What the operating system still tells of before.
            while tokio::time::timeout(Duration::from_millis(100), sources.changed()).await.is_ok() {}
            fs::write(folder.join("assets/page.html"), "a").unwrap();
            assert_eq!(seen(&mut sources).await, Some(folder.join("assets/page.html")));
            // Another folder of the same name is another one.
            fs::remove_dir_all(folder.join("assets")).unwrap();
            fs::create_dir(folder.join("assets")).unwrap();
            tokio::time::timeout(Duration::from_secs(10), async {
                while !sources.renewed.lock().unwrap().contains(&folder.join("assets")) {
                    tokio::task::yield_now().await;
                }
            })
            .await
            .expect("the folder is new");
            sources.refresh().unwrap();
        }
    }
}
