//! Between the operator and the server: records requests and events, and injects the faults of a plan.
//!
//! `target` reads what a request is about, `session` is the state of a run, and `look` that of its cluster. `service` is what the operator
//! calls; `write` and `watch` have the faults of writes and of watches, `leases` those of a leader, whose `renewals` may need no server;
//! `answer` makes responses, `forward` sends what comes to the server. `reconciles` are what controllers of this workspace tell.

mod answer;
mod forward;
mod leases;
mod look;
mod reconciles;
mod renewals;
mod service;
mod session;
mod target;
mod watch;
mod write;

pub use answer::Body;
pub use service::ApiService;

pub(crate) use answer::call;
pub(crate) use leases::take_leases;
pub(crate) use reconciles::observe as observe_reconciles;
pub(crate) use session::Session;
