//! Recording metrics. Without the feature `metrics` everything here is empty.
//!
//! - `controller`, `watch`: the handles of one controller and watch, looked up once.
//! - `names`: their names and descriptions.
//! - `refresh`: gauges that change with time alone.

#[cfg(feature = "metrics")]
mod controller;
#[cfg(feature = "metrics")]
mod names;
#[cfg(feature = "metrics")]
mod refresh;
#[cfg(feature = "metrics")]
mod watch;
#[cfg(feature = "metrics")]
pub(crate) use {
    controller::ControllerMetrics,
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
