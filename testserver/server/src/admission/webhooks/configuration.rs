//! Reads webhook configurations into the list of webhooks.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{admission::MatchResources, schema::Expression, scheme::TableId, storage::Store};

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
    pub(crate) matches: MatchResources,
    /// `matchConditions` by name; all have to be true.
    pub(crate) match_conditions: Vec<(String, Expression)>,
    /// `failurePolicy: Fail`: a failed call refuses the write.
    pub(crate) fail_closed: bool,
    pub(crate) timeout: Duration,
    pub(crate) reinvoke: bool,
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
            matches: MatchResources::read(hook, "rules"),
            match_conditions: conditions.collect(),
            fail_closed: hook["failurePolicy"] != "Ignore",
            timeout: Duration::from_secs(hook["timeoutSeconds"].as_u64().unwrap_or(10).clamp(1, 30)),
            reinvoke: hook["reinvocationPolicy"] == "IfNeeded",
        }
    }
}
