//! Running a controller: from triggers to reconciles and their results.
//!
//! - `start`: [`Controller::run`](crate::Controller::run) and `run_with`; `applier`: the same for a queue of the program.
//! - `runner`: the async shell that receives triggers and starts reconciles; `stage`: what it does and waits for.
//! - `queue`: what to reconcile, and when.

mod applier;
mod queue;
mod runner;
mod stage;
mod start;

pub use applier::applier;
