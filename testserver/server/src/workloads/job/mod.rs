//! Job: creates pods until enough of them have succeeded, or too many have failed.
//!
//! `pod` makes its pods, with their `indexes` in an Indexed Job. `tally` counts what has become of them, by the rules of `policy`, and
//! `plan` decides what follows.

mod indexes;
mod plan;
mod pod;
mod policy;
mod tally;

pub(crate) use plan::{finished, plan_job};
pub(crate) use pod::{TRACKING, is_tracked, pod_of_job, track};
