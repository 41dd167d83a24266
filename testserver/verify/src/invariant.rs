//! Conditions of the user.

use crate::{
    finding::{Finding, Oracle},
    state::State,
};

/// A condition of the user that holds after every write.
pub(crate) struct Invariant {
    pub(crate) name: String,
    pub(crate) holds: Box<dyn Fn(&State) -> bool + Send + Sync>,
}

impl Invariant {
    /// What is wrong if it does not hold.
    pub(crate) fn judge(&self, state: &State) -> Option<Finding> {
        let broken = !(self.holds)(state);
        broken.then(|| Finding::new(Oracle::Invariant, format!("{} does not hold", self.name)))
    }
}
