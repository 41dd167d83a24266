//! The access that a client and its clones share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::stack::Access;

/// The access of a client and its clones.
pub(super) struct ClientAccess {
    pub(super) access: Arc<dyn Access>,
    /// The cluster that it leads to, once that is known.
    pub(super) cluster: Mutex<Option<String>>,
    /// Held during an exchange, by a task.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Set once the source of the configuration is followed, if it has to be.
    pub(super) followed: OnceLock<()>,
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
