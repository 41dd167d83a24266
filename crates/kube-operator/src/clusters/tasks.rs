//! What takes time with one cluster: connecting, and exchanging its credentials. Each runs as a task that nobody waits for.

use super::{error::ClusterError, name::ClusterName, options::ClusterOptions, unit::Fault};
use futures::FutureExt;
use kube_client::{
    Client, Config,
    error::{ErrorChain, ErrorClass},
};
use kube_core::panic::panic_message;
use std::{panic::AssertUnwindSafe, time::Duration};
use tokio::time::{sleep, timeout};

/// How long a cluster may take to say who it is.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A cluster that has answered: its client, and its uid if it may be read.
pub(super) type Identified = (Client, Option<String>);

/// Makes a client, or gives the present one this configuration, and asks the cluster who it is.
pub(super) async fn connect(
    name: ClusterName,
    present: Option<Client>,
    config: Config,
    options: ClusterOptions,
) -> Result<Identified, Fault> {
    let unusable = |source| {
        let error = ClusterError::Config { name: name.clone(), source: Box::new(source) };
        Fault::Failed(error.to_string())
    };
    let connecting = async {
        let client = match present {
            Some(client) => {
                client.update_credentials(config).await.map_err(unusable)?;
                client
            }
            None => (options.connect)(&config).map_err(unusable)?,
        };
        let uid = client.cluster_uid().await.map_err(|error| fault_of(&error))?;
        Ok((client, uid))
    };
    let guarded = AssertUnwindSafe(timeout(CONNECT_TIMEOUT, connecting)).catch_unwind();
    match guarded.await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Fault::Unreachable(format!("no response within {} s", CONNECT_TIMEOUT.as_secs()))),
        Err(panic) => Err(Fault::Failed(format!("making its client panicked: {}", panic_message(&*panic)))),
    }
}

/// Gives a client other credentials. Returns the uid of the cluster that it leads to, if it has others now and that can be found out.
///
/// # Errors
/// The credentials cannot be used; the client keeps those that it has.
pub(super) async fn exchange(client: Client, config: Config) -> Result<Option<String>, String> {
    match client.update_credentials(config).await {
        Ok(false) => Ok(None),
        Ok(true) => {
            Ok(timeout(CONNECT_TIMEOUT, client.cluster_uid()).await.ok().and_then(Result::ok).flatten())
        }
        Err(error) => Err(ErrorChain(&error).to_string()),
    }
}

/// Cleans up on a cluster whose name has another address now, unless that leads to the same cluster.
///
/// # Errors
/// It is not known whether it does, or cleaning up failed.
pub(super) async fn clean_up_old(
    uid: Option<String>,
    successor: impl Future<Output = Result<Identified, Fault>>,
    cleaning_up: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let unknown = |why: &str| {
        Err(format!(
            "its name has another address now, and whether that is another cluster is not known: {why}"
        ))
    };
    match (uid, successor.await) {
        (_, Err(fault)) => unknown(fault.reason()),
        (Some(uid), Ok((_, Some(new)))) if uid == new => Ok(()),
        (Some(_), Ok((_, Some(_)))) => cleaning_up.await,
        _ => unknown("the namespace kube-system may not be read"),
    }
}

/// The uid of the hub, once it answers. It is asked for as long as it does not.
pub(super) async fn identify(hub: Client) -> Option<String> {
    loop {
        match timeout(CONNECT_TIMEOUT, hub.cluster_uid()).await {
            Ok(Ok(uid)) => return uid,
            Ok(Err(_)) | Err(_) => sleep(CONNECT_TIMEOUT).await,
        }
    }
}

/// What an error says of the cluster. An error about one object or kind says that it works.
pub(crate) fn fault_of_class(class: &ErrorClass, text: String) -> Option<Fault> {
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

/// A cluster that does not say who it is.
fn fault_of(error: &kube_client::Error) -> Fault {
    let text = ErrorChain(error).to_string();
    fault_of_class(&ErrorClass::of(error), text.clone()).unwrap_or(Fault::Unreachable(text))
}
