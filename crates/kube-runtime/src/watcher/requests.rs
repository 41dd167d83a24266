//! The requests of a watcher, up to their responses.

use super::{
    error::RequestError,
    lister_watcher::ListerWatcher,
    machine::{Next, Step},
    registry::RegisteredWatch,
    watch_status::Received,
};
use crate::delay::after;
use kube_client::client::WatchResponse;
use kube_core::{Resource, params::ListParams};
use std::{io, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};

/// How long the server may take to send the head of a watch response, or the response to a version check.
const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Requests {
    pub(super) lister_watcher: Arc<ListerWatcher>,
    /// The earliest time of the next request.
    pub(super) not_before: Instant,
    /// What monitors show.
    pub(super) watch: Option<Arc<RegisteredWatch>>,
}

/// The response to the request that the machine needs next.
pub(super) enum Response {
    /// To be requested now, by the pager.
    List(ListParams),
    Version(Result<String, RequestError>),
    Watch {
        initial_events: bool,
        response: Result<WatchResponse, RequestError>,
    },
}

impl Requests {
    /// Waits until the next request may be sent, and sends it.
    pub(super) async fn send(&self, next: Next) -> Response {
        if self.not_before > Instant::now() {
            sleep_until(self.not_before).await;
        }
        if let Some(watch) = &self.watch {
            watch.requesting(&next);
        }
        let collection = self.lister_watcher.path();
        match next {
            Next::List(params) => {
                if params.continue_token.is_none() {
                    let version = params.resource_version.as_deref();
                    tracing::debug!(collection, version, "listing");
                }
                Response::List(params)
            }
            Next::CheckVersion => {
                let version = timeout(START_TIMEOUT, self.lister_watcher.current_version()).await;
                Response::Version(version.unwrap_or_else(|_elapsed| Err(start_timeout())))
            }
            Next::Watch(params, version) => {
                let initial_events = params.send_initial_events;
                tracing::debug!(collection, version, initial_events, "watching");
                let watch = self.lister_watcher.watch(&params, &version);
                let response = timeout(START_TIMEOUT, watch).await;
                let response = response.unwrap_or_else(|_elapsed| Err(start_timeout()));
                Response::Watch { initial_events, response }
            }
            Next::Read { .. } | Next::ReadList => unreachable!("invariant: reads need no request"),
        }
    }

    /// Notes the outcome of a request or a read, and how long to wait before the next one.
    pub(super) fn stepped<K: Resource>(&mut self, received: Received, step: &Step<K>, now: Instant) {
        if let Some(watch) = &self.watch {
            watch.stepped(received, step, self.lister_watcher.received_bytes(), now);
        }
        self.not_before = after(now, step.wait);
    }

    pub(super) fn watch_ended(&self) {
        tracing::debug!(collection = self.lister_watcher.path(), "watch ended");
    }
}

fn start_timeout() -> RequestError {
    let what = "the server did not respond to the watch in time";
    kube_client::Error::ReadEvents(io::Error::new(io::ErrorKind::TimedOut, what)).into()
}
