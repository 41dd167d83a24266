//! Validating and mutating admission policies.
//!
//! `validation` checks a policy that is written, `definition` reads policies and bindings; for each write, `mutating` and `validating` evaluate them, with the variables of `scope`.

mod definition;
mod mutating;
mod scope;
mod validating;
mod validation;

pub(crate) use definition::{Binding, FailureAction, Mutation, Parameter, Policies, Policy, Validation};
pub(crate) use mutating::MutatingPolicies;
pub(crate) use validating::validate;
pub(crate) use validation::validate as validate_policy;
