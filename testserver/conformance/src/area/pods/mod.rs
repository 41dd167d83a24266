//! Subresources of pods: log, exec, attach, portforward, eviction and binding; and service account tokens.
//!
//! No case needs a node that runs pods: pods stay unscheduled. `setup` makes the pods; `streams`, `eviction`, `binding` and `tokens` have
//! the cases.

mod binding;
mod eviction;
mod setup;
mod streams;
mod tokens;

use crate::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    [streams::cases(), eviction::cases(), binding::cases(), tokens::cases()].concat()
}
