//! Jobs by name only that take minutes: fuzzing, mutation tests, a network that drops packets, a server that fails,
//! operators that are broken in every place.

mod chaos;
mod fuzz;
mod mutants;
mod packet_loss;
mod verify;

pub(crate) use chaos::chaos;
pub(crate) use fuzz::fuzz;
pub(crate) use mutants::mutants;
pub(crate) use packet_loss::packet_loss;
pub(crate) use verify::{verify_all, verify_foreign};
