//! Recording metrics. Without the feature `metrics` everything here is empty.
//!
//! - `controller`, `watch`, `election`: the handles of one controller, watch and elector, looked up once.
//! - `names`: their names and descriptions.
//! - `refresh`: gauges that change with time alone.

#[cfg(feature = "metrics")]
mod controller;
#[cfg(feature = "metrics")]
mod election;
#[cfg(feature = "metrics")]
mod names;
#[cfg(feature = "metrics")]
mod refresh;
#[cfg(feature = "metrics")]
mod watch;
#[cfg(feature = "metrics")]
pub(crate) use {
    controller::ControllerMetrics,
    election::ElectionMetrics,
    names::{QUEUE_DURATION, TIME, WORK_DURATION},
    refresh::{ENABLED, refresh_all, register, ticking, unregister},
    watch::WatchMetrics,
};

#[cfg(not(feature = "metrics"))]
mod disabled;
#[cfg(not(feature = "metrics"))]
pub(crate) use disabled::*;

mod event;
pub(crate) use event::{Finished, Refresh, WatchMeasurement};
