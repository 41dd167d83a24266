//! A write before the webhooks: who is asked, what they are told, and what their answers do.

mod attributes;
mod call;
mod chain;
mod matching;
mod subresources;

pub(super) use attributes::{Attributes, Operation};
pub(super) use chain::{mutate, validate};
pub(super) use subresources::{admit_connection, admit_posted};
