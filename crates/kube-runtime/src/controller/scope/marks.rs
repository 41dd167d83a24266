//! Makes the marks of a controller's reconciles.

use crate::controller::config::{Config, Observer};
use kube_core::{Resource, reconcile::ReconcileMark};
use std::sync::Arc;

/// Makes the marks of the reconciles of one controller.
pub(crate) struct Marks {
    controller: Arc<str>,
    observer: Option<Observer>,
}

impl Marks {
    /// `None` if nobody asks what the reconciles of this controller write.
    pub(crate) fn of(config: &Config, controller: &str) -> Option<Self> {
        let observer = config.observer();
        let records = config.waits_for_own_writes() || config.skips_own_writes() || observer.is_some();
        records.then(|| Self { controller: controller.into(), observer })
    }

    /// The mark of a reconcile of this object.
    pub(crate) fn mark<K: Resource>(&self, object: &K) -> ReconcileMark {
        let meta = object.meta();
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref().unwrap_or_default());
        let controller = Arc::clone(&self.controller);
        match &self.observer {
            None => ReconcileMark::new(controller, namespace, name),
            Some(Observer(observer)) => {
                ReconcileMark::observed(controller, namespace, name, observer.clone())
            }
        }
    }
}
