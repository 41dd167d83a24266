//! The access that a client and its clones share.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::stack::Access;

/// The access of a client and its clones.
pub(super) struct ClientAccess {
    pub(super) access: Arc<dyn Access>,
    pub(super) cluster: Mutex<KnownCluster>,
    /// Held during an exchange, by a task.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// The configuration as the program has made the client of it, if its source is to be followed.
    pub(super) program: Option<Config>,
    /// The task that follows the source.
    pub(super) follower: Mutex<Option<JoinHandle<()>>>,
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
        let config = access.config();
        let program = config.followed().is_some().then_some(config);
        let (cluster, turn, follower) = (Mutex::default(), tokio::sync::Mutex::default(), Mutex::default());
        Arc::new(Self { access, cluster, turn, program, follower })
    }
}
