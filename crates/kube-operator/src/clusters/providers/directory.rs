//! A directory of kubeconfigs, one file for each cluster.

use super::first::First;
use crate::clusters::{
    error::ClusterError,
    event::{ClusterEvent, ClusterSpec, Clusters},
    name::ClusterName,
    unusable::{Problem, Unusable},
};
use futures::stream;
use kube_client::{Config, config::KubeConfigOptions};
use std::{
    collections::{BTreeMap, VecDeque},
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How often the directory is read.
const INTERVAL: Duration = Duration::from_secs(10);

/// Endings of files that do not belong to the name of the cluster.
const EXTENSIONS: [&str; 5] = ["yaml", "yml", "json", "conf", "kubeconfig"];

impl Clusters {
    /// A cluster for each file of a directory, with the current context of its kubeconfig, which is trusted. Files are read every 10 s.
    ///
    /// The name of the cluster is that of the file, without `.yaml`, `.yml`, `.json`, `.conf` or `.kubeconfig`. Files whose name begins
    /// with a dot, and directories, are left out, so that a mounted Secret works. A removed file removes its cluster; one that cannot be
    /// read or used, such as a link without a target, is an error once, and keeps what was read before. So does the directory.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let source = format!("the directory {}", path.display());
        let unusable = Unusable::default();
        let directory = Directory::new(path, unusable.clone());
        let state = (directory, First::default(), VecDeque::new(), false);
        let events = stream::unfold(state, |(mut directory, mut first, mut pending, mut wait)| async move {
            loop {
                if let Some(event) = pending.pop_front() {
                    return Some((event, (directory, first, pending, wait)));
                }
                if std::mem::replace(&mut wait, true) {
                    sleep(INTERVAL).await;
                }
                pending.extend(directory.read().await);
                if directory.last_error.is_none() {
                    pending.extend(first.read(&directory.unusable(), Instant::now()));
                }
            }
        });
        Self::of(source, events).telling(unusable)
    }
}

struct Directory {
    path: PathBuf,
    files: BTreeMap<PathBuf, File>,
    last_error: Option<String>,
    unusable: Unusable,
}

/// The content of a file, or why it cannot be read.
type Content = Result<Vec<u8>, String>;

/// A file as it was read last.
struct File {
    content: Content,
    /// The cluster that was announced.
    cluster: Option<ClusterName>,
    /// Why it cannot be used. It is tried again: what the kubeconfig names may come later, such as a certificate.
    problem: Option<String>,
}

impl Directory {
    fn new(path: PathBuf, unusable: Unusable) -> Self {
        Self { path, files: BTreeMap::new(), last_error: None, unusable }
    }

    /// What has changed since the last time.
    async fn read(&mut self) -> Vec<Result<ClusterEvent, ClusterError>> {
        let present = match contents(&self.path).await {
            Ok(present) => present,
            Err(source) => {
                // It may come back: what it had stays.
                let text = source.to_string();
                let is_known = self.last_error.replace(text.clone()) == Some(text);
                self.unusable.set_unreadable(true);
                let error = ClusterError::Directory { path: self.path.clone(), source };
                return if is_known { Vec::new() } else { vec![Err(error)] };
            }
        };
        self.last_error = None;
        self.unusable.set_unreadable(false);
        let mut events = Vec::new();
        self.files.retain(|path, file| {
            let stays = present.contains_key(path);
            if !stays {
                self.unusable.remove(&path.display().to_string());
                events.extend(file.cluster.take().map(|name| Ok(ClusterEvent::Removed(name))));
            }
            stays
        });
        for (path, content) in present {
            if self.files.get(&path).is_none_or(|file| file.content != content || file.problem.is_some()) {
                events.extend(self.changed(path, content).await);
            }
        }
        events
    }

    /// The clusters of files that could not be used up to now, and may be later.
    fn unusable(&self) -> Vec<ClusterName> {
        let files = self.files.iter().filter(|(_, file)| file.cluster.is_none() && file.problem.is_some());
        let names =
            files.filter_map(|(path, _)| name_of(path).ok().filter(|name| self.holder(name, path).is_none()));
        names.collect()
    }

    /// Another file that has this name.
    fn holder(&self, name: &ClusterName, path: &Path) -> Option<String> {
        let mut files = self.files.iter();
        let holder = files.find(|(other, file)| *other != path && file.cluster.as_ref() == Some(name));
        holder.map(|(other, _)| other.display().to_string())
    }

    /// What a file says now. Errors are returned once.
    async fn changed(
        &mut self,
        path: PathBuf,
        content: Content,
    ) -> Option<Result<ClusterEvent, ClusterError>> {
        let spec = self.spec(&path, content.as_ref().err()).await;
        let can_be_cluster = name_of(&path).is_ok();
        let place = path.display().to_string();
        let new = || File { content: Ok(Vec::new()), cluster: None, problem: None };
        let file = self.files.entry(path).or_insert_with(new);
        file.content = content;
        match spec {
            Ok(spec) => {
                (file.cluster, file.problem) = (Some(spec.name.clone()), None);
                self.unusable.remove(&place);
                Some(Ok(spec.into()))
            }
            Err(error) => {
                let text = error.to_string();
                if can_be_cluster {
                    self.unusable.add(&place, Problem::without_labels(file.cluster.clone(), &text));
                }
                let is_known = file.problem.replace(text.clone()) == Some(text);
                (!is_known).then_some(Err(error))
            }
        }
    }

    async fn spec(&self, path: &Path, problem: Option<&String>) -> Result<ClusterSpec, ClusterError> {
        if let Some(problem) = problem {
            return Err(ClusterError::File {
                path: path.to_owned(),
                source: io::Error::other(problem.clone()),
            });
        }
        let name = name_of(path)?;
        if let Some(holder) = self.holder(&name, path) {
            return Err(ClusterError::Claimed { name, source_name: path.display().to_string(), holder });
        }
        let config = Config::from_kubeconfig_file(path, &KubeConfigOptions::default()).await;
        let config = config.map_err(|source| ClusterError::Kubeconfig { path: path.to_owned(), source })?;
        Ok(ClusterSpec::new(name, config))
    }
}

fn name_of(path: &Path) -> Result<ClusterName, ClusterError> {
    let has_known_extension =
        path.extension().is_some_and(|ending| EXTENSIONS.iter().any(|known| ending == *known));
    let name = if has_known_extension { path.file_stem() } else { path.file_name() };
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    ClusterName::new(&name).map_err(|source| ClusterError::Name { place: path.display().to_string(), source })
}

/// The files of a directory. One that vanishes meanwhile is left out; one that is there and cannot be read is not.
async fn contents(directory: &Path) -> io::Result<BTreeMap<PathBuf, Content>> {
    let mut entries = tokio::fs::read_dir(directory).await?;
    let mut files = BTreeMap::new();
    while let Some(entry) = entries.next_entry().await? {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        match content(&path).await {
            Ok(Some(content)) => drop(files.insert(path, Ok(content))),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_entry(&path).await => {}
            Err(error) => drop(files.insert(path, Err(error.to_string()))),
        }
    }
    Ok(files)
}

/// `None` if it is no file. Links are followed: the files of a mounted Secret are some.
async fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match tokio::fs::metadata(path).await?.is_file() {
        true => tokio::fs::read(path).await.map(Some),
        false => Ok(None),
    }
}

/// Whether the directory has an entry of this name. A link whose target is not there is one: while the volume of a Secret is exchanged,
/// files that it has all the time are not found for a moment.
async fn is_entry(path: &Path) -> bool {
    match tokio::fs::symlink_metadata(path).await {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn kubeconfig(host: &str) -> String {
        format!(
            "clusters: [{{name: c, cluster: {{server: 'https://{host}:6443'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        )
    }

    /// Such as `+east https://a:6443/`, `-east`, or an error without the path of the directory.
    async fn read(directory: &mut Directory) -> Vec<String> {
        let prefix = format!("{}/", directory.path.display());
        let text = |event| match event {
            Ok(ClusterEvent::Upsert(spec)) => format!("+{} {}", spec.name, spec.config.cluster_url),
            Ok(ClusterEvent::Removed(name)) => format!("-{name}"),
            Ok(other) => format!("{other:?}"),
            Err(error) => ClusterError::to_string(&error).replace(&prefix, ""),
        };
        directory.read().await.into_iter().map(text).collect()
    }

    #[tokio::test]
    async fn files_come_change_and_go_and_what_cannot_be_used_keeps_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| fs::write(path(name), text).unwrap();
        let mut directory = Directory::new(folder.path().to_owned(), Unusable::default());
        write("east.yaml", &kubeconfig("a"));
        write("west", &kubeconfig("b"));
        write("..data", "hidden");
        write("a b.yaml", &kubeconfig("c"));
        fs::create_dir(path("folder")).unwrap();
        let mut first = read(&mut directory).await;
        let invalid = first.remove(0);
        assert!(invalid.starts_with(r#"a b.yaml: "a b" cannot be the name of a cluster: "#), "{invalid}");
        assert_eq!(first, ["+east https://a:6443/", "+west https://b:6443/"]);
        assert_eq!(read(&mut directory).await, [""; 0], "nothing is said twice");

        write("east.yaml", "clusters: [");
        let broken = read(&mut directory).await;
        assert!(broken.len() == 1 && broken[0].starts_with("east.yaml: "), "{broken:?}");
        assert_eq!(read(&mut directory).await, [""; 0]);
        write("east.yaml", &kubeconfig("d"));
        assert_eq!(read(&mut directory).await, ["+east https://d:6443/"]);

        write("east.json", &kubeconfig("e"));
        let claimed = read(&mut directory).await;
        let expected = "cluster east of east.json is not used: east.yaml has announced this name before";
        assert!(claimed.len() == 1 && claimed[0].starts_with(expected), "{claimed:?}");
        fs::remove_file(path("a b.yaml")).unwrap();
        fs::remove_file(path("east.yaml")).unwrap();
        assert_eq!(read(&mut directory).await, ["-east", "+east https://e:6443/"]);

        fs::write(path("a b.yaml"), kubeconfig("f")).unwrap();
        fs::write(path("west.yml"), "kind: Config").unwrap();
        assert_eq!(read(&mut directory).await.len(), 2, "an error each");
        fs::remove_file(path("east.json")).unwrap();
        assert_eq!(read(&mut directory).await, ["-east"], "and once, whatever else is removed");
        assert_eq!(directory.unusable.problems().len(), 1, "a b can be no cluster");
        fs::remove_file(path("a b.yaml")).unwrap();
        fs::remove_file(path("west.yml")).unwrap();
        assert_eq!((read(&mut directory).await, directory.unusable.problems()), (vec![], vec![]));

        let moved = folder.path().with_extension("moved");
        fs::rename(folder.path(), &moved).unwrap();
        assert_eq!(read(&mut directory).await.len(), 1, "an error");
        assert_eq!(read(&mut directory).await, [""; 0], "and the clusters stay");
        fs::rename(&moved, folder.path()).unwrap();
        fs::remove_file(path("west")).unwrap();
        assert_eq!(read(&mut directory).await, ["-west"]);
    }

    /// The volume of a certificate may be filled after the program has started.
    #[tokio::test]
    async fn a_kubeconfig_whose_files_come_later_is_used_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let mut directory = Directory::new(path, Unusable::default());
        let files = tempfile::tempdir().unwrap();
        let certificate = files.path().join("ca.crt");
        let named = format!("certificate-authority: '{}', server", certificate.display());
        fs::write(folder.path().join("east.yaml"), kubeconfig("a").replace("server", &named)).unwrap();
        let missing = read(&mut directory).await;
        assert!(missing.len() == 1 && missing[0].contains("ca.crt"), "{missing:?}");
        assert_eq!(read(&mut directory).await, [""; 0], "an error is said once");
        assert_eq!(directory.unusable(), [ClusterName::new("east").unwrap()]);
        let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(&certificate, text).unwrap();
        assert_eq!(read(&mut directory).await, ["+east https://a:6443/"]);
        assert_eq!((read(&mut directory).await, directory.unusable()), (vec![], vec![]));
    }

    /// Otherwise an error of a volume would remove clusters, and the program clean up on them.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_is_there_and_cannot_be_found_out_about_keeps_its_cluster() {
        use std::os::unix::fs::symlink;
        let (folder, volume) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (link, target) = (folder.path().join("east.yaml"), volume.path().join("east.yaml"));
        let path = folder.path().to_owned();
        let mut directory = Directory::new(path, Unusable::default());
        fs::write(&target, kubeconfig("a")).unwrap();
        symlink(&target, &link).unwrap();
        assert_eq!(read(&mut directory).await, ["+east https://a:6443/"]);
        fs::remove_file(&target).unwrap();
        let absent = read(&mut directory).await;
        assert!(absent.len() == 1 && absent[0].starts_with("east.yaml: "), "{absent:?}");
        symlink(&target, &target).unwrap(); // a circle
        let circle = read(&mut directory).await;
        assert!(circle.len() == 1 && circle[0].starts_with("east.yaml: "), "{circle:?}");
        fs::remove_file(&target).unwrap();
        fs::write(&target, kubeconfig("a")).unwrap();
        assert_eq!(read(&mut directory).await, ["+east https://a:6443/"]);
        fs::remove_file(&link).unwrap();
        assert_eq!(read(&mut directory).await, ["-east"]);
    }
}
