//! Every transition of the machine, without I/O.
//!
//! - `harness`: a machine, and a script of responses and times.
//! - `listing`, `streaming`: from the first list, paged or streamed, to its end. `watching`: changes, and how a watch ends.
//! - `version_check`, `versions`: a storage that went back, and versions that cannot be compared.
//! - `backoff`, `outage`: waits after failures, and what is reported meanwhile.
//! - `invariants`: what holds after every step.

mod backoff;
mod harness;
mod invariants;
mod listing;
mod outage;
mod streaming;
mod version_check;
mod versions;
mod watching;
