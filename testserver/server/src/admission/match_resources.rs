//! Which writes a webhook or a policy is for: rules and selectors.

use serde_json::Value;

use crate::{object::selector::LabelSelector, scheme::Endpoint};

/// Which writes a webhook or a policy is for.
#[derive(Debug)]
pub(crate) struct MatchResources {
    pub(crate) rules: Vec<RuleWithOperations>,
    /// Writes that the rules match all the same.
    pub(crate) excluded: Vec<RuleWithOperations>,
    /// `matchPolicy: Equivalent`: rules for one version of a resource match all versions.
    pub(crate) equivalent: bool,
    pub(crate) namespace_selector: LabelSelector,
    pub(crate) object_selector: LabelSelector,
}

/// One rule: operations on resources.
#[derive(Debug)]
pub(crate) struct RuleWithOperations {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    /// Names of objects; empty for all.
    names: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    scope: String,
}

/// What a rule is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'a> {
    pub(crate) operation: &'a str,
    pub(crate) subresource: Option<&'a str>,
    /// Namespaces are cluster-scoped.
    pub(crate) namespaced: bool,
    pub(crate) name: &'a str,
}

impl MatchResources {
    /// Reads the selectors, and the rules in the field `rules`.
    pub(crate) fn read(value: &Value, rules: &str) -> Self {
        let read = |field: &str| {
            value[field].as_array().into_iter().flatten().map(RuleWithOperations::read).collect()
        };
        Self {
            rules: read(rules),
            excluded: read("excludeResourceRules"),
            equivalent: value["matchPolicy"] != "Exact",
            namespace_selector: selector(&value["namespaceSelector"]),
            object_selector: selector(&value["objectSelector"]),
        }
    }

    /// Whether the rules match a version of a resource.
    pub(crate) fn has(&self, endpoint: &Endpoint, matched: Matched<'_>) -> bool {
        let any = |rules: &[RuleWithOperations]| rules.iter().any(|rule| rule.matches(endpoint, matched));
        any(&self.rules) && !any(&self.excluded)
    }
}

impl RuleWithOperations {
    fn matches(&self, endpoint: &Endpoint, matched: Matched<'_>) -> bool {
        let has = |list: &[String], value: &str| list.iter().any(|item| item == "*" || item == value);
        let in_scope = match self.scope.as_str() {
            "Namespaced" => matched.namespaced,
            "Cluster" => !matched.namespaced,
            _ => true,
        };
        in_scope
            && has(&self.operations, matched.operation)
            && has(&self.groups, endpoint.group())
            && has(&self.versions, &endpoint.version().name)
            && self.has_resource(endpoint.plural(), matched.subresource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == matched.name))
    }

    /// `pods` matches the resource, `pods/*` also its subresources, `*` every resource, `*/*` everything.
    fn has_resource(&self, plural: &str, sub: Option<&str>) -> bool {
        let is = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        self.resources.iter().any(|pattern| match (pattern.split_once('/'), sub) {
            (None, None) => is(pattern, plural),
            (None, Some(_)) => false,
            (Some((resource, below)), None) => below == "*" && is(resource, plural),
            (Some((resource, below)), Some(sub)) => is(resource, plural) && is(below, sub),
        })
    }

    fn read(rule: &Value) -> Self {
        let strings = |field: &str| -> Vec<String> {
            let list = rule[field].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            operations: strings("operations"),
            groups: strings("apiGroups"),
            versions: strings("apiVersions"),
            resources: strings("resources"),
            names: strings("resourceNames"),
            scope: rule["scope"].as_str().unwrap_or("*").into(),
        }
    }
}

/// Invalid selectors were refused when the configuration was written.
fn selector(selector: &Value) -> LabelSelector {
    LabelSelector::from_object(selector).unwrap_or_default()
}
