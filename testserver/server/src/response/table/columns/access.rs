//! Columns of RBAC, certificates and service account kinds.

use serde_json::Value;

use super::{
    column::{AGE, CREATED_AT, NAME, TableColumn, text, wide},
    values::{NONE, condition, items, labels, or_none},
};
use crate::response::table::age;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        (RBAC, "roles" | "clusterroles") => const { &[NAME, CREATED_AT] },
        (RBAC, "rolebindings" | "clusterrolebindings") => ROLE_BINDINGS,
        ("certificates.k8s.io", "certificatesigningrequests") => SIGNING_REQUESTS,
        ("certificates.k8s.io", "clustertrustbundles") => {
            const { &[NAME, text("SignerName", |o| or_none(&o["spec"]["signerName"]))] }
        }
        ("certificates.k8s.io", "podcertificaterequests") => POD_CERTIFICATE_REQUESTS,
        _ => return None,
    })
}

const ROLE_BINDINGS: &[TableColumn] = &[
    NAME,
    text("Role", |o| {
        let part = |field: &str| o["roleRef"][field].as_str().unwrap_or_default();
        format!("{}/{}", part("kind"), part("name")).into()
    }),
    AGE,
    wide(text("Users", |o| subjects(o, "User"))),
    wide(text("Groups", |o| subjects(o, "Group"))),
    wide(text("ServiceAccounts", |o| subjects(o, "ServiceAccount"))),
];

const SIGNING_REQUESTS: &[TableColumn] = &[
    NAME,
    AGE,
    text("SignerName", |o| o["spec"]["signerName"].clone()),
    text("Requestor", |o| o["spec"]["username"].clone()),
    text("RequestedDuration", |o| match o["spec"]["expirationSeconds"].as_i64() {
        Some(seconds) => age::human(seconds).into(),
        None => NONE.into(),
    }),
    text("Condition", stage),
];

const POD_CERTIFICATE_REQUESTS: &[TableColumn] = &[
    NAME,
    text("PodName", |o| o["spec"]["podName"].clone()),
    text("ServiceAccountName", |o| o["spec"]["serviceAccountName"].clone()),
    text("NodeName", |o| o["spec"]["nodeName"].clone()),
    text("SignerName", |o| o["spec"]["signerName"].clone()),
    text("State", decision),
    text("UnverifiedUserAnnotations", |o| labels(&o["spec"]["unverifiedUserAnnotations"])),
];

/// The condition of a PodCertificateRequest.
fn decision(request: &Value) -> Value {
    let states = ["Issued", "Denied", "Failed"];
    states.into_iter().find(|state| condition(request, state) == "True").unwrap_or("Pending").into()
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let ours = items(&binding["subjects"]).filter(|subject| subject["kind"] == kind);
    let names = ours.map(|subject| {
        let part = |field: &str| subject[field].as_str().unwrap_or_default();
        match kind {
            "ServiceAccount" => format!("{}/{}", part("namespace"), part("name")),
            _ => part("name").to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

/// The condition of a CertificateSigningRequest.
fn stage(request: &Value) -> Value {
    let conditions =
        || items(&request["status"]["conditions"]).filter_map(|condition| condition["type"].as_str());
    let mut words: Vec<&str> = ["Approved", "Denied", "Failed"]
        .into_iter()
        .filter(|word| conditions().any(|kind| kind == *word))
        .collect();
    if words.is_empty() {
        words.push("Pending");
    }
    if request["status"]["certificate"].as_str().is_some_and(|certificate| !certificate.is_empty()) {
        words.push("Issued");
    }
    words.join(",").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_pending_until_it_is_decided() {
        assert_eq!(stage(&json!({})), "Pending");
        let approved = json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "x"}});
        assert_eq!(stage(&approved), "Approved,Issued");
    }
}
