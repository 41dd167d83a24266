use serde_json::{Map, Value};

/// A built-in kind whose objects are those of another kind, with some members under other names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Twin {
    /// Of the kind that is stored.
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
    api_version: &'static str,
    /// Members as they are stored, and as they are shown.
    names: &'static [(&'static str, &'static str)],
    /// Members that are not shown while they are empty.
    hidden: &'static [&'static str],
    /// What is always stored.
    always: &'static [(&'static str, Zero)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    Null,
    Text,
    Object,
}

static EVENTS: Twin = Twin {
    group: "",
    plural: "events",
    api_version: "v1",
    names: &[
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("reportingComponent", "reportingController"),
    ],
    hidden: &["reportingController", "reportingInstance"],
    always: &[
        ("involvedObject", Zero::Object),
        ("source", Zero::Object),
        ("firstTimestamp", Zero::Null),
        ("lastTimestamp", Zero::Null),
        ("eventTime", Zero::Null),
        ("reportingComponent", Zero::Text),
        ("reportingInstance", Zero::Text),
    ],
};

/// Whose twin a built-in kind is, if it is one.
pub(super) fn of(group: &str, plural: &str) -> Option<&'static Twin> {
    ((group, plural) == ("events.k8s.io", "events")).then_some(&EVENTS)
}

impl Twin {
    /// A stored object under the names of the twin.
    pub(crate) fn shown(&self, mut object: Value, api_version: &str) -> Value {
        self.rename(&mut object, |(stored, shown)| (stored, shown));
        object["apiVersion"] = api_version.into();
        if let Some(members) = object.as_object_mut() {
            members.retain(|name, value| value != "" || !self.hidden.contains(&name.as_str()));
        }
        object
    }

    /// An object of the twin as it is stored.
    pub(crate) fn stored(&self, mut object: Value) -> Value {
        self.rename(&mut object, |(stored, shown)| (shown, stored));
        object["apiVersion"] = self.api_version.into();
        for (name, zero) in self.always {
            if object[*name].is_null() {
                object[*name] = match zero {
                    Zero::Null => Value::Null,
                    Zero::Text => "".into(),
                    Zero::Object => Value::Object(Map::new()),
                };
            }
        }
        object
    }

    /// A path of the twin as it is stored.
    pub(crate) fn stored_path(&self, path: &str) -> String {
        let (first, rest) =
            path.split_once('.').map_or((path, ""), |(first, _)| (first, &path[first.len()..]));
        let stored = self.names.iter().find(|(_, shown)| *shown == first).map_or(first, |(stored, _)| stored);
        format!("{stored}{rest}")
    }

    fn rename(
        &self,
        object: &mut Value,
        way: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        let Some(members) = object.as_object_mut() else { return };
        for (from, to) in self.names.iter().map(|names| way(*names)) {
            if let Some(value) = members.remove(from) {
                members.insert(to.into(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_renamed_there_and_back() {
        let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"name": "p"}, "note": "m",
            "reportingController": "c", "reportingInstance": "i", "eventTime": "t", "reason": "r"});
        let stored = EVENTS.stored(event.clone());
        assert_eq!((&stored["apiVersion"], &stored["message"]), (&json!("v1"), &json!("m")));
        assert_eq!((&stored["involvedObject"]["name"], &stored["source"]), (&json!("p"), &json!({})));
        let shown = EVENTS.shown(stored, "events.k8s.io/v1");
        for (name, value) in event.as_object().unwrap() {
            assert_eq!(shown[name], *value, "{name}");
        }
        assert_eq!(EVENTS.stored_path("regarding.name"), "involvedObject.name");
        assert_eq!(EVENTS.stored_path("reportingController"), "reportingComponent");
        assert_eq!(EVENTS.stored_path("metadata.name"), "metadata.name");
    }
}
