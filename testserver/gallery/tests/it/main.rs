//! Operators with one classic bug each, and correct ones: [`gallery`] has them all.
//!
//! - `operators` has what they share, and the first of them; `errors`, `statuses`, `cleanup`, `caches`, `workloads`, `leaders`, `sharding`,
//!   `upgrades`, `webhooks` and `edits` have those of a class, `others` edits of what is not the operator's alone.
//! - `correct` and `faulty` ask for single answers.

#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

mod caches;
mod cleanup;
mod correct;
mod edits;
mod errors;
mod faulty;
mod gallery;
mod leaders;
mod operators;
mod others;
mod sharding;
mod statuses;
mod upgrades;
mod webhooks;
mod workloads;
