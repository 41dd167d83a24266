//! Running a controller: from triggers to reconciles and their results.
//!
//! - `start`: [`Controller::run`](crate::Controller::run) and `run_with`; `applier`: the same for a queue of the program.
//! - `result`: what their output consists of.
//! - `runner`: the async shell that receives triggers and starts reconciles; `stage`: what it does and waits for, `clusters`: that its
//!   stores show the present clusters.
//! - `queue`: what to reconcile, and when. `own_writes`: what reconciles have written, in between.

mod applier;
mod clusters;
mod own_writes;
mod queue;
mod result;
mod runner;
mod stage;
mod start;

pub use applier::applier;
