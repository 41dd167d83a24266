//! Goes through an object and its Go type, and judges every field by the rules of its type.

use serde_json::Value;

use super::{custom, table};
use crate::{
    gotypes::{GoStruct, GoType},
    schema::FieldError,
    strategy::WritePart,
};

/// The errors of an object of a built-in kind. Parts that are as in `old` are not judged again.
pub(crate) fn validate(
    root: &'static GoStruct,
    part: WritePart,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut walk = Walk { errors: Vec::new() };
    match part {
        WritePart::Status => {
            if let Some(field) = root.field("status") {
                walk.value(&field.ty, &object["status"], old.map(|old| &old["status"]), "status");
            }
        }
        _ => walk.members(root, object, old, "", &["status", "metadata"]),
    }
    without_hidden(walk.errors)
}

/// Fields whose values are judged although they are forbidden.
const JUDGED: [&str; 3] = [".resources.claims", ".windowsOptions", ".ephemeralContainers"];

/// What is forbidden is not judged further, unless it is an element of a list.
fn without_hidden(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let hides = |field: &str| !field.ends_with(']') && !JUDGED.iter().any(|judged| field.ends_with(judged));
    let forbidden =
        errors.iter().filter(|error| error.reason == "FieldValueForbidden" && hides(&error.field));
    let forbidden: Vec<String> = forbidden.map(|error| error.field.clone()).collect();
    errors.retain(|error| {
        error.reason == "FieldValueForbidden"
            || !forbidden.iter().any(|hidden| {
                error
                    .field
                    .strip_prefix(hidden.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
    });
    errors
}

struct Walk {
    errors: Vec<FieldError>,
}

impl Walk {
    fn value(&mut self, ty: &'static GoType, value: &Value, old: Option<&Value>, at: &str) {
        if value.is_null() || old == Some(value) {
            return;
        }
        match ty {
            GoType::Pointer(inner) => self.value(inner, value, old, at),
            GoType::Struct(structure) => self.members(structure, value, old, at, &[]),
            GoType::List(item) => {
                let former = old.and_then(Value::as_array);
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    let same =
                        former.and_then(|old| old.iter().find(|old| *old == value).or_else(|| old.get(i)));
                    self.value(item, value, same, &format!("{at}[{i}]"));
                }
            }
            GoType::Map(item, _) => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    self.value(item, value, old.and_then(|old| old.get(key)), &format!("{at}[{key}]"));
                }
            }
            GoType::Scalar(..) => {}
        }
    }

    fn members(
        &mut self,
        structure: &'static GoStruct,
        value: &Value,
        old: Option<&Value>,
        at: &str,
        except: &[&str],
    ) {
        for check in table::of(structure.name).iter().filter(|check| !except.contains(&check.field)) {
            let ty = structure.field(check.field).map(|field| &field.ty);
            check.judge(value, old, ty, at, &mut self.errors);
        }
        if let Some(rule) = custom::of(structure.name)
            && old != Some(value)
        {
            rule(value, at, &mut self.errors);
        }
        let skipped: Vec<&str> =
            table::of(structure.name).iter().flat_map(|check| check.skipped(value, old.is_none())).collect();
        for (name, value) in value.as_object().into_iter().flatten() {
            let looked_at = !except.contains(&name.as_str()) && !skipped.contains(&name.as_str());
            let Some(field) = structure.field(name).filter(|_| looked_at) else { continue };
            let inner = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            self.value(&field.ty, value, old.and_then(|old| old.get(name)), &inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gotypes;

    fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
        let root = gotypes::by_name("api.core.v1.PodTemplate").unwrap();
        let errors = validate(root, WritePart::Main, object, old);
        errors.iter().map(|error| format!("{}: {}", error.field, error.reason)).collect()
    }

    #[test]
    fn what_did_not_change_is_not_judged_again() {
        let template = |policy: &str, scheme: &str| {
            let get = json!({"port": 80, "scheme": scheme});
            json!({"template": {"spec": {"containers": [{"name": "c", "image": "i", "imagePullPolicy": policy,
                "livenessProbe": {"httpGet": get}}]}}})
        };
        let old = template("Maybe", "FTP");
        let scheme = "template.spec.containers[0].livenessProbe.httpGet.scheme: FieldValueNotSupported";
        let policy = "template.spec.containers[0].imagePullPolicy: FieldValueNotSupported";
        assert_eq!(errors(&old, None), [policy, scheme]);
        assert!(errors(&old, Some(&old)).is_empty());
        assert_eq!(errors(&template("Maybe", "GOPHER"), Some(&old)), [scheme]);
        assert!(errors(&template("Always", "HTTP"), Some(&old)).is_empty());
    }

    #[test]
    fn of_several_sources_only_the_first_is_judged() {
        let object = json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": ""}, "secret": {}}]}}});
        let at = "template.spec.volumes[0]";
        assert_eq!(
            errors(&object, None),
            [format!("{at}.hostPath: FieldValueForbidden"), format!("{at}.secret: FieldValueForbidden")]
        );
    }
}
