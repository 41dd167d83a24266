//! A plan: which fault comes where.
//!
//! `place` names a request or an event, so that it is found again in a run where other things come in another order; `fault` is what can
//! happen there; `field` is a path in an object, `edit` what users do to one; `text` reads and writes plans.

mod edit;
mod fault;
mod field;
mod place;
mod text;

pub use text::PlanError;

pub(crate) use edit::{Edit, EditFault};
pub(crate) use fault::{EventFault, Injection, Plan, RequestFault, RunFault, StepFault};
pub(crate) use field::{FieldPath, Part};
pub(crate) use place::{EventPlace, Operation, Place, Verb};
