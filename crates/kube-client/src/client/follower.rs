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

/// Starts to follow the source of the configuration, if it has one that has to be followed. Again if the runtime of the task has ended.
pub(super) fn follow(access: &Arc<ClientAccess>) {
    let Some(program) = &access.program else { return };
    let mut follower = access.follower.lock();
    if follower.as_ref().is_some_and(|task| !task.is_finished()) {
        return;
    }
    // The program may have a runtime of another kind, and then no task.
    if let Ok(runtime) = Handle::try_current() {
        let checks = access.access.receive_checks();
        *follower = Some(runtime.spawn(run(Arc::downgrade(access), program.clone(), checks)));
    }
}

/// Ends with the last clone of the client. `program`: the configuration as the program has made the client of it.
async fn run(access: Weak<ClientAccess>, program: Config, mut checks: Checks) {
    let Some(read) = program.followed() else { return };
    let mut source = Followed { name: read.source.to_string(), last_error: None };
    let mut observed = read.source.observe();
    learn_cluster(&access);
    let (mut pause, mut not_before) = (PAUSE, Instant::now());
    loop {
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        tokio::select! {
            biased;
            asked = checks.recv() => {
                let Some(asked) = asked else { return };
                // While reads change nothing, no request is held up until the next one.
                if pause > PAUSE && Instant::now() < not_before {
                    continue;
                }
                waiting.push(asked);
                sleep_until(not_before).await;
                while let Ok(asked) = checks.try_recv() {
                    waiting.push(asked);
                }
                not_before = Instant::now() + pause;
                pause = (2 * pause).min(read.source.longest_pause().max(PAUSE));
            }
            () = observed.may_have_changed() => {}
        }
        let result = observed.read().await;
        let Some(access) = access.upgrade() else { return };
        let used = match result {
            None => Ok(false),
            Some(Ok(new)) => {
                let keeps_place = read.source.is_untrusted() && program.has_own_credentials(&read.as_read);
                let used = use_config(&access, new.with_changes(&read.as_read, &program), keeps_place).await;
                if used.is_err() {
                    observed.not_used();
                }
                used
            }
            Some(Err(err)) => Err(err),
        };
        if matches!(used, Ok(true)) {
            (pause, not_before) = (PAUSE, Instant::now() + PAUSE);
        }
        source.note(used);
    }
}

/// Asks for the identity of the cluster before its address may change: then the old one may be gone.
fn learn_cluster(access: &Weak<ClientAccess>) {
    if let Some(access) = access.upgrade() {
        tokio::spawn(async move { access.known_cluster().await });
    }
}

/// Whether it is another one than before. `keeps_place`: whoever wrote it may not choose where requests are sent.
async fn use_config(access: &ClientAccess, new: Config, keeps_place: bool) -> Result<bool, BoxError> {
    let current = access.access.config();
    if keeps_place && !current.has_place_of(&new) {
        let text = format!(
            "it leads to another server ({}), and the credentials that the program has set are not sent there",
            new.address()
        );
        return Err(text.into());
    }
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
