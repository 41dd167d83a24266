//! Validating and mutating admission policies: their definitions and bindings. `handlers::admission` evaluates them.

mod check;
mod definition;

pub(crate) use check::validate as validate_policy;
pub(crate) use definition::{Binding, FailureAction, Mutation, Parameter, Policies, Policy, Validation};
