//! Jobs by name only that take minutes: fuzzing, mutation tests, a network that drops packets, a server that fails,
//! operators of others.

mod chaos;
mod fuzz;
mod mutants;
mod packet_loss;
mod verify_foreign;

pub(crate) use chaos::chaos;
pub(crate) use fuzz::fuzz;
pub(crate) use mutants::mutants;
pub(crate) use packet_loss::packet_loss;
pub(crate) use verify_foreign::verify_foreign;
