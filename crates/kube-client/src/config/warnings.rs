//! [`WarningHandler`]: what happens to the warnings that a server sends with its responses.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use parking_lot::Mutex;

/// A warning of the API server, sent in a `Warning` header beside a response: a deprecated version, an unknown field of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning<'a> {
    /// 299 in all warnings of API servers.
    pub code: u16,
    /// Who warns; `-` if the server does not say so.
    pub agent: &'a str,
    /// The warning itself.
    pub text: &'a str,
    /// The name of the `Api` method (`list`, `patch_status`), or the HTTP method of other requests.
    pub verb: &'a str,
    /// The resource, as `deployments.v1.apps` or `pods.v1`; the path of requests outside of the resource API.
    pub resource: &'a str,
}

/// Receives the [`Warning`]s of all responses, as client-go's `WarningHandler` does.
///
/// The default logs each warning once.
///
/// # Cost
/// It is called while a response is returned, so it must not block. A panic is logged.
///
/// ```
/// use kube_client::config::WarningHandler;
///
/// let mut config = kube_client::Config::new("https://localhost:6443".parse().unwrap());
/// config.warning_handler = WarningHandler::new(|warning| eprintln!("Warning: {}", warning.text));
/// ```
#[derive(Clone)]
pub struct WarningHandler(Arc<dyn Fn(&Warning<'_>) + Send + Sync>);

impl WarningHandler {
    /// Calls `handle` with each warning, also with one that was sent before. `|_| {}` ignores all.
    pub fn new(handle: impl Fn(&Warning<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Logs at level WARN, with `verb` and `resource` as fields. The same text for the same verb and resource is logged once, by all
    /// clones together; after 4096 different ones, each is logged once more.
    pub fn log_once() -> Self {
        let (hasher, logged) = (RandomState::new(), Mutex::new(HashSet::new()));
        Self::new(move |warning| {
            let id = hasher.hash_one((warning.verb, warning.resource, warning.text));
            if is_new(&mut logged.lock(), id) {
                let Warning { verb, resource, text, .. } = warning;
                tracing::warn!(verb, resource, "the API server warns: {text}");
            }
        })
    }

    /// Handles a warning. For a handler that does more and then passes the warning on to this one.
    pub fn handle(&self, warning: &Warning<'_>) {
        (self.0)(warning);
    }
}

impl Default for WarningHandler {
    fn default() -> Self {
        Self::log_once()
    }
}

impl fmt::Debug for WarningHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarningHandler").finish_non_exhaustive()
    }
}

/// A panic of the handler leaves nothing of ours half done.
impl UnwindSafe for WarningHandler {}
impl RefUnwindSafe for WarningHandler {}

/// A server can send any number of different texts.
const MAX_LOGGED: usize = 4096;

fn is_new(logged: &mut HashSet<u64>, id: u64) -> bool {
    if logged.len() == MAX_LOGGED {
        logged.clear();
    }
    logged.insert(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_new_once_and_memory_is_bounded() {
        let mut logged = HashSet::new();
        assert!(is_new(&mut logged, 7) && !is_new(&mut logged, 7));
        for id in 0..3 * MAX_LOGGED as u64 {
            is_new(&mut logged, id);
        }
        assert!(logged.len() <= MAX_LOGGED);
    }
}
