//! That clients follow where their configuration was read.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use super::settings::{ConfigSource, Origin, ReadFrom};
use super::{Config, FollowError};

impl Config {
    /// Lets the clients of this configuration follow their source: the kubeconfig file, all files of the variable `KUBECONFIG` together, or
    /// a [`KubeconfigSecret`](crate::client::KubeconfigSecret). What the source says later of address, CA certificates, proxy and
    /// credentials is used for new requests, as by [`Client::set_credentials`](crate::Client::set_credentials), without a restart and
    /// without a relist. For the configuration of a pod, this changes nothing: the files of its token and CA are read again anyway, as are
    /// those that a kubeconfig names, also without this.
    ///
    /// Fields that the program has changed since the configuration was read keep the program's values. All settings but those above stay.
    /// If the program has set the credentials, or adds an `Authorization` or `Cookie` header, a Secret may not lead to another address,
    /// proxy or `tls-server-name` later: its author would receive them. That is a warning in the log, and the old address stays in use.
    ///
    /// # Time
    /// Files are looked at every 10 s, and at once, up to once a second, when the server refuses a credential or no connection succeeds;
    /// then the request waits for that, up to 5 s, and is sent again if they had changed (by clients that retry: `default_retry`). A
    /// Secret is watched, and asked for at such times too, ever more rarely, up to once a minute, while that changes nothing. What cannot
    /// be used is logged once and tried again, and what was read before stays in use; so does what was in a file that is removed.
    ///
    /// # What is followed
    /// The same entries of the same files: the context, cluster and user that were selected when the configuration was read, by name, in
    /// the files that existed then. So `kubectl config use-context` moves no program that runs, and a file of several that is missing for a
    /// moment does not lead to the cluster of another one. If one of them is gone, that is a warning in the log. A Secret is followed as
    /// its author writes it, with its current context unless the program has selected another one.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// use kube_client::config::{Config, KubeConfigOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("config");
    /// std::fs::write(&path, r#"{
    ///     "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    ///     "clusters": [{"name": "c", "cluster": {"server": "https://c:6443"}}], "users": [{"name": "u", "user": {"token": "t"}}]}"#)?;
    /// let config = Config::from_kubeconfig_file(&path, &KubeConfigOptions::default()).await?.follow()?;
    /// # drop(config);
    /// assert!(Config::new("https://c:6443".parse()?).follow().is_err(), "from nowhere");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the program has made the configuration: then there is nothing to follow.
    pub fn follow(mut self) -> Result<Self, FollowError> {
        if matches!(self.origin, Origin::Program) {
            return Err(FollowError);
        }
        self.follows = true;
        Ok(self)
    }

    /// The source that clients of this configuration follow.
    pub(crate) fn followed(&self) -> Option<&ReadFrom> {
        match &self.origin {
            Origin::Source(read) if self.follows => Some(read),
            _ => None,
        }
    }

    /// Notes where the configuration was read, just now.
    pub(crate) fn read_from(mut self, source: impl ConfigSource + 'static) -> Self {
        let as_read = Self { origin: Origin::Program, ..self.clone() };
        self.origin =
            Origin::Source(Arc::new(AssertUnwindSafe(ReadFrom { source: Box::new(source), as_read })));
        self
    }
}
