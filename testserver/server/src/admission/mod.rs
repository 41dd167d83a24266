//! Admission: what decides about a write besides validation.
//!
//! `control` holds what is configured, and `context` is what admission reads. For each write, `attributes` describe it and `chain` runs,
//! in this order: `plugins`, mutating `policies`, mutating `webhooks`; then `plugins`, validating `policies`, validating `webhooks`, and
//! last the quotas, whose sums `usage` keeps. `matching` compares a write with the rules and selectors of `match_resources`.
//! `subresources` admits connections and objects posted to subresources.

mod attributes;
mod chain;
mod context;
mod control;
mod match_resources;
mod matching;
mod plugins;
mod policies;
mod subresources;
mod usage;
mod webhooks;

#[cfg(test)]
mod tests;

pub use plugins::{AdmissionPlugin, UnknownPlugin};

pub(crate) use attributes::Attributes;
pub(crate) use chain::{mutate, validate};
pub(crate) use context::AdmissionContext;
pub(crate) use control::AdmissionControl;
pub(crate) use match_resources::{MatchResources, Matched};
pub(crate) use plugins::{Objects, Operation, QuotaLedger, Write, system_class};
pub(crate) use policies::{
    Binding, FailureAction, MutatingPolicies, Mutation, Parameter, Policies, Policy, Validation,
};
pub(crate) use subresources::{admit_connection, admit_posted};
pub(crate) use webhooks::{AdmissionResponse, Webhook, Webhooks, call_failed, call_webhook};
