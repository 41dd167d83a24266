//! `x-kubernetes-validations`: rules in the Common Expression Language
//! ([KEP-2876](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2876-crd-validation-expression-language)).
//!
//! The language and Kubernetes' functions come from the `cel` and `kube-cel` crates.
//!
//! - An expression is parsed (`program`), its macros are expanded (`macros`, with the parts of `ast`), what the `cel` crate cannot
//!   evaluate is rewritten (`rewrite`, `pairs`), its types are inferred (`typing`) and its cost is estimated (`cost`).
//! - `check` does so with the rules of a new schema (`rule`), `policy` with the expressions of admission policies.
//! - `evaluate` applies rules to objects, whose values are converted by `value`. `authorizer` is a variable of policies.

mod ast;
mod authorizer;
mod check;
mod cost;
mod evaluate;
mod macros;
mod pairs;
mod policy;
mod program;
mod rewrite;
mod rule;
mod typing;
mod value;

#[cfg(test)]
mod macros_tests;
#[cfg(test)]
mod tests;

pub(crate) use authorizer::authorizer;
pub(super) use check::check as check_definition;
pub(super) use evaluate::field as check_place;
pub(crate) use program::{Expression, Scope};
pub(super) use rule::{ValidationRule, rules_of};
pub(crate) use value::{cel_map, untyped};

pub(crate) use kube_cel::cel::Value as CelValue;
