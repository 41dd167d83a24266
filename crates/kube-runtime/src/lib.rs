//! Watching, caching and reconciling Kubernetes objects.
//!
//! The life of a change: a [`watcher`](mod@watcher) sees it, a [`reflector`](mod@reflector) keeps it, a
//! [`Controller`] calls a reconciler for it. Each of them can be used without the next.
//!
//! - [`watcher`](fn@watcher), [`watch_object`](watcher::watch_object): streams of events that survive faults.
//! - [`reflector`](fn@reflector), [`reflector::store`](fn@reflector::store): a cache of what a watcher reports.
//! - [`WatchStreamExt`]: what to put behind a watcher. [`predicates`]: telling changes that matter.
//! - [`Controller`], [`finalizer`](fn@finalizer), [`wait`]: acting on changes.
//! - [`scheduler`](mod@scheduler): the queue behind it all.

mod backoff;
mod delay;
mod predicate;
mod queue;
mod stream_ext;
mod task;
mod unwind;
mod version;

pub mod controller;
pub mod events;
pub mod finalizer;
pub mod reflector;
pub mod scheduler;
pub mod wait;
pub mod watcher;

pub use controller::{Config, Controller, applier};
pub use finalizer::finalizer;
pub use predicate::{Predicate, PredicateConfig, predicates};
pub use reflector::reflector;
pub use scheduler::scheduler;
pub use stream_ext::WatchStreamExt;
pub use wait::conditions;
#[allow(deprecated)]
pub use watcher::metadata_watcher;
pub use watcher::watcher;

pub mod utils {
    //! Adapters for streams, backoffs, and other parts to build with.

    pub use crate::backoff::{Backoff, ResetTimerBackoff};
    pub use crate::predicate::{Predicate, PredicateConfig, PredicateFilter, predicates};
    pub use crate::stream_ext::{EventDecode, EventModify, Reflect, StreamBackoff, WatchStreamExt};
    pub use crate::task::CancelableJoinHandle;

    pub mod predicate {
        //! Telling changes that matter from those that do not.

        pub use crate::predicate::{Combine, Fallback, Predicate, PredicateConfig, PredicateFilter};
    }
}
