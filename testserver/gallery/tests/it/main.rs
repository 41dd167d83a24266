//! Operators with one classic bug each, and correct ones.

#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

mod correct;
mod faulty;
mod leaders;
mod operators;
mod workloads;
