//! Bindings: the role and the subjects that get it.

use serde_json::Value;

use super::Write;
use crate::{
    object::names,
    rbac::RBAC,
    schema::ErrorList,
    validation::values::{items, text},
};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let namespaced = write.endpoint.resource.namespaced;
    let role = &write.object["roleRef"];
    errors.one_of("roleRef.apiGroup", text(role, "apiGroup"), &[RBAC]);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    errors.one_of("roleRef.kind", text(role, "kind"), kinds);
    match text(role, "name") {
        "" => errors.required("roleRef.name", ""),
        name => errors.text("roleRef.name", name, names::path_segment(name)),
    }
    for (i, one) in items(write.object, "subjects") {
        subject(one, &format!("subjects[{i}]"), namespaced, errors);
    }
}

fn subject(subject: &Value, at: &str, namespaced: bool, errors: &mut ErrorList) {
    let (kind, name) = (text(subject, "kind"), text(subject, "name"));
    if name.is_empty() {
        errors.required(format!("{at}.name"), "");
    }
    match kind {
        "User" | "Group" => errors.one_of(format!("{at}.apiGroup"), text(subject, "apiGroup"), &[RBAC]),
        "ServiceAccount" => {
            errors.one_of(format!("{at}.apiGroup"), text(subject, "apiGroup"), &[""]);
            let problem = Some(name).filter(|name| !name.is_empty()).and_then(names::subdomain);
            if problem.is_none() && !namespaced && text(subject, "namespace").is_empty() {
                errors.required(format!("{at}.namespace"), "");
            }
            errors.text(format!("{at}.name"), name, problem);
        }
        _ => errors.one_of(format!("{at}.kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
}
