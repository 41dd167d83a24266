//! Sources of the data of PersistentVolumeClaims: two fields for the same.

use serde_json::{Map, Value};

const MEMBERS: [&str; 3] = ["apiGroup", "kind", "name"];

pub(super) fn default(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    let text = |source: &Value, member: &str| source[member].as_str().unwrap_or_default().to_owned();
    // Sources in other namespaces are behind a feature gate.
    if spec.get("dataSourceRef").is_some_and(|source| !text(source, "namespace").is_empty()) {
        spec.remove("dataSourceRef");
    }
    let given = |spec: &Map<String, Value>, field: &str| spec.get(field).cloned().filter(Value::is_object);
    match (given(spec, "dataSource"), given(spec, "dataSourceRef")) {
        (Some(source), None) => {
            let kind = (text(&source, "apiGroup"), text(&source, "kind"));
            let is_volume = matches!(
                (kind.0.as_str(), kind.1.as_str()),
                ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
            );
            if is_volume {
                spec.insert("dataSourceRef".into(), source);
            } else {
                spec.remove("dataSource");
            }
        }
        (None, Some(source)) => {
            let members = MEMBERS.map(|member| (member.to_owned(), source[member].clone()));
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            spec.insert("dataSource".into(), members.collect::<Map<_, _>>().into());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_fields_have_the_source() {
        let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"});
        let other = json!({"apiGroup": "x.y", "kind": "Foo", "name": "n"});
        let apart = json!({"apiGroup": "x.y", "kind": "Foo", "name": "n", "namespace": "m"});
        for (given, expected) in [
            (json!({"dataSource": snapshot}), json!({"dataSource": snapshot, "dataSourceRef": snapshot})),
            (json!({"dataSource": other}), json!({})),
            (json!({"dataSourceRef": other}), json!({"dataSource": other, "dataSourceRef": other})),
            (json!({"dataSourceRef": apart}), json!({})),
            (
                json!({"dataSource": snapshot, "dataSourceRef": other}),
                json!({"dataSource": snapshot, "dataSourceRef": other}),
            ),
        ] {
            let mut spec = given;
            default(&mut spec);
            assert_eq!(spec, expected);
        }
    }
}
