//! The part of an object that a write changes.

use serde_json::Value;

use super::allocate::qos_class;
use crate::schema::ErrorList;

/// The part of an object that a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WritePart {
    /// Everything without a subresource of its own.
    Main,
    Status,
    /// The finalizers in a namespace's spec.
    Finalize,
    /// The conditions of a CertificateSigningRequest.
    Approval,
    /// The ephemeral containers of a pod (KEP-277).
    EphemeralContainers,
    /// The resources of a pod's containers (KEP-1287).
    Resize,
}

/// Copies the part from `provided` into `object`, which is otherwise the old object.
pub(super) fn copy_part(part: WritePart, provided: &Value, object: &mut Value) {
    match part {
        WritePart::Approval => set(&mut object["status"], "conditions", &provided["status"]["conditions"]),
        WritePart::EphemeralContainers => {
            set(&mut object["spec"], "ephemeralContainers", &provided["spec"]["ephemeralContainers"]);
        }
        WritePart::Resize => {
            for list in ["containers", "initContainers"] {
                let containers = object["spec"].get_mut(list).and_then(Value::as_array_mut);
                for container in containers.into_iter().flatten() {
                    let Some(provided) = named(&provided["spec"][list], &container["name"]) else { continue };
                    for field in ["resources", "resizePolicy"] {
                        set(container, field, &provided[field]);
                    }
                }
            }
        }
        WritePart::Main | WritePart::Status | WritePart::Finalize => {}
    }
}

/// Validates the change of a part.
pub(crate) fn validate(part: WritePart, old: &Value, new: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    match part {
        WritePart::EphemeralContainers => {
            validate_ephemeral_containers(&old["spec"]["ephemeralContainers"], new, &mut errors);
        }
        WritePart::Resize => {
            let class = qos_class(&new["spec"]);
            if class != qos_class(&old["spec"]) {
                let why = "Pod QOS Class may not change as a result of resizing";
                errors.invalid("spec", format!("{class:?}"), why);
            }
        }
        _ => {}
    }
    errors
}

/// Ephemeral containers can only be added.
fn validate_ephemeral_containers(old: &Value, new: &Value, errors: &mut ErrorList) {
    const AT: &str = "spec.ephemeralContainers";
    let provided = &new["spec"]["ephemeralContainers"];
    for container in old.as_array().into_iter().flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        let what = match named(provided, &container["name"]) {
            Some(same) if same == container => continue,
            Some(_) => "changed",
            None => "removed",
        };
        errors.forbidden(AT, &format!("existing ephemeral containers {name:?} may not be {what}"));
    }
    let taken = |container: &&Value| {
        ["containers", "initContainers"]
            .iter()
            .any(|list| named(&new["spec"][list], &container["name"]).is_some())
    };
    for (index, container) in
        provided.as_array().into_iter().flatten().enumerate().filter(|(_, provided)| taken(provided))
    {
        errors.duplicate(format!("{AT}[{index}].name"), &container["name"]);
    }
}

fn named<'a>(containers: &'a Value, name: &Value) -> Option<&'a Value> {
    containers.as_array()?.iter().find(|container| container["name"] == *name)
}

fn set(object: &mut Value, field: &str, value: &Value) {
    match (object.as_object_mut(), value.is_null()) {
        (Some(map), true) => drop(map.remove(field)),
        (Some(map), false) => drop(map.insert(field.into(), value.clone())),
        (None, true) => {}
        (None, false) => object[field] = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_part_is_copied() {
        let old = json!({"spec": {"request": "r"}, "status": {"certificate": "c"}});
        let provided =
            json!({"spec": {"request": "other"}, "status": {"conditions": [1], "certificate": "x"}});
        let mut object = old.clone();
        copy_part(WritePart::Approval, &provided, &mut object);
        assert_eq!(
            object,
            json!({"spec": {"request": "r"}, "status": {"certificate": "c", "conditions": [1]}})
        );

        let old = json!({"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b"}]}});
        let provided = json!({"spec": {"nodeName": "n", "containers": [{"name": "b"}, {"name": "a", "image": "j", "resources": {"limits": 1}}]}});
        let mut object = old.clone();
        copy_part(WritePart::Resize, &provided, &mut object);
        let containers = json!([{"name": "a", "image": "i", "resources": {"limits": 1}}, {"name": "b"}]);
        assert_eq!(object, json!({"spec": {"containers": containers}}));

        let provided = json!({"spec": {"ephemeralContainers": [{"name": "d"}], "containers": []}});
        let mut object = old.clone();
        copy_part(WritePart::EphemeralContainers, &provided, &mut object);
        assert_eq!(object["spec"]["ephemeralContainers"], provided["spec"]["ephemeralContainers"]);
        assert_eq!(object["spec"]["containers"], old["spec"]["containers"]);
    }

    #[test]
    fn ephemeral_containers_are_only_added_and_a_resize_keeps_the_class() {
        let pod =
            |debug: Value| json!({"spec": {"containers": [{"name": "a"}], "ephemeralContainers": debug}});
        let errors = |part, old: Value, new: Value| -> Vec<String> {
            validate(part, &old, &new)
                .into_iter()
                .map(|error| format!("{}: {}", error.field, error.message))
                .collect()
        };
        let old = pod(json!([{"name": "d", "image": "i"}]));
        let part = WritePart::EphemeralContainers;
        assert!(
            errors(part, old.clone(), pod(json!([{"name": "d", "image": "i"}, {"name": "e"}]))).is_empty()
        );
        assert!(
            errors(part, old.clone(), pod(json!([{"name": "d"}])))[0].contains("\"d\" may not be changed")
        );
        assert!(errors(part, old.clone(), pod(json!([])))[0].contains("\"d\" may not be removed"));
        let equivalent = pod(json!([{"name": "d", "image": "i"}, {"name": "a"}]));
        assert!(
            errors(part, old, equivalent)[0].starts_with("spec.ephemeralContainers[1].name: Duplicate value")
        );

        let sized =
            |cpu: Value| json!({"spec": {"containers": [{"name": "a", "resources": {"requests": cpu}}]}});
        let (small, large) = (sized(json!({"cpu": "1"})), sized(json!({"cpu": "2"})));
        assert!(errors(WritePart::Resize, small.clone(), large).is_empty());
        assert!(errors(WritePart::Resize, small, sized(json!({})))[0].contains("QOS Class may not change"));
    }
}
