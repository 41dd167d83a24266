//! Every transition of the machine, without I/O.

mod any_order;
mod bench;
mod doubting;
mod listing;
mod streaming;
mod versions;
mod waits;
mod watching;
