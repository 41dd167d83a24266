//! Subresources of pods: log, exec, attach, portforward, eviction and binding; and service account tokens.
//!
//! No case needs a node that runs pods: pods stay unscheduled.
//! `cases` is the table, `setup` makes the pods; `streams`, `eviction`, `binding` and `tokens` check them.

mod binding;
mod cases;
mod eviction;
mod setup;
mod streams;
mod tokens;

pub(crate) use cases::cases;
