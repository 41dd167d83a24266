//! Watching, caching and reconciling Kubernetes objects.
//!
//! A change of an object passes through these modules in this order; each of them can be used without the later ones:
//!
//! - [`watcher`](mod@watcher): lists and watches a collection as a stream of events, and recovers from failures.
//! - [`WatchStreamExt`]: adapters for the streams of watchers. [`predicates`] drop changes that do not matter.
//! - [`reflector`](mod@reflector): keeps a store, the cache of the objects that a watcher reports.
//! - [`scheduler`](mod@scheduler): a delaying queue of messages; the [`Controller`] uses the same queue.
//! - [`controller`]: a [`Controller`] calls a reconciler for each object that changed.
//! - [`served`]: sources of kinds that come and go.
//! - [`finalizer`](mod@finalizer), [`events`], [`wait`]: for use in reconcilers: cleaning up, publishing events, waiting.
//! - `metrics`, with the feature of that name: the metrics of controllers and watches.
//!
//! What surrounds controllers is in the crate `kube-operator`: leader election, sharding, children by server-side apply, the status of
//! objects, the manager.

// Behind them: `stream_ext` and `predicate` are the adapters of streams; `queue` is behind `scheduler` and `controller`; `backoff` has
// retry delays; `version` compares resourceVersions. Helpers of all: `delay` waits, `task` ends with its handle, `unwind` catches panics of
// users' code, `capacity` gives memory back.

#![cfg_attr(
    not(feature = "compact-cache"),
    allow(
        dead_code,
        unused_imports,
        reason = "some parts of stores and watches are for compact caches only"
    )
)]

mod backoff;
mod capacity;
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
#[cfg(not(feature = "metrics"))]
mod metrics;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod reflector;
pub mod scheduler;
pub mod served;
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
    //! Stream adapters, backoffs and other building blocks.

    pub use crate::backoff::{Backoff, ResetTimerBackoff};
    pub use crate::predicate::{Predicate, PredicateConfig, PredicateFilter, predicates};
    pub use crate::stream_ext::{EventDecode, EventModify, Reflect, StreamBackoff, WatchStreamExt};
    pub use crate::task::CancelableJoinHandle;

    pub mod predicate {
        //! Dropping changes that do not matter from a stream of objects.

        pub use crate::predicate::{Combine, Fallback, Predicate, PredicateConfig, PredicateFilter};
    }
}
