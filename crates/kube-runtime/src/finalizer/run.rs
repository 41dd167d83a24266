//! Reconciling with a finalizer.

use super::patch::{Decision, Edit, decide};
use crate::controller::Action;
use futures::{TryFuture, TryFutureExt};
use kube_client::{Api, error::ErrorClass};
use kube_core::{
    Resource,
    labels::check_label_key,
    params::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, sync::Arc};

/// The maximum of attempts to patch. An attempt fails only if another client changed the finalizers since the object was
/// read. While an object is being deleted no finalizer can be added, so a removal fails at most once per other finalizer.
const MAX_ATTEMPTS: usize = 32;

/// What the reconciler has to do for an object.
pub enum Event<K> {
    /// The object has the finalizer and is not being deleted: reconcile it.
    Apply(Arc<K>),
    /// The object is being deleted: clean up after it. The finalizer is removed once this has succeeded.
    Cleanup(Arc<K>),
}

/// Why [`finalizer`] failed.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcileErr>
where
    ReconcileErr: std::error::Error + 'static,
{
    /// The reconciler failed for [`Event::Apply`].
    #[error("failed to apply object: {0}")]
    ApplyFailed(#[source] ReconcileErr),
    /// The reconciler failed for [`Event::Cleanup`]. The finalizer stays, so the object is not deleted yet.
    #[error("failed to clean up object: {0}")]
    CleanupFailed(#[source] ReconcileErr),
    /// The finalizer could not be added, so the reconciler was not called.
    #[error("failed to add finalizer: {0}")]
    AddFinalizer(#[source] kube_client::Error),
    /// The clean-up succeeded, but the finalizer could not be removed; the clean-up will run again.
    #[error("failed to remove finalizer: {0}")]
    RemoveFinalizer(#[source] kube_client::Error),
    /// The object has no name, so it cannot be patched.
    #[error("object has no name")]
    UnnamedObject,
    /// Servers do not accept this name for a finalizer.
    #[error("the finalizer's name is invalid: expected a name like `example.com/cleanup`")]
    InvalidFinalizer,
}

/// Calls `reconcile` such that the object is deleted only after a successful [`Event::Cleanup`].
///
/// | finalizer | object | what happens |
/// |---|---|---|
/// | absent | exists | the finalizer is added; this change of the object triggers the next reconcile |
/// | present | exists | `reconcile` is called with [`Event::Apply`] |
/// | present | is being deleted | `reconcile` is called with [`Event::Cleanup`], then the finalizer is removed |
/// | absent | is being deleted | nothing |
///
/// `finalizer_name` is qualified by a domain, such as `example.com/cleanup`, and not used by any other controller. `api` must
/// be in the object's namespace. Required permissions: `patch`, and `get` for when other clients change the finalizers
/// concurrently.
///
/// # Cancellation
///
/// If the returned future is dropped, the next reconcile continues the work. A clean-up may run twice.
///
/// # Errors
///
/// See [`Error`]. Concurrent changes of the object, including its other finalizers, are not errors.
///
/// ```
/// # use kube_client::{Api, Client};
/// # use kube_runtime::{controller::Action, finalizer::{Error, Event, finalizer}};
/// # use std::{io, sync::Arc};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// async fn reconcile(object: Arc<ConfigMap>, client: Client) -> Result<Action, Error<io::Error>> {
///     let api: Api<ConfigMap> = Api::default_namespaced(client);
///     finalizer(&api, "example.com/cleanup", object, |event| async {
///         match event {
///             Event::Apply(_object) => Ok(Action::await_change()),
///             Event::Cleanup(_object) => Ok(Action::await_change()),
///         }
///     })
///     .await
/// }
/// ```
pub async fn finalizer<K, ReconcileFut>(
    api: &Api<K>,
    finalizer_name: &str,
    obj: Arc<K>,
    reconcile: impl FnOnce(Event<K>) -> ReconcileFut,
) -> Result<Action, Error<ReconcileFut::Error>>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug,
    ReconcileFut: TryFuture<Ok = Action>,
    ReconcileFut::Error: std::error::Error + 'static,
{
    if check_label_key(finalizer_name).is_err() {
        return Err(Error::InvalidFinalizer);
    }
    if obj.meta().name.is_none() {
        return Err(Error::UnnamedObject);
    }
    match decide(&*obj, finalizer_name) {
        Decision::Add => {
            let edited = edit(api, finalizer_name, &obj, Edit::Add).await.map_err(Error::AddFinalizer)?;
            Ok(after_edit(Action::await_change(), &*obj, edited).continued())
        }
        Decision::Apply => {
            TryFutureExt::into_future(reconcile(Event::Apply(obj))).await.map_err(Error::ApplyFailed)
        }
        Decision::Cleanup => {
            let cleanup = TryFutureExt::into_future(reconcile(Event::Cleanup(Arc::clone(&obj))));
            let action = cleanup.await.map_err(Error::CleanupFailed)?;
            let edited =
                edit(api, finalizer_name, &obj, Edit::Remove).await.map_err(Error::RemoveFinalizer)?;
            Ok(after_edit(action, &*obj, edited))
        }
        Decision::Nothing => Ok(Action::await_change()),
    }
}

/// Delays the next reconcile until the store shows the edit. Otherwise it could see the old state and clean up again.
fn after_edit<K: Resource>(action: Action, object: &K, edited: Option<K>) -> Action {
    match edited {
        Some(edited) => action.after_write(&edited),
        None => action.after_deletion_of(object),
    }
}

/// Makes the change, retrying if other clients change the finalizers concurrently. Returns the resulting object; `None` if
/// it is deleted.
async fn edit<K>(
    api: &Api<K>,
    finalizer: &str,
    object: &K,
    edit: Edit,
) -> Result<Option<K>, kube_client::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let name = object.meta().name.as_deref().unwrap_or_default();
    let mut patch = edit.patch(object, finalizer);
    let mut latest = object.clone();
    let mut attempts = MAX_ATTEMPTS;
    while let Some(attempt) = patch {
        attempts -= 1;
        let request = Patch::Json::<()>(attempt.clone());
        let error = match api.patch(name, &PatchParams::default(), &request).await {
            Ok(edited) => return Ok(Some(edited)),
            Err(error) => error,
        };
        match status_code(&error) {
            // Deleted already. A path that is not served says nothing about the object: another version may have it.
            Some(404) if edit == Edit::Remove && ErrorClass::of(&error) == ErrorClass::NotFound => {
                return Ok(None);
            }
            Some(409 | 422) if attempts > 0 => {}
            _ => return Err(error),
        }
        latest = match api.get(name).await {
            Ok(current) if current.meta().uid == object.meta().uid => current,
            Ok(_) => return Ok(None), // deleted; a recreated object has its own reconciles
            Err(error) if ErrorClass::of(&error) == ErrorClass::NotFound => return Ok(None),
            Err(_) => return Err(error),
        };
        patch = edit.patch(&latest, finalizer);
        if patch.as_ref() == Some(&attempt) {
            return Err(error); // not caused by a concurrent change, so retrying would not help
        }
    }
    Ok(Some(latest)) // another client has made the change
}

fn status_code(error: &kube_client::Error) -> Option<u16> {
    match error {
        kube_client::Error::Api(status) => Some(status.code),
        _ => None,
    }
}
