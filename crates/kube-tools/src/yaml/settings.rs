//! [`Settings`] of an applier, which its runs use.

use std::fmt;
use std::time::Duration;

use kube_client::Client;
use kube_client::discovery::RestMapper;

use super::pruned::PruneSet;

/// What the methods of [`Applier`](super::Applier) set, and their defaults.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) client: Client,
    pub(super) mapper: RestMapper,
    pub(super) namespace: String,
    pub(super) concurrency: usize,
    pub(super) wait_timeout: Duration,
    pub(super) wait_for_deletion: bool,
    /// For how long a run waits until what it wrote is ready.
    pub(super) wait_ready: Option<Duration>,
    pub(super) apply_set: Option<PruneSet>,
}

impl Settings {
    pub(super) fn new(client: Client) -> Self {
        Self {
            mapper: RestMapper::new(client.clone()),
            namespace: client.default_namespace().to_owned(),
            client,
            concurrency: 8,
            wait_timeout: Duration::from_secs(120),
            wait_for_deletion: true,
            wait_ready: None,
            apply_set: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("namespace", &self.namespace)
            .field("concurrency", &self.concurrency)
            .field("wait_timeout", &self.wait_timeout)
            .field("wait_for_deletion", &self.wait_for_deletion)
            .field("wait_ready", &self.wait_ready)
            .finish_non_exhaustive()
    }
}
