//! Admission: which webhooks are called for a write, what they are sent, and what their responses do.

mod attributes;
mod call;
mod chain;
mod matching;
mod mutations;
mod policies;
mod policy_scope;
mod subresources;

pub(super) use attributes::Attributes;
pub(super) use chain::{mutate, validate};
pub(super) use subresources::{admit_connection, admit_posted};
