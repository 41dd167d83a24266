//! Kubeconfig files: which they are, and that they may change.

use std::fmt;
#[cfg(feature = "client")]
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "client")]
use std::sync::Arc;
#[cfg(feature = "client")]
use std::time::Duration;

#[cfg(feature = "client")]
use futures::FutureExt;
#[cfg(feature = "client")]
use futures::future::BoxFuture;
#[cfg(feature = "client")]
use tower::BoxError;

#[cfg(feature = "client")]
use super::Kubeconfig;
use super::kubeconfig::{kubeconfig_paths, read_paths};
use super::loader::load_files;
#[cfg(feature = "client")]
use super::settings::{ConfigSource, ObservedSource};
use super::{Config, KubeConfigOptions, KubeconfigError};
#[cfg(feature = "client")]
use crate::blocking_read::BlockingRead;
#[cfg(feature = "client")]
use crate::file_version::FileVersion;

impl Config {
    /// Reads the files listed in `KUBECONFIG`, or `~/.kube/config`, and selects from them by `options`.
    ///
    /// # Errors
    /// If a file, context or field is missing or wrong. The error says which one, and what was expected.
    pub async fn from_kubeconfig(options: &KubeConfigOptions) -> Result<Self, KubeconfigError> {
        // Blocking file reads, but short ones.
        KubeconfigFiles { paths: kubeconfig_paths()?, options: options.clone() }.read()
    }

    /// Reads this file, such as one of a mounted Secret, and selects from it by `options`. Relative paths in it start at its directory.
    ///
    /// # Errors
    /// As [`Config::from_kubeconfig`].
    pub async fn from_kubeconfig_file(
        path: impl AsRef<Path>,
        options: &KubeConfigOptions,
    ) -> Result<Self, KubeconfigError> {
        KubeconfigFiles { paths: vec![path.as_ref().to_owned()], options: options.clone() }.read()
    }
}

/// Files that are merged, and what is selected from them.
#[derive(Clone, Debug)]
struct KubeconfigFiles {
    paths: Vec<PathBuf>,
    options: KubeConfigOptions,
}

impl KubeconfigFiles {
    #[cfg(not(feature = "client"))]
    fn read(self) -> Result<Config, KubeconfigError> {
        load_files(read_paths(&self.paths)?, &self.options).map(|(config, _)| config)
    }

    #[cfg(feature = "client")]
    fn read(self) -> Result<Config, KubeconfigError> {
        // The versions are read first, so that a change while reading is detected the next time.
        let versions = FileVersion::of_all(&self.paths);
        let files = read_paths(&self.paths)?;
        let is_read = |path: &PathBuf| files.iter().any(|(read, _)| read == path);
        let (paths, versions) =
            self.paths.into_iter().zip(versions).filter(|(path, _)| is_read(path)).unzip();
        let (config, options) = load_files(files, &self.options)?;
        Ok(config.read_from(ReadFiles { files: Arc::new(Self { paths, options }), versions }))
    }

    /// Reads the same entries of the same files again. A file that is missing for a moment must not lead to entries of another one.
    #[cfg(feature = "client")]
    fn read_again(&self) -> Result<Config, KubeconfigError> {
        let files = self.paths.iter().map(|path| Ok((path.clone(), Kubeconfig::read_from(path)?)));
        load_files(files.collect::<Result<_, _>>()?, &self.options).map(|(config, _)| config)
    }
}

impl fmt::Display for KubeconfigFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
        write!(f, "kubeconfig {}", names.join(", "))
    }
}

/// How often files are looked at: as often as token files and certificates.
#[cfg(feature = "client")]
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The files of which a configuration was read, and the entries that were selected then.
#[cfg(feature = "client")]
#[derive(Debug)]
struct ReadFiles {
    files: Arc<KubeconfigFiles>,
    versions: Vec<Option<FileVersion>>,
}

#[cfg(feature = "client")]
impl fmt::Display for ReadFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[cfg(feature = "client")]
impl ConfigSource for ReadFiles {
    fn observe(&self) -> Box<dyn ObservedSource> {
        let versions = Some(self.versions.clone());
        Box::new(ObservedFiles { files: Arc::clone(&self.files), versions, reads: BlockingRead::default() })
    }

    /// A look at a file costs next to nothing.
    fn longest_pause(&self) -> Duration {
        Duration::ZERO
    }

    fn is_untrusted(&self) -> bool {
        false
    }
}

#[cfg(feature = "client")]
struct ObservedFiles {
    files: Arc<KubeconfigFiles>,
    /// Of what was read successfully. `None` after a failure: a file that they name may be there the next time.
    versions: Option<Vec<Option<FileVersion>>>,
    reads: BlockingRead<Option<NewContent>>,
}

#[cfg(feature = "client")]
type NewContent = (Vec<Option<FileVersion>>, Result<Config, KubeconfigError>);

#[cfg(feature = "client")]
impl ObservedSource for ObservedFiles {
    fn may_have_changed(&mut self) -> BoxFuture<'_, ()> {
        tokio::time::sleep(CHECK_INTERVAL).boxed()
    }

    fn read(&mut self) -> BoxFuture<'_, Option<Result<Config, BoxError>>> {
        async {
            let (files, known) = (Arc::clone(&self.files), self.versions.clone());
            let read = self.reads.read(move || {
                let versions = FileVersion::of_all(&files.paths);
                (Some(&versions) != known.as_ref()).then(|| (versions, files.read_again()))
            });
            Some(match read.await {
                Ok(None) => return None,
                Ok(Some((versions, Ok(config)))) => {
                    self.versions = Some(versions);
                    Ok(config)
                }
                Ok(Some((_, Err(err)))) => {
                    self.versions = None;
                    Err(err.into())
                }
                Err(err) => Err(io::Error::new(err.kind(), format!("{}: {err}", self.files)).into()),
            })
        }
        .boxed()
    }

    fn not_used(&mut self) {
        self.versions = None;
    }
}

#[cfg(test)]
#[cfg(feature = "client")]
mod tests {
    use super::*;

    struct Files {
        folder: tempfile::TempDir,
    }

    impl Files {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// A kubeconfig whose entries all have this name.
        fn write(&self, file: &str, name: &str, host: &str) {
            let text = format!(
                "current-context: {name}\ncontexts: [{{name: {name}, context: {{cluster: {name}, user: {name}}}}}]\n\
                 clusters: [{{name: {name}, cluster: {{server: 'https://{host}'}}}}]\nusers: [{{name: {name}, user: {{}}}}]\n"
            );
            std::fs::write(self.path(file), text).unwrap();
        }

        fn observe(&self, files: &[&str]) -> Box<dyn ObservedSource> {
            let paths = files.iter().map(|file| self.path(file)).collect();
            let config = KubeconfigFiles { paths, options: KubeConfigOptions::default() }.read().unwrap();
            config.follow().unwrap().followed().unwrap().source.observe()
        }
    }

    /// The server, or the error.
    async fn read(observed: &mut dyn ObservedSource) -> String {
        match observed.read().await.expect("it has changed") {
            Ok(config) => config.cluster_url.to_string(),
            Err(err) => err.to_string(),
        }
    }

    /// As while an editor or a tool writes it anew.
    #[tokio::test]
    async fn a_file_that_is_missing_for_a_moment_does_not_lead_to_the_cluster_of_another_one() {
        let files = Files::new();
        for prod in ["prod", "dev"] {
            files.write("dev", "dev", "dev");
            files.write("prod", prod, "prod");
            let mut observed = files.observe(&["dev", "prod"]);
            std::fs::remove_file(files.path("dev")).unwrap();
            let err = read(&mut *observed).await;
            assert!(err.contains(files.path("dev").to_str().unwrap()), "{err}");
            files.write("dev", "dev", "moved");
            assert_eq!(read(&mut *observed).await, "https://moved/");
        }
    }

    #[tokio::test]
    async fn a_file_that_appears_later_does_not_lead_to_another_cluster() {
        let files = Files::new();
        files.write("dev", "default", "dev");
        let mut observed = files.observe(&["prod", "dev"]);
        files.write("prod", "default", "prod");
        files.write("dev", "default", "moved");
        assert_eq!(read(&mut *observed).await, "https://moved/");
    }

    /// As by `kubectl config use-context` and `set-context`.
    #[tokio::test]
    async fn another_current_context_moves_nothing() {
        let files = Files::new();
        files.write("dev", "dev", "dev");
        files.write("prod", "prod", "prod");
        let mut observed = files.observe(&["dev", "prod"]);
        let dev = std::fs::read_to_string(files.path("dev")).unwrap();
        for changed in [
            dev.replace("current-context: dev", "current-context: prod"),
            dev.replace("cluster: dev, user: dev", "cluster: prod, user: prod"),
        ] {
            std::fs::write(files.path("dev"), changed).unwrap();
            assert_eq!(read(&mut *observed).await, "https://dev/");
        }
        files.write("dev", "test", "test");
        let err = read(&mut *observed).await;
        assert!(err.contains("no context named \"dev\""), "{err}");
    }
}
