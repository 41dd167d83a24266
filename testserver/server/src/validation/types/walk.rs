//! Goes through an object and its Go type, and judges every field by the rules of its type.

use std::ops::Range;

use serde_json::Value;

use super::{structs, table};
use crate::{
    gotypes::{GoStruct, GoType},
    schema::{ErrorList, FieldError},
    strategy::WritePart,
};

/// The errors of an object of a built-in kind. Parts that are as in `old` are not judged again.
pub(in crate::validation) fn validate(
    root: &'static GoStruct,
    part: WritePart,
    object: &Value,
    old: Option<&Value>,
) -> ErrorList {
    let mut walk = Walk { errors: ErrorList::default(), forbidden: Vec::new() };
    match part {
        WritePart::Status => {
            if let Some(field) = root.field("status") {
                walk.value(&field.ty, &object["status"], old.map(|old| &old["status"]), "status");
            }
        }
        _ => walk.members(root, object, old, "", &["status", "metadata"]),
    }
    walk.without_hidden()
}

/// Fields whose values are judged although they are forbidden.
const JUDGED: [&str; 3] = [".resources.claims", ".windowsOptions", ".ephemeralContainers"];

struct Walk {
    errors: ErrorList,
    /// The fields that are not judged further, and the errors of the rule that forbids them, which knows that.
    forbidden: Vec<(String, Range<usize>)>,
}

impl Walk {
    /// What is forbidden is not judged further, unless it is an element of a list.
    fn without_hidden(self) -> ErrorList {
        let Self { errors, forbidden } = self;
        let hidden = |(i, error): (usize, &FieldError)| {
            error.reason != "FieldValueForbidden"
                && forbidden.iter().any(|(hidden, own)| {
                    let rest = error.field.strip_prefix(hidden.as_str());
                    !own.contains(&i)
                        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                })
        };
        let errors = errors.into_iter().enumerate();
        errors.filter(|(i, error)| !hidden((*i, error))).map(|(_, error)| error).collect()
    }

    fn value(&mut self, ty: &'static GoType, value: &Value, old: Option<&Value>, at: &str) {
        if value.is_null() || old == Some(value) {
            return;
        }
        match ty {
            GoType::Pointer(inner) => self.value(inner, value, old, at),
            GoType::Struct(structure) => self.members(structure, value, old, at, &[]),
            GoType::List(item) | GoType::Items(item) => {
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
            GoType::Scalar(..) | GoType::SchemaOr(_) => {}
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
        let (checks, before) = (table::of(structure.name), self.errors.len());
        for check in checks.iter().filter(|check| !except.contains(&check.field)) {
            let ty = structure.field(check.field).map(|field| &field.ty);
            check.judge(value, old, ty, at, &mut self.errors);
        }
        let by_table = self.errors.len();
        if let Some(rule) = structs::of(structure.name)
            && old != Some(value)
        {
            rule(value, at, &mut self.errors);
        }
        if self.errors.len() > before {
            self.forbid(before, by_table, structure);
        }
        if checks.iter().any(|check| check.stops(value)) {
            return;
        }
        let unjudged = structs::unjudged(structure.name, value);
        let skipped: Vec<&str> =
            checks.iter().flat_map(|check| check.skipped(value, old.is_none())).collect();
        for (name, value) in value.as_object().into_iter().flatten() {
            let looked_at = ![except, &skipped, unjudged].iter().any(|names| names.contains(&name.as_str()));
            let Some(field) = structure.field(name).filter(|_| looked_at) else { continue };
            let inner = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            self.value(&field.ty, value, old.and_then(|old| old.get(name)), &inner);
        }
    }

    /// Remembers what the new errors of a struct forbid.
    fn forbid(&mut self, before: usize, by_table: usize, structure: &GoStruct) {
        let forbids = |error: &&FieldError| {
            error.reason == "FieldValueForbidden"
                && !error.field.ends_with(']')
                && !structs::judges_forbidden(structure.name)
                && !JUDGED.iter().any(|judged| error.field.ends_with(judged))
        };
        let own = by_table..self.errors.len();
        let forbidding = self.errors[before..].iter().filter(forbids);
        self.forbidden.extend(forbidding.map(|error| (error.field.clone(), own.clone())));
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
