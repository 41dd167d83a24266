//! Columns of cluster-wide kinds: priority and runtime classes, CRDs, webhooks, flow control, leases.

use serde_json::Value;

use super::{
    column::{AGE, CREATED_AT, NAME, TableColumn, boolean, integer, text},
    values::{NONE, condition, count, or_none, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("coordination.k8s.io", "leases") => {
            const { &[NAME, text("Holder", |o| text_or(&o["spec"]["holderIdentity"], "")), AGE] }
        }
        ("scheduling.k8s.io", "priorityclasses") => {
            const {
                &[
                    NAME,
                    integer("Value", |o| o["value"].clone()),
                    boolean("Global-Default", |o| (o["globalDefault"] == true).into()),
                    AGE,
                ]
            }
        }
        ("node.k8s.io", "runtimeclasses") => {
            const { &[NAME, text("Handler", |o| o["handler"].clone()), AGE] }
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => const { &[NAME, CREATED_AT] },
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => const { &[NAME, integer("Webhooks", |o| count(&o["webhooks"]).into()), AGE] },
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => {
            const {
                &[
                    NAME,
                    text("PriorityLevel", |o| o["spec"]["priorityLevelConfiguration"]["name"].clone()),
                    text("MatchingPrecedence", |o| o["spec"]["matchingPrecedence"].clone()),
                    text("DistinguisherMethod", |o| or_none(&o["spec"]["distinguisherMethod"]["type"])),
                    AGE,
                    text("MissingPL", |o| {
                        let dangling = condition(o, "Dangling");
                        if dangling.is_empty() { "?".into() } else { dangling.into() }
                    }),
                ]
            }
        }
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => {
            const {
                &[
                    NAME,
                    text("Type", |o| o["spec"]["type"].clone()),
                    text("NominalConcurrencyShares", |o| {
                        let limited = &o["spec"]["limited"]["nominalConcurrencyShares"];
                        let exempt = &o["spec"]["exempt"]["nominalConcurrencyShares"];
                        let shares = if limited.is_null() { exempt } else { limited };
                        if shares.is_null() { NONE.into() } else { shares.clone() }
                    }),
                    text("Queues", |o| queuing(o, "queues")),
                    text("HandSize", |o| queuing(o, "handSize")),
                    text("QueueLengthLimit", |o| queuing(o, "queueLengthLimit")),
                    AGE,
                ]
            }
        }
        _ => return None,
    })
}

fn queuing(level: &Value, field: &str) -> Value {
    let value = &level["spec"]["limited"]["limitResponse"]["queuing"][field];
    if value.is_null() { NONE.into() } else { value.clone() }
}
