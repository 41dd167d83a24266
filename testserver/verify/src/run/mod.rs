//! One run of the operator with a plan.
//!
//! `thread` is where it happens, `cluster` its server. `course` goes through the steps, with the `faults` that come between them or an
//! `edit` of a user at the end; `times` is how long things take.

mod cluster;
mod course;
mod edit;
mod faults;
mod thread;
mod times;

pub(crate) use cluster::slow_controllers;
pub(crate) use thread::run;
