//! Faults on purpose: which requests, and what goes wrong with them.
//!
//! [`Match`] says which, [`Fault`] says what; `server.fault(match, fault)` puts the two together. Everything is decided
//! by counting and by seeded dice, so a run that failed fails again.

mod inject;
mod kinds;
mod matching;
mod response;
mod rules;

pub use kinds::Fault;
pub use matching::Match;
pub use response::FaultResponse;
pub use rules::FaultRule;

pub(crate) use inject::{expired_line, inject, reset};
pub(crate) use rules::FaultRules;
