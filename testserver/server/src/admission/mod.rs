//! Admission: built-in plugins, and the configurations and responses of webhooks. `handlers::admission` runs them for each write.

mod builtin;
mod config;
mod limit_ranger;
mod match_resources;
mod plugin;
mod policy;
mod priority;
mod quota;
mod resources;
mod response;
mod storage_class;
mod webhook;
mod write;

#[cfg(test)]
mod tests;

pub use plugin::{AdmissionPlugin, UnknownPlugin};

pub(crate) use builtin::{mutate, validate, validate_usage};
pub(crate) use config::validate as validate_config;
pub(crate) use match_resources::{MatchResources, Matched};
pub(crate) use policy::{
    Binding, FailureAction, Mutation, Parameter, Policies, Policy, Validation, validate_policy,
};
pub(crate) use priority::{HIGHEST_USER_PRIORITY, SYSTEM_CLASSES, system_class};
pub(crate) use quota::QuotaLedger;
pub(crate) use response::{AdmissionResponse, call_failed};
pub(crate) use webhook::{Webhook, Webhooks};
pub(crate) use write::{Objects, Operation, Write};
