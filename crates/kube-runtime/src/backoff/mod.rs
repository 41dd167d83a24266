//! How long to wait before trying again: the [`Backoff`] trait and the sequences built on it.

mod endless;
mod exponential;
mod reset_timer;

pub use exponential::{DefaultBackoff, ExponentialBackoff};
pub use reset_timer::ResetTimerBackoff;

pub(crate) use endless::Endless;
pub(crate) use exponential::unlimited;

use std::time::Duration;

/// A sequence of waiting times that can start over.
///
/// [`Iterator::next`] gives the time to wait after one more failure. Start over with [`Backoff::reset`] once something
/// has worked. A watcher, a stream or a controller never gives up: after `None` the last wait repeats, and the log says so
/// once.
///
/// ```
/// use kube_runtime::{utils::Backoff, watcher::DefaultBackoff};
/// use std::time::Duration;
///
/// let mut backoff = DefaultBackoff::default();
/// assert!(backoff.next().unwrap() >= Duration::from_millis(800));
/// backoff.reset();
/// ```
pub trait Backoff: Iterator<Item = Duration> + Send + Sync + Unpin {
    /// Goes back to the first waiting time.
    fn reset(&mut self);
}

impl<B: Backoff + ?Sized> Backoff for Box<B> {
    fn reset(&mut self) {
        (**self).reset();
    }
}
