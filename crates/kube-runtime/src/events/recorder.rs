//! The shell: publishing over the API.

use super::{
    dedup::{Dedup, SeriesKey},
    event::{Event, Reference, Reporter},
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

/// The server takes no longer notes.
const NOTE_BYTES: usize = 1024;
/// The longest part of an event's name that tells the object.
const NAME_BYTES: usize = 200;
/// The namespace of events about objects of the whole cluster: where client-go publishes them, and the only one that
/// servers of every version take them in (1.20 refuses `default`).
const CLUSTER_NAMESPACE: &str = "kube-system";

/// Publishes events. Clones share the memory of what was published.
///
/// An event that repeats an earlier one, less than six minutes later, counts it up as a series instead of being a new
/// one. As in client-go, it repeats one of the same type, action and reason about the same two objects; the series
/// keeps its first note. The last few thousand series are remembered. The permissions needed are `create` and `patch` on `events`
/// of the group `events.k8s.io`.
///
/// ```
/// # use kube_client::Client;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube_core::Resource;
/// use kube_runtime::events::{Event, EventType, Recorder, Reporter};
///
/// async fn tell(client: Client, object: &ConfigMap) -> Result<(), kube_client::Error> {
///     let recorder = Recorder::new(client, Reporter::from("example.com/foo-controller"));
///     let event = Event {
///         type_: EventType::Normal,
///         reason: "Ready".into(),
///         note: Some("all parts are in place".into()),
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
    dedup: Arc<Mutex<Dedup>>,
}

impl Recorder {
    /// A recorder that publishes in the name of `reporter`.
    #[must_use]
    pub fn new(client: Client, reporter: Reporter) -> Self {
        Self { client, reporter, dedup: Arc::default() }
    }

    /// Publishes that `ev` happened to the object that `reference` names.
    ///
    /// The event goes to the object's namespace, or to `kube-system` if it has none, as client-go does.
    ///
    /// # Errors
    ///
    /// What the server or the connection answers. Nothing is tried again.
    pub async fn publish(&self, ev: &Event, reference: &ObjectReference) -> Result<(), kube_client::Error> {
        let namespace = reference.namespace.as_deref().unwrap_or(CLUSTER_NAMESPACE);
        let events: Api<ApiEvent> = Api::namespaced(self.client.clone(), namespace);
        let same = SeriesKey::of(ev, Reference::from(reference));
        let now = Timestamp::now();

        let repeated = self.dedup.lock().repeat(&same, Instant::now());
        if let Some((name, count)) = repeated {
            let series = EventSeries { count, last_observed_time: MicroTime(now) };
            let patch = Patch::Merge(json!({ "series": series }));
            match events.patch(&name, &PatchParams::default(), &patch).await {
                Err(kube_client::Error::Api(status)) if status.is_not_found() => {} // expired: publish it anew
                other => return other.map(drop),
            }
        }
        let event = self.build(ev, reference, namespace, now);
        let created = events.create(&PostParams::default(), &event).await?;
        let name = created.metadata.name.unwrap_or_default();
        self.dedup.lock().published(same, name, Instant::now());
        Ok(())
    }

    fn build(&self, ev: &Event, reference: &ObjectReference, namespace: &str, now: Timestamp) -> ApiEvent {
        let object = subdomain(reference.name.as_deref().unwrap_or_default());
        let Reporter { controller, instance } = &self.reporter;
        ApiEvent {
            metadata: ObjectMeta {
                name: Some(format!("{object}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            action: Some(ev.action.clone()),
            event_time: Some(MicroTime(now)),
            note: ev.note.as_deref().map(|note| cut(note, NOTE_BYTES).to_owned()),
            reason: Some(ev.reason.clone()),
            regarding: Some(reference.clone()),
            related: ev.secondary.clone(),
            reporting_controller: Some(controller.clone()),
            reporting_instance: Some(instance.as_ref().unwrap_or(controller).clone()),
            type_: Some(ev.type_.as_str().to_owned()),
            ..ApiEvent::default()
        }
    }
}

/// The longest start of `text` that has at most so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// The name of an object as the start of an event's name, which has to be a DNS subdomain; that of an object need not
/// be one: `system:node` becomes `system-node`.
fn subdomain(name: &str) -> String {
    let allowed = |char: char| match char.to_ascii_lowercase() {
        char @ ('a'..='z' | '0'..='9' | '.') => char,
        _ => '-',
    };
    let name: String = cut(name, NAME_BYTES).chars().map(allowed).collect();
    let labels = name.split('.').map(|label| label.trim_matches('-')).filter(|label| !label.is_empty());
    let name = labels.collect::<Vec<_>>().join(".");
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::{NAME_BYTES, cut, subdomain};

    #[test]
    fn any_name_of_an_object_begins_the_name_of_an_event() {
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
            assert_eq!(subdomain(name), expected, "{name}");
        }
        let long = format!("{}:b", "a".repeat(NAME_BYTES - 1));
        assert_eq!(subdomain(&long), "a".repeat(NAME_BYTES - 1));
    }

    #[test]
    fn cuts_between_characters() {
        assert_eq!((cut("abc", 5), cut("abc", 2), cut("aä", 2), cut("", 0)), ("abc", "ab", "a", ""));
    }
}
