//! Publishing events through the API server.

use super::{
    event::{Event, Reference, Reporter},
    series::{SeriesCache, SeriesKey},
};
use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event as ApiEvent, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube_client::{Api, Client};
use kube_core::{
    ObjectMeta,
    params::{Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

/// The maximum length of a note that servers accept.
const MAX_NOTE_BYTES: usize = 1024;
/// The maximum length of action, reason and reporting instance.
const MAX_FIELD_BYTES: usize = 128;
/// The maximum length of the object's name within an event's name.
const MAX_OBJECT_NAME_BYTES: usize = 200;
/// The namespace of events about cluster-scoped objects: the one client-go uses, and the only one that servers of every
/// version accept (1.20 rejects `default`).
const CLUSTER_NAMESPACE: &str = "kube-system";

/// Publishes events. Clones share the cache of published events.
///
/// An event that repeats one from less than six minutes ago increments the count of its series instead of creating a new
/// event. As in client-go, an event repeats another one if type, action, reason and both objects are the same; the series
/// keeps its first note. The latest few thousand series are cached.
///
/// Required permissions: `create` and `patch` on `events` of the group `events.k8s.io`.
///
/// ```
/// # use kube_client::Client;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube_core::Resource;
/// use kube_runtime::events::{Event, EventType, Recorder, Reporter};
///
/// async fn publish_ready(client: Client, object: &ConfigMap) -> Result<(), kube_client::Error> {
///     let recorder = Recorder::new(client, Reporter::from("example.com/foo-controller"));
///     let event = Event {
///         type_: EventType::Normal,
///         reason: "Ready".into(),
///         note: Some("all replicas are ready".into()),
///         action: "Reconciling".into(),
///         secondary: None,
///     };
///     recorder.publish(&event, &object.object_ref(&())).await
/// }
/// ```
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    reporter: Reporter,
    series: Arc<Mutex<SeriesCache>>,
}

impl Recorder {
    /// A recorder that publishes events as `reporter`.
    #[must_use]
    pub fn new(client: Client, reporter: Reporter) -> Self {
        Self { client, reporter, series: Arc::default() }
    }

    /// Publishes `ev` about the object of `reference`.
    ///
    /// The event is created in the object's namespace, or in `kube-system` for a cluster-scoped object, as client-go does.
    ///
    /// # Errors
    ///
    /// The error of the request. It is not retried.
    pub async fn publish(&self, ev: &Event, reference: &ObjectReference) -> Result<(), kube_client::Error> {
        let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or(CLUSTER_NAMESPACE);
        let events: Api<ApiEvent> = Api::namespaced(self.client.clone(), namespace);
        let key = SeriesKey::of(ev, Reference::from(reference));
        let now = kube_client::time::now();

        let repeated = self.series.lock().record_repeat(&key, Instant::now());
        if let Some((name, count)) = repeated {
            let series = EventSeries { count, last_observed_time: MicroTime(now) };
            let patch = Patch::Merge(json!({ "series": series }));
            match events.patch(&name, &PatchParams::default(), &patch).await {
                Err(error) if error.is_not_found() => {} // the event has expired: publish a new one
                other => return other.map(drop),
            }
        }
        let mut event = self.build(ev, reference, namespace, now);
        event.metadata.name = Some(format!("{}.{:x}", object_part(reference), next_nanosecond(now)));
        let created = events.create(&PostParams::default(), &event).await?;
        let name = created.metadata.name.unwrap_or_default();
        self.series.lock().record_published(key, name, Instant::now());
        Ok(())
    }

    fn build(&self, ev: &Event, reference: &ObjectReference, namespace: &str, now: Timestamp) -> ApiEvent {
        let Reporter { controller, instance } = &self.reporter;
        ApiEvent {
            metadata: ObjectMeta { namespace: Some(namespace.to_owned()), ..ObjectMeta::default() },
            action: Some(truncate(&ev.action, MAX_FIELD_BYTES).to_owned()),
            event_time: Some(MicroTime(now)),
            note: ev.note.as_deref().map(|note| truncate(note, MAX_NOTE_BYTES).to_owned()),
            reason: Some(truncate(&ev.reason, MAX_FIELD_BYTES).to_owned()),
            regarding: Some(reference.clone()),
            related: ev.secondary.clone(),
            reporting_controller: Some(controller.clone()),
            reporting_instance: Some(
                truncate(instance.as_ref().unwrap_or(controller), MAX_FIELD_BYTES).to_owned(),
            ),
            type_: Some(ev.type_.as_str().to_owned()),
            ..ApiEvent::default()
        }
    }
}

/// The present nanosecond, or a later one that no event of this process has in its name: clocks may be coarser, and paused time stands
/// still.
fn next_nanosecond(now: Timestamp) -> i128 {
    static LAST: Mutex<i128> = Mutex::new(0);
    let mut last = LAST.lock();
    *last = now.as_nanosecond().max(*last + 1);
    *last
}

/// The part of an event's name that says which object it is about.
fn object_part(reference: &ObjectReference) -> String {
    dns_subdomain(reference.name.as_deref().unwrap_or_default())
}

/// The longest prefix of `text` with at most `max_bytes` bytes.
fn truncate(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Converts an object's name to a DNS subdomain, as an event's name has to be one: `system:node` becomes `system-node`.
fn dns_subdomain(name: &str) -> String {
    let allowed = |char: char| match char.to_ascii_lowercase() {
        char @ ('a'..='z' | '0'..='9' | '.') => char,
        _ => '-',
    };
    let name: String = truncate(name, MAX_OBJECT_NAME_BYTES).chars().map(allowed).collect();
    let labels = name.split('.').map(|label| label.trim_matches('-')).filter(|label| !label.is_empty());
    let name = labels.collect::<Vec<_>>().join(".");
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::{MAX_OBJECT_NAME_BYTES, dns_subdomain, truncate};

    #[test]
    fn any_object_name_is_converted_to_a_dns_subdomain() {
        for (name, expected) in [
            ("web-1.example", "web-1.example"),
            ("system:node", "system-node"),
            ("system:controller:pod-garbage-collector", "system-controller-pod-garbage-collector"),
            ("Upper_Case", "upper-case"),
            ("-a-..b:.:", "a.b"),
            ("", "unnamed"),
            (":", "unnamed"),
            ("ä", "unnamed"),
        ] {
            assert_eq!(dns_subdomain(name), expected, "{name}");
        }
        let long = format!("{}:b", "a".repeat(MAX_OBJECT_NAME_BYTES - 1));
        assert_eq!(dns_subdomain(&long), "a".repeat(MAX_OBJECT_NAME_BYTES - 1));
    }

    #[test]
    fn truncation_keeps_whole_characters() {
        assert_eq!(
            (truncate("abc", 5), truncate("abc", 2), truncate("aä", 2), truncate("", 0)),
            ("abc", "ab", "a", "")
        );
    }
}
