//! What takes time with one cluster: connecting, and exchanging its credentials. Each runs as a task that nobody waits for.

use super::{
    error::ClusterError,
    name::ClusterName,
    options::ClusterOptions,
    unit::{FIRST_WAIT, Fault, LONGEST_WAIT},
    work::CleanedUp,
};
use futures::FutureExt;
use kube_client::{
    Client, Config,
    error::{ErrorChain, ErrorClass},
};
use kube_core::panic::panic_message;
use kube_runtime::controller::WatchSnapshot;
use parking_lot::Mutex;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a cluster may take to say who it is.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How many bytes a reason has at most.
const LONGEST_REASON: usize = 1024;

/// A cluster that has answered: its client, and its uid if it may be read.
pub(super) type Identified = (Client, Option<String>);

/// Makes a client, and asks the cluster who it is.
pub(super) async fn connect(
    name: ClusterName,
    config: Config,
    options: ClusterOptions,
) -> Result<Identified, Fault> {
    let unusable = |source| {
        let error = ClusterError::Config { name: name.clone(), source: Box::new(source) };
        Fault::Failed(error.to_string())
    };
    let connecting = async {
        let client = (options.connect)(&config).map_err(unusable)?;
        let uid = client.cluster_uid().await.map_err(|error| fault_of(&error))?;
        Ok((client, uid))
    };
    let guarded = AssertUnwindSafe(timeout(CONNECT_TIMEOUT, connecting)).catch_unwind();
    match guarded.await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Fault::Unreachable(no_response())),
        Err(panic) => Err(Fault::Failed(format!("making its client panicked: {}", panic_message(&*panic)))),
    }
}

fn no_response() -> String {
    format!("no response within {} s", CONNECT_TIMEOUT.as_secs())
}

/// Why a cluster that is asked until it answers does not, for whoever shows it. Clones are the same.
pub(super) type NotAnswered = Arc<Mutex<Option<Fault>>>;

/// As [`connect`], again and again until the cluster answers: what its configuration needs may come later, too, such as a file.
pub(super) async fn ask(
    name: ClusterName,
    config: Config,
    options: ClusterOptions,
    not_answered: NotAnswered,
) -> Identified {
    let mut wait = Duration::ZERO;
    loop {
        let fault = match connect(name.clone(), config.clone(), options.clone()).await {
            Ok(identified) => return identified,
            Err(fault) => fault,
        };
        if wait.is_zero() {
            tracing::warn!(
                cluster = %name,
                why = fault.reason(),
                "its new address does not say which cluster it is, and is asked until it does; the old one is not cleaned up before"
            );
        }
        wait = next_wait(wait, &fault);
        *not_answered.lock() = Some(fault);
        sleep(wait).await;
    }
}

/// How long to wait before an address is asked again, after the wait before.
pub(super) fn next_wait(wait: Duration, fault: &Fault) -> Duration {
    match fault {
        Fault::Failed(_) | Fault::Forbidden(_) => LONGEST_WAIT, // somebody has to do something
        Fault::Unreachable(_) => (wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT),
    }
}

/// Why a cluster that answers is neither known to be the same as before nor another one.
pub(super) fn unidentified() -> Fault {
    let why = "the cluster there does not say which it is: expected the permission to get the namespace kube-system";
    Fault::Forbidden(why.to_owned())
}

/// A client has another configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchanged {
    /// It leads to another cluster, or may: whoever knows objects lists anew.
    pub(super) is_another: bool,
}

/// Gives a client another configuration.
///
/// # Errors
/// It cannot be used; the client keeps the one that it has.
pub(super) async fn exchange(client: Client, config: Config) -> Result<Exchanged, String> {
    let cluster = client.cluster_change();
    client.update_credentials(config).await.map_err(|error| shortened(ErrorChain(&error).to_string()))?;
    Ok(Exchanged { is_another: cluster.present() != cluster.seen() })
}

/// Cleans up on a cluster whose name has another address now, unless that leads to the same cluster. `successor`: who is there, which may
/// take as long as a cluster takes to be made.
///
/// # Errors
/// It is not known whether it is the same, or cleaning up failed.
pub(super) async fn clean_up_old(
    uid: Option<String>,
    successor: impl Future<Output = Identified>,
    withdrawn: CancellationToken,
    cleaning_up: impl Future<Output = Result<CleanedUp, String>>,
) -> Result<CleanedUp, String> {
    let Some((_, new)) = withdrawn.run_until_cancelled(successor).await else {
        return Ok(CleanedUp::Withdrawn);
    };
    match (uid, new) {
        (Some(uid), Some(new)) if uid == new => Ok(CleanedUp::Done),
        (Some(_), Some(_)) => cleaning_up.await,
        _ => Err(
            "its name has another address now, and whether that is another cluster is not known: the namespace kube-system may not be \
             read, or is no sign, because the cluster is a namespace"
                .to_owned(),
        ),
    }
}

/// Runs it again after each panic, with an error in the log. The program's code may run in it, where it drops what is of the program.
pub(super) async fn run_in_spite_of_panics<F: Future<Output = ()>>(what: &str, run: impl Fn() -> F) {
    while let Err(panic) = AssertUnwindSafe(run()).catch_unwind().await {
        tracing::error!(what, error = panic_message(&*panic), "it panicked, and runs again");
        sleep(FIRST_WAIT).await;
    }
}

/// The uid of the hub, once it says so. It is asked for as long as it does not.
pub(super) async fn identify(hub: Client) -> String {
    let (mut is_told, mut has_failed) = (false, false);
    loop {
        let error = match timeout(CONNECT_TIMEOUT, hub.cluster_uid()).await {
            Ok(Ok(Some(uid))) => return uid,
            Ok(Ok(None)) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(
                        "the hub does not say which cluster it is, so it is not noticed if it is announced as a member: expected the \
                         permission to get the namespace kube-system; it is asked again each minute"
                    );
                }
                sleep(LONGEST_WAIT).await;
                continue;
            }
            Ok(Err(error)) => shortened(ErrorChain(&error).to_string()),
            Err(_) => no_response(),
        };
        if !std::mem::replace(&mut has_failed, true) {
            tracing::warn!(
                error,
                "the hub cannot be asked which cluster it is, so it is not noticed if it is announced as a member; it is asked again"
            );
        }
        sleep(CONNECT_TIMEOUT).await;
    }
}

/// What an error says of the cluster. An error about one object or kind says that it works.
pub(crate) fn fault_of_class(class: &ErrorClass, text: String) -> Option<Fault> {
    let text = shortened(text);
    match class {
        ErrorClass::Forbidden => Some(Fault::Forbidden(text)),
        ErrorClass::Throttled { .. }
        | ErrorClass::Internal
        | ErrorClass::ConnectionFailed
        | ErrorClass::Unreachable
        | ErrorClass::IdleTimeout => Some(Fault::Unreachable(text)),
        _ => None,
    }
}

/// Whether the last thing that a watch has seen is an error.
pub(crate) fn fails(watch: &WatchSnapshot) -> bool {
    watch.last_error_age.is_some_and(|error| watch.last_event_age.is_none_or(|event| error < event))
}

/// A cluster that does not say who it is.
fn fault_of(error: &kube_client::Error) -> Fault {
    let text = ErrorChain(error).to_string();
    fault_of_class(&ErrorClass::of(error), text.clone()).unwrap_or(Fault::Unreachable(shortened(text)))
}

/// At most as much of a text as a reason may have: it is in the log and on the debug page, and in a status of an object with those of other
/// clusters. The message of a strange server may have megabytes.
pub(super) fn shortened(mut text: String) -> String {
    if text.len() > LONGEST_REASON {
        let end = (0..=LONGEST_REASON).rfind(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_reason_has_a_limit_and_whole_characters() {
        assert_eq!(shortened("a".repeat(LONGEST_REASON)), "a".repeat(LONGEST_REASON));
        let long = shortened("é".repeat(LONGEST_REASON) + "x");
        assert_eq!(long, "é".repeat(LONGEST_REASON / 2) + "…");
        let text = "x".repeat(1 << 20);
        let Some(Fault::Forbidden(why)) = fault_of_class(&ErrorClass::Forbidden, text) else { panic!() };
        assert!(why.len() < LONGEST_REASON + 4);
    }

    #[tokio::test(start_paused = true)]
    async fn what_panics_runs_again() {
        let runs = AtomicUsize::new(0);
        let run = async || assert!(runs.fetch_add(1, Ordering::Relaxed) == 2);
        run_in_spite_of_panics("it", run).await;
        assert_eq!(runs.into_inner(), 3);
    }
}
