//! Aggregated ClusterRoles: their rules are those of the roles that they select.

use serde_json::Value;

use crate::object::{meta, selector::LabelSelector};

/// Sets the rules of every role with an aggregation rule. Returns what to write, in order.
pub(crate) fn aggregate(mut roles: Vec<Value>) -> Vec<Value> {
    let mut changed = Vec::new();
    // Aggregated roles may select aggregated roles: each round completes at least one of them. The bound stops roles that select each
    // other.
    for _ in 0..=roles.len() {
        let mut settled = true;
        for at in 0..roles.len() {
            let Some(rules) = aggregated(&roles[at], &roles) else { continue };
            if !same_rules(&rules, roles[at]["rules"].as_array().map_or(&[], Vec::as_slice)) {
                // Seen by the next role: two that select each other would swap their rules for ever otherwise.
                roles[at]["rules"] = rules.into();
                changed.push(roles[at].clone());
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
    changed
}

/// `None` when the role has no aggregation rule.
fn aggregated(role: &Value, roles: &[Value]) -> Option<Vec<Value>> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    let selectors: Vec<LabelSelector> = selectors.iter().filter_map(LabelSelector::from_object).collect();
    let mut rules: Vec<Value> = Vec::new();
    for other in roles.iter().filter(|other| meta::name(other) != meta::name(role)) {
        let label = |key: &str| other["metadata"]["labels"][key].as_str();
        if selectors.iter().any(|selector| selector.matches(label)) {
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}

/// Order does not matter.
fn same_rules(one: &[Value], other: &[Value]) -> bool {
    one.len() == other.len() && one.iter().all(|rule| other.contains(rule))
}
