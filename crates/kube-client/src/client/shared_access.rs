//! The access that a client and its clones share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::stack::Access;

/// The access of a client and its clones.
pub(super) struct ClientAccess {
    pub(super) access: Arc<dyn Access>,
    pub(super) cluster: Mutex<KnownCluster>,
    /// Held during an exchange, by a task.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Set once the source of the configuration is followed, if it has to be.
    pub(super) followed: OnceLock<()>,
}

/// What is known of the cluster to which a client leads.
#[derive(Clone, Default)]
pub(super) struct KnownCluster {
    /// Its identity, once that is known.
    pub(super) uid: Option<String>,
    /// Counts the changes of the server, so that a late answer of an old one is not taken for one of the new one.
    pub(super) servers: u64,
}

impl fmt::Debug for ClientAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientAccess")
    }
}

impl ClientAccess {
    pub(super) fn new(access: Arc<dyn Access>) -> Arc<Self> {
        let (cluster, turn, followed) = (Mutex::default(), tokio::sync::Mutex::default(), OnceLock::new());
        Arc::new(Self { access, cluster, turn, followed })
    }
}
