//! States of the cluster that can be compared.
//!
//! `object` names objects, `names` knows which names are random, `snapshot` reads the objects from the server and answers questions of the
//! user about them, `times` finds times in texts, `normal` removes what differs between two runs that are the same, `history` what is left
//! of a change that was taken back, `difference` compares, `hide` keeps secrets out.

mod difference;
mod hide;
mod history;
mod names;
mod normal;
mod object;
mod snapshot;
mod times;

pub use snapshot::State;

pub(crate) use difference::{Difference, compare, paths};
pub(crate) use hide::Hidden;
pub(crate) use history::without_history;
pub(crate) use names::Names;
pub(crate) use normal::{Normal, TOUCHED, normalize};
pub(crate) use object::{ObjectName, qualified};
pub(crate) use times::without_times;
