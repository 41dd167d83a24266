//! The samples of the users' guide, as printed there, compiled against this workspace; those that are tests run.
//!
//! A sample stands in the module of its chapter, inside a function that gives it what the text takes for granted (a client, an API, a
//! reconciler: `stage`). `printed` holds this folder against the guide: a sample that is neither here nor named there with a reason fails.
#![allow(
    dead_code,
    deprecated,
    unused_variables,
    unused_imports,
    unused_must_use,
    unreachable_code,
    missing_docs
)]
#![allow(clippy::all, clippy::unwrap_used, unreachable_pub)]

mod printed;
mod stage;

// Laid out as the guide prints them.
#[rustfmt::skip]
mod admitting;
#[rustfmt::skip]
mod applying;
#[rustfmt::skip]
mod client;
#[rustfmt::skip]
mod controlling;
#[rustfmt::skip]
mod deriving;
#[rustfmt::skip]
mod failing;
#[rustfmt::skip]
mod first;
#[rustfmt::skip]
mod generic;
#[rustfmt::skip]
mod reconciling;
#[rustfmt::skip]
mod testing;
#[rustfmt::skip]
mod third_party;
#[rustfmt::skip]
mod tuning;
#[rustfmt::skip]
mod watching;
#[rustfmt::skip]
mod watching_over;
