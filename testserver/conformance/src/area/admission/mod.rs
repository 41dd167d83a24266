//! Admission webhooks: which are called, with what, and what their responses do.
//!
//! `cases` is the table; `webhooks` registers them; `requests`, `matching`, `refusals`, `mutation` and `configurations` check them.

mod cases;
mod configurations;
mod matching;
mod mutation;
mod refusals;
mod requests;
mod webhooks;

pub(crate) use cases::cases;
pub(in crate::area) use webhooks::{Says, hook, only, rule, validating};
