//! The watches of what defines kinds: CustomResourceDefinitions and APIServices, of each the metadata only.

use super::schedule::WITHOUT_WATCH;
use crate::{
    delay::until,
    watcher::{self, Event, watcher},
};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube_client::{Api, Client, error::status_of};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta, Status};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// What the watches tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// There is a definition of this group, which may be new or have changed.
    Defined(String),
    /// A definition of this group was deleted.
    Deleted(String),
    /// A list is complete: anything may have changed before.
    Listed,
    /// This watch is refused, or has failed for a minute. It is tried again.
    Refused,
}

/// The changes of both, each with the number of its watch: 0 or 1. They do not end.
pub(super) fn changes(client: &Client) -> impl Stream<Item = (usize, Change)> + Send + use<> {
    let definitions = ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
    let services = ("apiregistration.k8s.io", "APIService", "apiservices");
    let watches = [definitions, services].map(|(group, kind, plural)| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
    });
    let numbered = watches.into_iter().enumerate().map(|(number, resource)| {
        changes_of(client.clone(), resource).map(move |change| (number, change)).boxed()
    });
    stream::select_all(numbered)
}

type Events = BoxStream<'static, watcher::Result<Event<PartialObjectMeta<DynamicObject>>>>;

struct Watch {
    client: Client,
    resource: ApiResource,
    events: Events,
    /// When a refused watch is tried again.
    resume: Option<Instant>,
    /// Whether the log says that it does not work.
    is_reported: bool,
    /// Until when a watch that did not work before has to work until its list counts: a server may permit lists only.
    proves_until: Option<Instant>,
    /// Since when it has failed, and when it did last.
    failing: Option<(Instant, Instant)>,
}

/// How long a watch that was refused has to work until that counts as over.
const PROOF: Duration = Duration::from_secs(5);

fn changes_of(client: Client, resource: ApiResource) -> impl Stream<Item = Change> + Send {
    let events = open(&client, &resource);
    let (resume, proves_until, failing) = (None, None, None);
    let watch = Watch { client, resource, events, resume, is_reported: false, proves_until, failing };
    stream::unfold(watch, |mut watch| async move {
        let change = watch.next().await?;
        Some((change, watch))
    })
}

fn open(client: &Client, resource: &ApiResource) -> Events {
    let api = Api::<PartialObjectMeta<DynamicObject>>::all_with(client.clone(), resource);
    watcher(api, watcher::Config::default()).boxed()
}

impl Watch {
    async fn next(&mut self) -> Option<Change> {
        if let Some(resume) = self.resume {
            sleep_until(resume).await;
            self.resume = None;
            self.events = open(&self.client, &self.resource);
        }
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.next() => event?,
                () = until(self.proves_until) => {
                    (self.proves_until, self.failing) = (None, None);
                    self.is_reported = false;
                    return Some(Change::Listed);
                }
            };
            match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => {
                    self.failing = None;
                    if let Some(group) = group_of(&object) {
                        return Some(Change::Defined(group));
                    }
                }
                Ok(Event::Delete(object)) => {
                    self.failing = None;
                    if let Some(group) = group_of(&object) {
                        return Some(Change::Deleted(group));
                    }
                }
                Ok(Event::InitDone) if self.is_reported => self.proves_until = Some(Instant::now() + PROOF),
                Ok(Event::InitDone) => return Some(Change::Listed),
                Ok(Event::Init) => {}
                Err(error) => {
                    self.proves_until = None;
                    if self.failed(&error) {
                        return Some(Change::Refused);
                    }
                }
            }
        }
    }

    /// The watch has failed. Returns whether it does not work any more, as far as is known.
    fn failed(&mut self, error: &watcher::Error) -> bool {
        let (now, status) = (Instant::now(), status_of(error));
        let plural = &self.resource.plural;
        let is_missing = status.is_some_and(Status::is_not_found);
        if is_missing || status.is_some_and(Status::is_forbidden) {
            self.report(is_missing);
            self.resume = Some(now + WITHOUT_WATCH);
            self.events = stream::pending().boxed();
            return true;
        }
        // It passes, usually: the watcher tries again by itself.
        tracing::debug!(%error, "the watch of {plural} failed, and is retried");
        let recent = self.failing.filter(|(_, last)| now < *last + WITHOUT_WATCH);
        let since = recent.map_or(now, |(since, _)| since);
        self.failing = Some((since, now));
        if now < since + WITHOUT_WATCH {
            return false;
        }
        if !std::mem::replace(&mut self.is_reported, true) {
            tracing::warn!(%error, "the watch of {plural} has failed for a minute: until it works, discovery tells every minute which kinds are served");
        }
        true
    }

    /// Once, until it works again.
    fn report(&mut self, is_missing: bool) {
        if std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let ApiResource { plural, group, .. } = &self.resource;
        match is_missing {
            true => tracing::debug!(
                "the server does not serve {plural}.{group}: which kinds are served is asked every minute"
            ),
            false => tracing::warn!(
                "this program may not watch {plural}.{group}, which needs the verbs list and watch on {plural} in the API group {group}, in a \
                 ClusterRole: until it may, it asks every minute which kinds are served"
            ),
        }
    }
}

fn group_of(definition: &PartialObjectMeta<DynamicObject>) -> Option<String> {
    definition.metadata.name.as_deref().and_then(group_in).map(str::to_owned)
}

/// The group in the name of a definition, `PLURAL.GROUP`, or of an APIService, `VERSION.GROUP`.
fn group_in(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, group)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_definitions_end_in_their_group() {
        assert_eq!(group_in("pages.example.com"), Some("example.com"));
        assert_eq!(group_in("v1beta1.metrics.k8s.io"), Some("metrics.k8s.io"));
        assert_eq!(group_in("v1."), Some(""), "the core group");
        assert_eq!(group_in("odd"), None);
    }
}
