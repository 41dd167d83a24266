//! A plan: which fault comes where.
//!
//! `place` names a request or an event, so that it is found again in a run where other things come in another order; `fault` is what can
//! happen there; `text` reads and writes plans.

mod fault;
mod place;
mod text;

pub use text::PlanError;

pub(crate) use fault::{EventFault, Injection, Plan, RequestFault, RunFault, StepFault};
pub(crate) use place::{EventPlace, Operation, Place, Verb};
