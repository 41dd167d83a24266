//! Without the feature `metrics`: nothing is measured.

use super::{Finished, LaneMeasurement, Refresh, Subject, WatchMeasurement};
use futures::Stream;
use std::{sync::Arc, time::Duration};

pub(crate) const ENABLED: bool = false;

#[derive(Clone, Debug, Default)]
pub(crate) struct Together {}

#[derive(Debug)]
pub(crate) struct ControllerMetrics;

impl ControllerMetrics {
    pub(crate) fn new(_subject: &Subject, _kind: &str, _max_concurrent: u16) -> Self {
        Self
    }

    pub(crate) fn queue(&self, _changes: usize, _background: usize, _adds: u64) {}

    pub(crate) fn started(&self, _waited: Duration) {}

    pub(crate) fn finished(&self, _finished: Finished) {}

    pub(crate) fn refresh(
        &self,
        _running: impl Iterator<Item = Duration>,
        _objects: usize,
        _lanes: LaneMeasurement,
    ) {
    }
}

#[derive(Debug)]
pub(crate) struct WatchMetrics;

impl WatchMetrics {
    pub(crate) fn new(_subject: &Subject, _kind: &str) -> Self {
        Self
    }

    pub(crate) fn record(&self, _step: WatchMeasurement) {}

    pub(crate) fn set_age(&self, _age: Duration) {}
}

pub(crate) fn describe() {}

pub(crate) fn kind_served(_kind: &str, _is_served: bool) {}

pub(crate) fn register<R: Refresh + 'static>(_refreshed: &Arc<R>) {}

pub(crate) fn unregister<R: Refresh + 'static>(_refreshed: &Arc<R>) {}

pub(crate) fn ticking<S: Stream, R>(stream: S, _refreshed: Option<Arc<R>>) -> S {
    stream
}
