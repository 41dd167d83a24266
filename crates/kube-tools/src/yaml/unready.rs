//! [`Unready`]: objects of a run that are not ready when they are written, and waiting for them.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube_client::Client;
use kube_core::DynamicObject;
use tokio::time::Instant;

use super::id::ObjectId;
use super::progress::{Progress, Reporter};
use super::result::ObjectResult;
use super::source::Source;
use crate::ready::Readiness;
use crate::wait::{WaitTarget, readiness_within};

/// What to wait for, and what messages say about it.
#[derive(Default)]
pub(super) struct Unready {
    objects: HashMap<WaitTarget, (ObjectId, Option<Source>)>,
    /// The states in which those were written that may be gone before they are looked at.
    written: HashMap<WaitTarget, (Box<DynamicObject>, Instant)>,
}

impl Unready {
    /// Notes an object that was written. Most kinds have nothing to wait for: the response of the server says that they are ready.
    pub(super) fn note(&mut self, result: &ObjectResult, written: &DynamicObject) {
        let Some(resource) = &result.resource else { return };
        if Readiness::of_dynamic(written).is_ready() {
            return;
        }
        let name = written.metadata.name.as_deref().unwrap_or_default();
        let target = WaitTarget::new(resource, written.metadata.namespace.as_deref(), name);
        if Readiness::tells_its_end(written) {
            self.written.insert(target.clone(), (Box::new(written.clone()), Instant::now()));
        }
        self.objects.insert(target, (result.id.clone(), result.source.clone()));
    }

    /// Waits until all are ready. Returns whether they are.
    pub(super) async fn wait(mut self, client: &Client, timeout: Duration, reporter: &Reporter) -> bool {
        let targets =
            self.objects.keys().map(|target| (target.clone(), self.written.remove(target))).collect();
        let mut progress = pin!(readiness_within(client.clone(), targets, timeout));
        let mut all_ready = true;
        while let Some((target, readiness)) = progress.next().await {
            match readiness {
                Ok(readiness) => {
                    if let Some((id, _)) = self.objects.get(&target) {
                        reporter.send(Progress::Readiness { id: id.clone(), readiness });
                    }
                }
                Err(error) => {
                    all_ready = false;
                    if let Some((id, source)) = self.objects.remove(&target) {
                        reporter.send(Progress::NotReady { id, source, error });
                    }
                }
            }
        }
        all_ready
    }
}
