//! Every transition of the machine, without I/O.

mod bench;
mod listing;
mod streaming;
mod watching;
