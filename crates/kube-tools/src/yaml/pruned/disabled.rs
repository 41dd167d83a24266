//! Without the feature `apply-set`, there are no steps of pruning.

use std::fmt;

/// There is no set.
#[derive(Clone)]
pub(in crate::yaml) enum PruneSet {}

/// A step of pruning: there is none without the feature `apply-set`.
#[derive(Debug)]
pub enum PruneStep {}

impl fmt::Display for PruneStep {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// What was pruned.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Pruned;

impl Pruned {
    pub(in crate::yaml) fn add(&mut self, step: PruneStep) {
        match step {}
    }

    pub(in crate::yaml) fn failure(&self) -> Option<&str> {
        None
    }
}

impl fmt::Display for Pruned {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
