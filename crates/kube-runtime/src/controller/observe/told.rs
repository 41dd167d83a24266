//! Tells a [`ReconcileObserver`] when reconciles start and how they end.

use super::outcome::ReconcileOutcome;
use crate::{controller::reconcile::ReconcileReason, reflector::ObjectKey, unwind::catch_panic};
use kube_core::{
    Resource,
    reconcile::{Observed, ReconcileMark, ReconcileObserver, StoreRead},
};
use std::sync::Arc;

/// What observes the reconciles of a controller.
pub(crate) struct Told {
    observer: Arc<dyn ReconcileObserver>,
    controller: Arc<str>,
    group: String,
    plural: String,
}

impl Told {
    /// Of a controller of `K` with this name.
    pub(crate) fn of<K: Resource>(
        observer: Arc<dyn ReconcileObserver>,
        controller: &str,
        dyntype: &K::DynamicType,
    ) -> Self {
        let (group, plural) = (K::group(dyntype).into_owned(), K::plural(dyntype).into_owned());
        Self { observer, controller: controller.into(), group, plural }
    }

    /// `version` is the resourceVersion of the object.
    pub(super) fn started(
        &self,
        key: &ObjectKey,
        reason: &ReconcileReason,
        attempt: u32,
        version: Option<&str>,
    ) {
        let (namespace, version) = (key.namespace.as_deref(), version.map(str::to_owned));
        let object = StoreRead::of_object(&*self.group, &*self.plural, namespace, &key.name, version);
        let reason = reason.to_string();
        self.tell(key, &Observed::Started { reason: &reason, attempt, object });
    }

    pub(super) fn ended(&self, key: &ObjectKey, outcome: ReconcileOutcome) {
        self.tell(key, &Observed::Ended { outcome: outcome.as_str() });
    }

    /// A panic would be that of all reconciles here.
    fn tell(&self, key: &ObjectKey, what: &Observed<'_>) {
        let mark = ReconcileMark::new(Arc::clone(&self.controller), key.namespace.as_deref(), &key.name);
        if let Err(message) = catch_panic(|| self.observer.observe(&mark, what)) {
            tracing::error!(reconcile = %mark, message, "an observer of reconciles panicked");
        }
    }
}
