//! Validating and mutating admission policies.
//!
//! `definition` reads policies and bindings; for each write, `mutating` and `validating` evaluate them, with the variables of `scope`.

mod definition;
mod mutating;
mod scope;
mod validating;

pub(crate) use definition::{Binding, FailureAction, Mutation, Parameter, Policies, Policy, Validation};
pub(crate) use mutating::MutatingPolicies;
pub(crate) use validating::validate;
