//! Writing roles as YAML.

use k8s_openapi::{api::rbac::v1::PolicyRule, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde_json::json;
use std::fmt::Write;

/// One document: `ClusterRole` or `Role`. Strings and lists are JSON, which is YAML as well and needs no rules of quoting.
pub(super) fn manifest(kind: &str, metadata: &ObjectMeta, rules: Option<&[PolicyRule]>) -> String {
    let mut text = format!("apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n");
    let mut line = |indent: &str, key: &str, value: serde_json::Value| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{indent}{key}: {value}");
    };
    for (key, value) in [("name", &metadata.name), ("namespace", &metadata.namespace)] {
        if let Some(value) = value {
            line("  ", key, json!(value));
        }
    }
    text.push_str("rules:\n");
    for rule in rules.unwrap_or_default() {
        let lists = [
            ("apiGroups", rule.api_groups.as_ref()),
            ("nonResourceURLs", rule.non_resource_urls.as_ref()),
            ("resources", rule.resources.as_ref()),
            ("resourceNames", rule.resource_names.as_ref()),
            ("verbs", Some(&rule.verbs)),
        ];
        let present = lists.iter().filter_map(|(key, list)| Some((key, (*list)?)));
        for (at, (key, list)) in present.enumerate() {
            let indent = if at == 0 { "- " } else { "  " };
            let _ = writeln!(text, "{indent}{key}: {}", json!(list));
        }
    }
    text
}
