//! Events about objects, as Kubernetes' components record them.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::meta;
use crate::clock::time;

/// What happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    warns: bool,
    pub(crate) reason: &'static str,
    message: String,
}

impl Note {
    pub(crate) fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warns: false, reason, message: message.into() }
    }

    pub(crate) fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self { warns: true, reason, message: message.into() }
    }

    /// The same for the same note about the same object.
    pub(crate) fn identity(&self, about: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        (meta::text(about, "uid"), meta::name(about), self.reason, &self.message).hash(&mut hasher);
        hasher.finish()
    }

    /// A new Event. `field` is the part of the object that it is about; events of an object are listed in the order of `number`.
    pub(crate) fn event(
        &self,
        about: &Value,
        field: Option<&str>,
        component: &str,
        (number, now): (u64, &str),
    ) -> Value {
        let mut object =
            json!({"apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta::name(about)});
        for field in ["namespace", "uid", "resourceVersion"] {
            if let Some(text) = meta::text(about, field) {
                object[field] = text.into();
            }
        }
        if let Some(field) = field {
            object["fieldPath"] = field.into();
        }
        // Those about cluster-wide objects are in this namespace.
        let namespace = meta::text(about, "namespace").unwrap_or("default");
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{}.{number:016x}", meta::name(about)), "namespace": namespace},
            "involvedObject": object,
            "reason": self.reason,
            "message": self.message,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": if self.warns { "Warning" } else { "Normal" },
            "eventTime": null,
            "reportingComponent": component,
            "reportingInstance": "",
        })
    }
}

/// When an Event was last written, as far as it tells.
pub(crate) fn written_at(event: &Value) -> Option<Timestamp> {
    let managers = event["metadata"]["managedFields"].as_array().into_iter().flatten();
    let by_managers = managers.map(|manager| &manager["time"]);
    let own = [&event["metadata"]["creationTimestamp"], &event["lastTimestamp"]];
    by_managers.chain(own).filter_map(time).max()
}

/// Counts a repetition of an Event.
pub(crate) fn repeated(event: &Value, now: &str) -> Value {
    let mut event = event.clone();
    let count = event["count"].as_i64().unwrap_or(1).saturating_add(1).min(i32::MAX.into());
    event["count"] = count.into();
    event["lastTimestamp"] = now.into();
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_tells_of_an_object() {
        let metadata = json!({"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7"});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
        let note = Note::warning("Failed", "no image");
        let event = note.event(&pod, Some("spec.containers{c}"), "kubelet", (255, "t"));
        assert_eq!(
            event["involvedObject"],
            json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "n", "uid": "u",
                "resourceVersion": "7", "fieldPath": "spec.containers{c}"})
        );
        assert_eq!((meta::name(&event), &event["type"]), ("web.00000000000000ff", &json!("Warning")));
        let again = repeated(&event, "later");
        assert_eq!(
            (&again["count"], &again["firstTimestamp"], &again["lastTimestamp"]),
            (&json!(2), &json!("t"), &json!("later"))
        );
        let node = json!({"kind": "Node", "metadata": {"name": "a"}});
        assert_eq!(note.event(&node, None, "kubelet", (1, "t"))["metadata"]["namespace"], "default");
        assert_eq!(note.identity(&pod), note.clone().identity(&pod));
        assert_ne!(note.identity(&pod), Note::warning("Failed", "no disk").identity(&pod));
        assert_ne!(note.identity(&pod), note.identity(&node));
    }
}
