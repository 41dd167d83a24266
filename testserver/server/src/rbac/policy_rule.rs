//! A rule of a role, and what it permits.

use serde::{Deserialize, Deserializer, Serialize};

/// One rule of a Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PolicyRule {
    #[serde(deserialize_with = "null_is_empty")]
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", rename = "nonResourceURLs")]
    pub(crate) non_resource_urls: Vec<String>,
}

/// Go prints a list of no verbs as null.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The attributes of a request that authorization decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthorizationAttributes {
    Resource {
        verb: String,
        group: String,
        /// With its subresource: `pods/log`.
        resource: String,
        /// Empty across namespaces and at cluster scope.
        namespace: String,
        /// Empty for the collection.
        name: String,
    },
    NonResource {
        verb: String,
        path: String,
    },
}

impl PolicyRule {
    pub(crate) fn allows(&self, attributes: &AuthorizationAttributes) -> bool {
        let has = |list: &[String], requested: &str| list.iter().any(|item| item == "*" || item == requested);
        match attributes {
            AuthorizationAttributes::NonResource { verb, path } => {
                let covers = |url: &String| match url.strip_suffix('*') {
                    Some(prefix) => path.starts_with(prefix),
                    None => url == path,
                };
                has(&self.verbs, verb) && self.non_resource_urls.iter().any(covers)
            }
            AuthorizationAttributes::Resource { verb, group, resource, name, .. } => {
                has(&self.verbs, verb)
                    && has(&self.api_groups, group)
                    && self.resources.iter().any(|rule| covers_resource(rule, resource))
                    && (self.resource_names.is_empty() || self.resource_names.contains(name))
            }
        }
    }
}

/// `*` matches every resource and subresource, `*/scale` that subresource of every resource.
fn covers_resource(rule: &str, resource: &str) -> bool {
    let sub = resource.split_once('/').map(|(_, sub)| sub);
    rule == "*" || rule == resource || sub.is_some() && rule.strip_prefix("*/") == sub
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(verb: &str, group: &str, resource: &str, name: &str) -> AuthorizationAttributes {
        let [verb, group, resource, name] = [verb, group, resource, name].map(String::from);
        AuthorizationAttributes::Resource { verb, group, resource, namespace: String::new(), name }
    }

    #[test]
    fn rules_match_only_what_they_name() {
        let rule = |value| serde_json::from_value::<PolicyRule>(value).unwrap();
        let pods =
            rule(json!({"apiGroups": [""], "resources": ["pods", "*/scale"], "verbs": ["get", "list"]}));
        assert!(
            pods.allows(&request("get", "", "pods", "a")) && pods.allows(&request("list", "", "pods", ""))
        );
        assert!(
            !pods.allows(&request("watch", "", "pods", ""))
                && !pods.allows(&request("get", "apps", "pods", ""))
        );
        assert!(
            !pods.allows(&request("get", "", "pods/log", "a"))
                && pods.allows(&request("get", "", "x/scale", "a"))
        );
        let named =
            rule(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "resourceNames": ["a"]}));
        assert!(
            named.allows(&request("get", "x", "pods/log", "a"))
                && !named.allows(&request("list", "x", "pods", ""))
        );
        let path =
            |path: &str| AuthorizationAttributes::NonResource { verb: "get".into(), path: path.into() };
        let urls = rule(json!({"nonResourceURLs": ["/healthz", "/api/*"], "verbs": ["get"]}));
        assert!(urls.allows(&path("/healthz")) && urls.allows(&path("/api/v1")));
        assert!(
            !urls.allows(&path("/healthz/x")) && !urls.allows(&path("/api")) && !named.allows(&path("/api"))
        );
    }
}
