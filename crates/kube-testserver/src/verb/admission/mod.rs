//! A write before the webhooks: who is asked, what they are told, and what their answers do.

mod attributes;
mod matching;
mod mutate;
mod posted;
mod review;
mod validate;

pub(super) use attributes::{Attributes, Operation};
pub(super) use mutate::mutate;
pub(super) use posted::{admit_connection, admit_posted};
pub(super) use validate::validate;
