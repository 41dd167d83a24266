//! Follows the source of a client's configuration, in one task for all clones of the client.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tower::BoxError;

use super::shared_access::ClientAccess;
use crate::chain::ErrorChain;
use crate::config::Config;
use crate::stack::Checks;

/// The least time between two reads of the source that requests have asked for.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts to follow the source of the configuration, if it has one that has to be followed. Once.
pub(super) fn follow(access: &Arc<ClientAccess>) {
    if access.followed.get().is_some() {
        return;
    }
    // The program may have a runtime of another kind, and then no task.
    if let Ok(runtime) = Handle::try_current()
        && access.followed.set(()).is_ok()
        && let Some(checks) = access.access.take_checks()
    {
        let program = access.access.config();
        runtime.spawn(run(Arc::downgrade(access), program, checks));
    }
}

/// Ends with the last clone of the client. `program`: the configuration as the program has made the client of it.
async fn run(access: Weak<ClientAccess>, program: Config, mut checks: Checks) {
    let Some(read) = program.followed() else { return };
    let mut source = Followed { name: read.source.to_string(), last_error: None };
    let mut observed = read.source.observe();
    learn_cluster(&access);
    let mut not_before = Instant::now();
    loop {
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        tokio::select! {
            biased;
            asked = checks.recv() => {
                let Some(asked) = asked else { return };
                waiting.push(asked);
                sleep_until(not_before).await;
                while let Ok(asked) = checks.try_recv() {
                    waiting.push(asked);
                }
                not_before = Instant::now() + PAUSE;
            }
            () = observed.may_have_changed() => {}
        }
        let result = observed.read().await;
        let Some(access) = access.upgrade() else { return };
        let used = match result {
            None => continue,
            Some(Ok(new)) => use_config(&access, new.with_changes(&read.as_read, &program)).await,
            Some(Err(err)) => Err(err),
        };
        source.note(used);
    }
}

/// Asks for the identity of the cluster before its address may change: then the old one may be gone.
fn learn_cluster(access: &Weak<ClientAccess>) {
    if let Some(access) = access.upgrade() {
        tokio::spawn(async move { access.known_cluster().await });
    }
}

async fn use_config(access: &ClientAccess, new: Config) -> Result<bool, BoxError> {
    let current = access.access.config();
    if current.has_access_of(&current.with_access_of(new.clone())) {
        return Ok(false);
    }
    access.exchange(new).await?;
    Ok(true)
}

/// What the log has of a source.
struct Followed {
    name: String,
    last_error: Option<String>,
}

impl Followed {
    /// An error is logged once, until it is another one or over.
    fn note(&mut self, used: Result<bool, BoxError>) {
        match used {
            Ok(exchanged) => {
                let was_failing = self.last_error.take().is_some();
                if exchanged || was_failing {
                    tracing::info!(source = %self.name, changed = exchanged, "the configuration was read again and is used");
                }
            }
            Err(err) => {
                let text = ErrorChain(&*err).to_string();
                if self.last_error.as_ref() != Some(&text) {
                    tracing::warn!(source = %self.name, error = %text, "the changed configuration cannot be used, keeping the previous one");
                    self.last_error = Some(text);
                }
            }
        }
    }
}
