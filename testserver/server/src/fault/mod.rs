//! Fault injection.
//!
//! [`Match`] selects requests, [`Fault`] says what happens to them; `server.fault(match, fault)` adds a rule. Rules count requests and use
//! a seeded random number generator, so that a failed run can be repeated.
//!
//! In the order in which data passes:
//!
//! - `matching`: selects the requests. `kinds`: what happens to them. `response`: a response in place of the server's own.
//! - `rules`: which rule a request hits, and how often each was hit.
//! - A request passes `server/faults.rs` first, which does what its fault demands; `inject` applies one to the body of a response.

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
