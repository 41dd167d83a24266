//! Conversion by renaming members, such as those of Events.

use serde_json::{Map, Value};

/// Members with different names in the stored and the equivalent kind.
#[derive(Debug)]
pub(super) struct MemberNames {
    /// Stored name and equivalent name.
    names: &'static [(&'static str, &'static str)],
    /// Equivalent members that are omitted when empty.
    hidden: &'static [&'static str],
    /// Stored members that are always present.
    always: &'static [(&'static str, Zero)],
}

#[derive(Clone, Copy, Debug)]
enum Zero {
    Null,
    Text,
    Object,
}

/// Events are stored as `v1`; `events.k8s.io` is the equivalent.
pub(super) static EVENTS: MemberNames = MemberNames {
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

impl MemberNames {
    pub(super) fn convert_from_storage(&self, object: &mut Value) {
        self.rename(object, |(stored, served)| (stored, served));
        if let Some(members) = object.as_object_mut() {
            members.retain(|name, value| value != "" || !self.hidden.contains(&name.as_str()));
        }
    }

    pub(super) fn convert_to_storage(&self, object: &mut Value) {
        self.rename(object, |(stored, served)| (served, stored));
        for (name, zero) in self.always {
            if object[*name].is_null() {
                object[*name] = match zero {
                    Zero::Null => Value::Null,
                    Zero::Text => "".into(),
                    Zero::Object => Value::Object(Map::new()),
                };
            }
        }
    }

    pub(super) fn stored_path(&self, path: &str) -> String {
        let (first, rest) =
            path.split_once('.').map_or((path, ""), |(first, _)| (first, &path[first.len()..]));
        let stored =
            self.names.iter().find(|(_, served)| *served == first).map_or(first, |(stored, _)| stored);
        format!("{stored}{rest}")
    }

    fn rename(
        &self,
        object: &mut Value,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        let Some(members) = object.as_object_mut() else { return };
        for (from, to) in self.names.iter().map(|names| direction(*names)) {
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
    fn an_event_round_trips() {
        let event = json!({"kind": "Event", "regarding": {"name": "p"}, "note": "m",
            "reportingController": "c", "reportingInstance": "i", "eventTime": "t", "reason": "r"});
        let mut stored = event.clone();
        EVENTS.convert_to_storage(&mut stored);
        assert_eq!(stored["message"], "m");
        assert_eq!((&stored["involvedObject"]["name"], &stored["source"]), (&json!("p"), &json!({})));
        let mut served = stored;
        EVENTS.convert_from_storage(&mut served);
        for (name, value) in event.as_object().unwrap() {
            assert_eq!(served[name], *value, "{name}");
        }
        assert_eq!(EVENTS.stored_path("regarding.name"), "involvedObject.name");
        assert_eq!(EVENTS.stored_path("reportingController"), "reportingComponent");
        assert_eq!(EVENTS.stored_path("metadata.name"), "metadata.name");
    }
}
