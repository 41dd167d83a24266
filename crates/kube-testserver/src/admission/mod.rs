//! Admission webhooks: what their configurations say, and what they answer. Who is asked about a write, and when, is a
//! matter of the verbs.

mod config;
mod hook;
mod response;

#[cfg(test)]
mod tests;

pub(crate) use config::validate as validate_config;
pub(crate) use hook::{Hook, Hooks};
pub(crate) use response::{Verdict, unanswered};
