//! Every transition of the machine, without I/O.

mod backoff;
mod harness;
mod invariants;
mod listing;
mod outage;
mod streaming;
mod version_check;
mod versions;
mod watching;
