//! The observer of all reconciles of a thread.

use super::mark::ReconcileObserver;
use std::{cell::RefCell, sync::Arc};

thread_local! {
    static OBSERVER: RefCell<Option<Arc<dyn ReconcileObserver>>> = const { RefCell::new(None) };
}

/// Has all reconciles observed of the controllers that start to run on this thread from now on, or none again; the observer until now.
///
/// For tools that run a program which they did not write, on a runtime with one thread. A controller whose configuration has an observer
/// keeps that one.
///
/// ```
/// use kube_core::reconcile::{Observed, ReconcileMark, ReconcileObserver, observe_thread, observer_of_thread};
/// use std::sync::Arc;
///
/// struct Printed;
///
/// impl ReconcileObserver for Printed {
///     fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
///         println!("{reconcile}: {what:?}");
///     }
/// }
///
/// assert!(observe_thread(Some(Arc::new(Printed))).is_none());
/// assert!(observer_of_thread().is_some());
/// assert!(observe_thread(None).is_some());
/// ```
pub fn observe_thread(observer: Option<Arc<dyn ReconcileObserver>>) -> Option<Arc<dyn ReconcileObserver>> {
    OBSERVER.replace(observer)
}

/// What observes the reconciles of the controllers that start to run on this thread, if something does.
#[must_use]
pub fn observer_of_thread() -> Option<Arc<dyn ReconcileObserver>> {
    OBSERVER.with_borrow(Clone::clone)
}
