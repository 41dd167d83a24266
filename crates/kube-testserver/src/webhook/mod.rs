//! Asking somebody outside: admission and conversion webhooks.
//!
//! Verbs do no I/O. One that cannot go on without an answer fails with a [`Inquiry`]; the shell lets go of the world,
//! asks, and runs the verb again with the answer at hand, until it needs no more.

mod ask;
mod check;
mod inquiry;
mod target;
mod verify;

pub(crate) use ask::ask;
pub(crate) use check::check_client;
pub(crate) use inquiry::{Answers, Inquiry};
pub(crate) use target::Target;
