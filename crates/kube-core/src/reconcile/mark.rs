//! The mark of a reconcile, which its requests carry.

use super::write::OwnWrite;
use http::{Method, Uri};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// How many marks have an observer. Reads of stores ask it first, so that they cost nothing where there is none.
static OBSERVED: AtomicUsize = AtomicUsize::new(0);

/// One reconcile of one object by one controller: an extension of the requests that the reconcile makes. Clones are the same.
#[derive(Clone)]
pub struct ReconcileMark(Arc<Reconcile>);

struct Reconcile {
    controller: Arc<str>,
    namespace: Option<Box<str>>,
    name: Box<str>,
    /// `None` once they were taken: later writes are recorded nowhere.
    writes: Mutex<Option<Vec<OwnWrite>>>,
    observer: Option<Arc<dyn ReconcileObserver>>,
}

impl ReconcileMark {
    /// The mark of a reconcile of the object with this name by this controller.
    #[must_use]
    pub fn new(controller: impl Into<Arc<str>>, namespace: Option<&str>, name: &str) -> Self {
        Self::with(controller.into(), namespace, name, None)
    }

    /// Like [`new`](Self::new), for a reconcile that `observer` observes.
    #[must_use]
    pub fn observed(
        controller: impl Into<Arc<str>>,
        namespace: Option<&str>,
        name: &str,
        observer: Arc<dyn ReconcileObserver>,
    ) -> Self {
        OBSERVED.fetch_add(1, Ordering::Relaxed);
        Self::with(controller.into(), namespace, name, Some(observer))
    }

    fn with(
        controller: Arc<str>,
        namespace: Option<&str>,
        name: &str,
        observer: Option<Arc<dyn ReconcileObserver>>,
    ) -> Self {
        let writes = Mutex::new(Some(Vec::new()));
        let (namespace, name) = (namespace.map(Into::into), name.into());
        Self(Arc::new(Reconcile { controller, namespace, name, writes, observer }))
    }

    /// The name of the controller.
    #[must_use]
    pub fn controller(&self) -> &str {
        &self.0.controller
    }

    /// The namespace of the object that is reconciled; `None` if it is cluster-scoped.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.namespace.as_deref()
    }

    /// The name of the object that is reconciled.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Records a write, until [`take_writes`](Self::take_writes).
    pub fn record(&self, write: OwnWrite) {
        self.observe(|| Observed::Wrote(&write));
        if let Some(writes) = &mut *self.writes() {
            writes.push(write);
        }
    }

    /// The writes so far, in the order in which they were confirmed. The reconcile has ended: no more are recorded.
    #[must_use]
    pub fn take_writes(&self) -> Vec<OwnWrite> {
        self.writes().take().unwrap_or_default()
    }

    /// Tells the observer, if there is one, what the reconcile does.
    pub fn observe<'a>(&self, what: impl FnOnce() -> Observed<'a>) {
        if let Some(observer) = &self.0.observer {
            observer.observe(self, &what());
        }
    }

    /// Whether any reconcile of the process has an observer: the question that comes before [`observe`](Self::observe) where even a look at
    /// the current task would cost too much.
    #[must_use]
    pub fn any_observed() -> bool {
        OBSERVED.load(Ordering::Relaxed) > 0
    }

    fn writes(&self) -> MutexGuard<'_, Option<Vec<OwnWrite>>> {
        self.0.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reconcile {
    fn drop(&mut self) {
        if self.observer.is_some() {
            OBSERVED.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for ReconcileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reconcile of ")?;
        if let Some(namespace) = self.namespace() {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{} in {}", self.name(), self.controller())
    }
}

impl fmt::Debug for ReconcileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = self.writes().as_ref().map_or(0, Vec::len);
        f.debug_struct("ReconcileMark")
            .field("controller", &self.controller())
            .field("namespace", &self.namespace())
            .field("name", &self.name())
            .field("writes", &writes)
            .finish_non_exhaustive()
    }
}

/// Sees what reconciles read and write: for tools that look for what a reconciler's decisions rest on.
///
/// It is called in the task of the reconcile, at the place where it reads or writes, and in that of the controller when it starts and has
/// ended: it should return soon. A reconcile that is dropped, as at the end of its controller, has no end.
pub trait ReconcileObserver: Send + Sync + 'static {
    /// A reconcile does something.
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>);
}

/// What a reconcile does.
#[derive(Debug)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// It starts.
    Started {
        /// Why, as the span of the reconcile has it: `object updated`.
        reason: &'a str,
        /// From 1: how often the object was reconciled since this last succeeded.
        attempt: u32,
        /// The object that it gets, as the store of the controller has it.
        object: StoreRead,
    },
    /// It has ended.
    Ended {
        /// How, as the span of the reconcile has it: `success`, `requeue`, `requeue_after`, `error`, `panic`, `timeout` or `revoked`.
        outcome: &'static str,
    },
    /// It sends a request.
    Requested {
        /// The verb.
        method: &'a Method,
        /// Path and query.
        uri: &'a Uri,
    },
    /// The server has confirmed a write.
    Wrote(&'a OwnWrite),
    /// It reads a store.
    Read(StoreRead),
}

/// A read of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreRead {
    /// The API group of the objects; empty for the core group.
    pub group: String,
    /// Their resource, such as `pods`.
    pub plural: String,
    /// The object that was asked for, by namespace and name. `None` if it was any number of objects.
    pub object: Option<(Option<String>, String)>,
    /// The resourceVersion of the object that was returned. `None` if there was none, or for any number of objects.
    pub resource_version: Option<String>,
}

impl StoreRead {
    /// A read of one object, which was returned in this version.
    #[must_use]
    pub fn of_object(
        group: impl Into<String>,
        plural: impl Into<String>,
        namespace: Option<&str>,
        name: &str,
        resource_version: Option<String>,
    ) -> Self {
        let object = Some((namespace.map(str::to_owned), name.to_owned()));
        Self { group: group.into(), plural: plural.into(), object, resource_version }
    }

    /// A read of any number of objects.
    #[must_use]
    pub fn of_many(group: impl Into<String>, plural: impl Into<String>) -> Self {
        Self { group: group.into(), plural: plural.into(), object: None, resource_version: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Mutex<Vec<String>>);

    impl ReconcileObserver for Log {
        fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
            self.0.lock().unwrap().push(format!("{}: {what:?}", reconcile.name()));
        }
    }

    fn write() -> OwnWrite {
        let response = br#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7"}}"#;
        OwnWrite::of(&Method::PUT, &Uri::from_static("/api/v1/nodes/a"), response).unwrap()
    }

    #[test]
    fn writes_are_taken_once_and_later_ones_are_not_kept() {
        let mark = ReconcileMark::new("nodes", None, "a");
        mark.record(write());
        mark.clone().record(write());
        assert_eq!(mark.take_writes().len(), 2);
        mark.record(write());
        assert_eq!(mark.take_writes(), []);
        assert_eq!(mark.to_string(), "the reconcile of a in nodes");
    }

    #[test]
    fn an_observer_sees_what_its_reconcile_does_and_nothing_is_made_without_one() {
        ReconcileMark::new("nodes", None, "a").observe(|| unreachable!("nobody observes"));
        let log = Arc::new(Log::default());
        let mark = ReconcileMark::observed("nodes", None, "a", log.clone());
        assert!(ReconcileMark::any_observed());
        mark.record(write());
        let read = StoreRead::of_object("", "nodes", None, "b", Some("3".into()));
        mark.observe(|| Observed::Read(read));
        let seen = log.0.lock().unwrap().join("\n");
        assert!(seen.contains("a: Wrote(") && seen.contains("a: Read("), "{seen}");
    }
}
