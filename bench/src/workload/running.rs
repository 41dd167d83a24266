//! A controller as a task.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::StreamExt;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::super::kube::Resource;
use super::super::kube::runtime::Controller;
use super::reconciler::{Seen, on_error, reconcile};

pub(super) fn run<K>(controller: Controller<K>, seen: &Arc<Seen>) -> JoinHandle<()>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Default + Unpin + Send + Sync,
{
    let outcomes = controller.run(reconcile, on_error, Arc::clone(seen));
    // The watch reports its expiry, which is expected.
    tokio::spawn(outcomes.for_each(|_outcome| std::future::ready(())))
}
