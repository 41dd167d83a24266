//! Fault injection.
//!
//! [`Match`] selects requests, [`Fault`] says what happens to them; `server.fault(match, fault)` adds a rule. Rules count requests and use a seeded random number generator, so that a failed run can be repeated.

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
