//! The watches of what defines kinds: CustomResourceDefinitions and APIServices, of each the metadata only.

use super::schedule::WITHOUT_WATCH;
use crate::watcher::{self, Event, watcher};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube_client::{Api, Client, error::status_of};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta, Status};
use tokio::time::{Instant, sleep_until};

/// What the watches tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A definition of this group was created, changed or deleted.
    OfGroup(String),
    /// A list is complete: anything may have changed before.
    Listed,
    /// This watch is refused. It is tried again after a minute.
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
    /// Whether the log says that it is refused.
    is_reported: bool,
}

fn changes_of(client: Client, resource: ApiResource) -> impl Stream<Item = Change> + Send {
    let events = open(&client, &resource);
    let watch = Watch { client, resource, events, resume: None, is_reported: false };
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
            match self.events.next().await? {
                Ok(Event::Apply(object) | Event::Delete(object)) => {
                    if let Some(group) = object.metadata.name.as_deref().and_then(group_of) {
                        return Some(Change::OfGroup(group.to_owned()));
                    }
                }
                Ok(Event::InitDone) => {
                    self.is_reported = false;
                    return Some(Change::Listed);
                }
                Ok(Event::Init | Event::InitApply(_)) => {}
                Err(error) => {
                    // Anything else passes: the watcher tries again by itself.
                    let status = status_of(&error);
                    let is_missing = status.is_some_and(Status::is_not_found);
                    if is_missing || status.is_some_and(Status::is_forbidden) {
                        self.report(is_missing);
                        self.resume = Some(Instant::now() + WITHOUT_WATCH);
                        self.events = stream::pending().boxed();
                        return Some(Change::Refused);
                    }
                    tracing::debug!(%error, "the watch of {} failed, and is retried", self.resource.plural);
                }
            }
        }
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

/// The group in the name of a definition, `PLURAL.GROUP`, or of an APIService, `VERSION.GROUP`.
fn group_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, group)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_definitions_end_in_their_group() {
        assert_eq!(group_of("pages.example.com"), Some("example.com"));
        assert_eq!(group_of("v1beta1.metrics.k8s.io"), Some("metrics.k8s.io"));
        assert_eq!(group_of("v1."), Some(""), "the core group");
        assert_eq!(group_of("odd"), None);
    }
}
