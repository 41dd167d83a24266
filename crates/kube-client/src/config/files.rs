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
        self.load()
    }

    #[cfg(feature = "client")]
    fn read(self) -> Result<Config, KubeconfigError> {
        // The versions are read first, so that a change while reading is detected the next time.
        let versions = FileVersion::of_all(&self.paths);
        let config = self.load()?;
        Ok(config.read_from(ReadFiles { files: Arc::new(self), versions }))
    }

    fn load(&self) -> Result<Config, KubeconfigError> {
        load_files(read_paths(&self.paths)?, &self.options)
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

/// Files as they were when a configuration was read.
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
                (Some(&versions) != known.as_ref()).then(|| (versions, files.load()))
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
}
