use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    schema::Expression,
    scheme::Endpoint,
    selector::LabelSelector,
    store::{Store, TableId},
};

/// All webhooks in the order in which they are called: by the name of their configuration, then by their place in it.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    pub(crate) mutating: Vec<Arc<Webhook>>,
    pub(crate) validating: Vec<Arc<Webhook>>,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(crate) struct Webhook {
    /// `configuration/webhook`.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) client: Value,
    pub(crate) rules: Vec<RuleWithOperations>,
    /// `matchPolicy: Equivalent`: rules for one version of a resource match all versions.
    pub(crate) equivalent: bool,
    pub(crate) namespace_selector: LabelSelector,
    pub(crate) object_selector: LabelSelector,
    /// `matchConditions` by name; all have to be true.
    pub(crate) match_conditions: Vec<(String, Expression)>,
    /// `failurePolicy: Fail`: a failed call refuses the write.
    pub(crate) fail_closed: bool,
    pub(crate) timeout: Duration,
    pub(crate) reinvoke: bool,
}

/// One of the `rules` of a webhook.
#[derive(Debug)]
pub(crate) struct RuleWithOperations {
    pub(crate) operations: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) versions: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    pub(crate) scope: String,
}

impl Webhooks {
    /// Whether there are no webhooks, which is the usual case.
    pub(crate) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    /// Reads all configurations; `mutating` and `validating` are their tables.
    pub(crate) fn read(store: &Store, mutating: TableId, validating: TableId) -> Self {
        let all = |table| {
            let configurations = store.objects(table, None);
            configurations.flat_map(|stored| of_configuration(stored.key.name(), &stored.value())).collect()
        };
        Self { mutating: all(mutating), validating: all(validating) }
    }
}

fn of_configuration(name: &str, configuration: &Value) -> Vec<Arc<Webhook>> {
    let hooks = configuration["webhooks"].as_array().into_iter().flatten();
    hooks.map(|hook| Arc::new(Webhook::read(name, hook))).collect()
}

impl Webhook {
    pub(crate) fn read(configuration: &str, hook: &Value) -> Self {
        let name = hook["name"].as_str().unwrap_or_default();
        let conditions = hook["matchConditions"].as_array().into_iter().flatten().filter_map(|condition| {
            let expression = Expression::compile(condition["expression"].as_str()?).ok()?;
            Some((condition["name"].as_str().unwrap_or_default().to_owned(), expression))
        });
        Self {
            id: format!("{configuration}/{name}"),
            name: name.into(),
            client: hook["clientConfig"].clone(),
            rules: hook["rules"].as_array().into_iter().flatten().map(RuleWithOperations::read).collect(),
            equivalent: hook["matchPolicy"] != "Exact",
            namespace_selector: selector(&hook["namespaceSelector"]),
            object_selector: selector(&hook["objectSelector"]),
            match_conditions: conditions.collect(),
            fail_closed: hook["failurePolicy"] != "Ignore",
            timeout: Duration::from_secs(hook["timeoutSeconds"].as_u64().unwrap_or(10).clamp(1, 30)),
            reinvoke: hook["reinvocationPolicy"] == "IfNeeded",
        }
    }
}

impl RuleWithOperations {
    /// Whether the rule matches an operation on a resource or its subresource `sub`. Namespaces are cluster-scoped.
    pub(crate) fn matches(
        &self,
        operation: &str,
        endpoint: &Endpoint,
        sub: Option<&str>,
        namespaced: bool,
    ) -> bool {
        let has = |list: &[String], value: &str| list.iter().any(|item| item == "*" || item == value);
        let in_scope = match self.scope.as_str() {
            "Namespaced" => namespaced,
            "Cluster" => !namespaced,
            _ => true,
        };
        in_scope
            && has(&self.operations, operation)
            && has(&self.groups, endpoint.group())
            && has(&self.versions, &endpoint.version().name)
            && self.has_resource(endpoint.plural(), sub)
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
            scope: rule["scope"].as_str().unwrap_or("*").into(),
        }
    }
}

/// Invalid selectors were refused when the configuration was written.
fn selector(selector: &Value) -> LabelSelector {
    LabelSelector::from_object(selector).unwrap_or_default()
}
