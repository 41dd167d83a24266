//! Refuses what exceeds a quota.

use serde_json::Value;

use super::usage::Counted;
use crate::{
    admission::{
        Objects, Operation, Write,
        plugins::resources::{ResourceList, containers},
    },
    object::meta,
    status_error::StatusError,
};

/// Resources that every container must specify when a quota limits them.
const REQUIRED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];

/// Refuses a write that uses more than a quota permits.
pub(crate) fn validate(objects: Objects<'_>, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
    let quotas = write.namespace.and_then(|namespace| objects.quotas.of(namespace));
    let Some(quotas) = quotas else { return Ok(()) };
    let own = &write.endpoint.resource;
    let stored = objects.storage.scheme.by_table(own.table).unwrap_or(own);
    let kind = Counted { group: &stored.group, plural: &stored.plural };
    if !kind.is_charged(write) {
        return Ok(());
    }
    let refused = |why: String| write.forbidden(meta::name(object), &why);
    let matching = || quotas.iter().filter(|(_, quota)| quota.counts(kind, object));
    if kind.is_pods() {
        for (name, quota) in matching() {
            missing_resources(&quota.hard, object).map_or(Ok(()), |missing| {
                Err(refused(format!("failed quota: {name}: must specify {missing}")))
            })?;
        }
    }
    let before = write.old.map(|old| kind.usage(old)).unwrap_or_default();
    let mut added = kind.usage(object);
    for (name, amount) in &mut added {
        *amount = before.get(name).map_or(*amount, |before| amount.minus(*before));
    }
    added.retain(|_, amount| !amount.is_zero() && !amount.is_negative());
    for (name, quota) in matching() {
        let exceeded: Vec<&String> = added
            .iter()
            .filter(|(resource, amount)| {
                let hard = quota.hard.get(*resource);
                hard.is_some_and(|hard| quota.used_of(resource).plus(**amount) > *hard)
            })
            .map(|(resource, _)| resource)
            .collect();
        if exceeded.is_empty() {
            continue;
        }
        let amounts = |of: &dyn Fn(&str) -> String| {
            let each = exceeded.iter().map(|resource| format!("{resource}={}", of(resource)));
            each.collect::<Vec<_>>().join(",")
        };
        return Err(refused(format!(
            "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
            amounts(&|resource| added[resource].to_string()),
            amounts(&|resource| quota.used_of(resource).to_string()),
            amounts(&|resource| quota.hard[resource].to_string()),
        )));
    }
    Ok(())
}

/// The limited resources that a container does not specify, each with the containers.
fn missing_resources(hard: &ResourceList, pod: &Value) -> Option<String> {
    let limited = REQUIRED.iter().filter(|name| hard.contains_key(**name));
    let each = limited.filter_map(|name| {
        let (list, resource) = match name.split_once('.') {
            Some(("limits", resource)) => ("limits", resource),
            Some((_, resource)) => ("requests", resource),
            None => ("requests", *name),
        };
        let lacking = containers(&pod["spec"])
            .filter(|(_, container)| container["resources"][list][resource].is_null())
            .map(|(_, container)| container["name"].as_str().unwrap_or_default());
        let mut lacking: Vec<&str> = lacking.collect();
        lacking.sort_unstable();
        (!lacking.is_empty()).then(|| format!("{name} for: {}", lacking.join(",")))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join("; "))
}

impl Counted<'_> {
    /// Whether a write of this kind can use more than before.
    fn is_charged(&self, write: &Write<'_>) -> bool {
        match (write.operation, write.subresource) {
            (Operation::Create, None) => true,
            (Operation::Update, None) => {
                self.group.is_empty() && matches!(self.plural, "services" | "persistentvolumeclaims")
            }
            (Operation::Update, Some("resize")) => self.is_pods(),
            _ => false,
        }
    }
}
