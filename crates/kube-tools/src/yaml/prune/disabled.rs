//! Without the feature `apply-set`, nothing is pruned.

use kube_client::discovery::RestMapperError;
use kube_core::GroupVersionKind;

use crate::yaml::objects::Entry;
use crate::yaml::progress::Reporter;
use crate::yaml::pruned::PruneStep;
use crate::yaml::settings::Settings;
use crate::yaml::write::Verb;

/// A set that is applied, to be pruned afterwards.
pub(in crate::yaml) enum Pruning {}

pub(in crate::yaml) async fn begin(
    settings: &Settings,
    _: &Verb,
    _: &mut [Entry],
) -> Result<Option<Pruning>, Box<PruneStep>> {
    match settings.apply_set {
        None => Ok(None),
        Some(ref set) => match *set {},
    }
}

impl Pruning {
    pub(in crate::yaml) fn refusal(&self, _: &GroupVersionKind) -> Option<RestMapperError> {
        match *self {}
    }

    pub(in crate::yaml) async fn finish(self, _: &Reporter) {
        match self {}
    }

    pub(in crate::yaml) fn applied(&mut self, _: Option<&str>) {
        match *self {}
    }

    pub(in crate::yaml) fn skip(self, _: &Reporter) {
        match self {}
    }
}
