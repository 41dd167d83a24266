//! Faults on purpose: which requests, and what goes wrong with them.
//!
//! [`Match`] says which, [`Fault`] says what; `server.fault(match, fault)` puts the two together. Everything is decided
//! by counting and by seeded dice, so a run that failed fails again.

mod answer;
mod disturb;
mod kinds;
mod matching;
mod rules;

pub use answer::Answer;
pub use kinds::Fault;
pub use matching::Match;
pub use rules::FaultRule;

pub(crate) use disturb::{disturb, expired_line, reset};
pub(crate) use rules::Rules;
