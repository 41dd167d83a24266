//! Jobs by name only that take minutes: fuzzing, mutation tests, a network that drops packets.

mod fuzz;
mod mutants;
mod packet_loss;

pub(crate) use fuzz::fuzz;
pub(crate) use mutants::mutants;
pub(crate) use packet_loss::packet_loss;
