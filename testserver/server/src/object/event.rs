//! Events about objects, as Kubernetes' components record them.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::meta;

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

    /// The name of the Event: the same note about the same object has the same, so that repetitions are counted.
    pub(crate) fn event_name(&self, about: &Value) -> String {
        let mut hasher = DefaultHasher::new();
        (meta::text(about, "uid"), self.reason, &self.message).hash(&mut hasher);
        format!("{}.{:016x}", meta::name(about), hasher.finish())
    }

    /// A new Event. `field` is the part of the object that it is about.
    pub(crate) fn event(&self, about: &Value, field: Option<&str>, component: &str, now: &str) -> Value {
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
            "metadata": {"name": self.event_name(about), "namespace": namespace},
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

/// Counts a repetition of an Event.
pub(crate) fn repeated(event: &Value, now: &str) -> Value {
    let mut event = event.clone();
    event["count"] = (event["count"].as_i64().unwrap_or(1) + 1).into();
    event["lastTimestamp"] = now.into();
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_note_is_the_same_event() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "7"}});
        let note = Note::warning("Failed", "no image");
        let event = note.event(&pod, Some("spec.containers{c}"), "kubelet", "t");
        assert_eq!(
            event["involvedObject"],
            json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "n", "uid": "u",
            "resourceVersion": "7", "fieldPath": "spec.containers{c}"})
        );
        assert_eq!((meta::name(&event), &event["type"]), (note.event_name(&pod).as_str(), &json!("Warning")));
        let again = repeated(&event, "later");
        assert_eq!(
            (&again["count"], &again["firstTimestamp"], &again["lastTimestamp"]),
            (&json!(2), &json!("t"), &json!("later"))
        );
        assert_ne!(note.event_name(&pod), Note::warning("Failed", "no disk").event_name(&pod));
        let node = json!({"kind": "Node", "metadata": {"name": "a"}});
        assert_eq!(note.event(&node, None, "kubelet", "t")["metadata"]["namespace"], "default");
    }
}
