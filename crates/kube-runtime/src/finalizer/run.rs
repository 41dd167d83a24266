//! Reconciling with a finalizer.

use super::{
    decision::{Decision, decide},
    name::is_valid,
    patch::Edit,
};
use crate::controller::Action;
use futures::{TryFuture, TryFutureExt};
use kube_client::Api;
use kube_core::{
    Resource,
    params::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, sync::Arc};

/// How often a patch is tried at most. Each that fails means that somebody else changed a finalizer between two requests
/// of ours. While an object is being deleted its finalizers can only become fewer, so a removal fails less often
/// than there are others.
const ATTEMPTS: usize = 32;

/// What an object wants of its reconciler.
pub enum Event<K> {
    /// The object lives, and has the finalizer: bring the world in line with it.
    Apply(Arc<K>),
    /// The object is being deleted: undo what was done for it. The finalizer goes when this has succeeded.
    Cleanup(Arc<K>),
}

/// Why [`finalizer`] failed.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcileErr>
where
    ReconcileErr: std::error::Error + 'static,
{
    /// The reconciler failed for [`Event::Apply`].
    #[error("failed to apply the object: {0}")]
    ApplyFailed(#[source] ReconcileErr),
    /// The reconciler failed for [`Event::Cleanup`], so the finalizer stays and the object waits.
    #[error("failed to clean up after the object; it stays until that succeeds: {0}")]
    CleanupFailed(#[source] ReconcileErr),
    /// The finalizer could not be added, so the reconciler was not called.
    #[error("failed to add the finalizer: {0}")]
    AddFinalizer(#[source] kube_client::Error),
    /// The clean-up has succeeded, but the finalizer could not be removed; the clean-up will run again.
    #[error("failed to remove the finalizer: {0}")]
    RemoveFinalizer(#[source] kube_client::Error),
    /// The object has no name, so it cannot be patched.
    #[error("the object has no metadata.name")]
    UnnamedObject,
    /// The name of the finalizer is not one a server accepts.
    #[error("the finalizer's name is invalid: expected a name like `example.com/cleanup`")]
    InvalidFinalizer,
}

/// Calls `reconcile` in such a way that an object never goes away without a successful [`Event::Cleanup`].
///
/// | finalizer | object | what happens |
/// |---|---|---|
/// | absent | lives | the finalizer is added; the change that this makes triggers the next reconcile |
/// | present | lives | `reconcile` is called with [`Event::Apply`] |
/// | present | is being deleted | `reconcile` is called with [`Event::Cleanup`], then the finalizer is removed |
/// | absent | is being deleted | nothing |
///
/// `finalizer_name` is in domain form, such as `example.com/cleanup`, and nobody else's. `api` must be in the
/// object's namespace. The permissions needed are `patch` and, where others change the object at the same time, `get`.
///
/// # Cancellation
///
/// If the returned future is dropped, what was left out happens at the next reconcile. A clean-up may run twice.
///
/// # Errors
///
/// See [`Error`]. That somebody else changes the object, its other finalizers included, is not one.
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
    if !is_valid(finalizer_name) {
        return Err(Error::InvalidFinalizer);
    }
    if obj.meta().name.is_none() {
        return Err(Error::UnnamedObject);
    }
    match decide(&*obj, finalizer_name) {
        Decision::Add => {
            let edited = edit(api, finalizer_name, &obj, Edit::Add).await.map_err(Error::AddFinalizer)?;
            Ok(seen(Action::await_change(), &*obj, edited))
        }
        Decision::Apply => {
            TryFutureExt::into_future(reconcile(Event::Apply(obj))).await.map_err(Error::ApplyFailed)
        }
        Decision::Cleanup => {
            let cleanup = TryFutureExt::into_future(reconcile(Event::Cleanup(Arc::clone(&obj))));
            let action = cleanup.await.map_err(Error::CleanupFailed)?;
            let edited =
                edit(api, finalizer_name, &obj, Edit::Remove).await.map_err(Error::RemoveFinalizer)?;
            Ok(seen(action, &*obj, edited))
        }
        Decision::Nothing => Ok(Action::await_change()),
    }
}

/// The next reconcile shall not see the object as it was before `edited`: it would clean up once more.
fn seen<K: Resource>(action: Action, object: &K, edited: Option<K>) -> Action {
    match edited {
        Some(edited) => action.after_write(&edited),
        None => action.after_end_of(object),
    }
}

/// Makes the change, whatever others do to the object meanwhile. Returns what has become of the object; `None` if it is
/// gone.
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
    let mut now = object.clone();
    let mut attempts = ATTEMPTS;
    while let Some(current) = patch {
        attempts -= 1;
        let request = Patch::Json::<()>(current.clone());
        let error = match api.patch(name, &PatchParams::default(), &request).await {
            Ok(edited) => return Ok(Some(edited)),
            Err(error) => error,
        };
        match code(&error) {
            Some(404) if edit == Edit::Remove => return Ok(None), // somebody else let it go
            Some(409 | 422) if attempts > 0 => {}
            _ => return Err(error),
        }
        now = match api.get_opt(name).await {
            Ok(Some(fresh)) if fresh.meta().uid == object.meta().uid => fresh,
            Ok(_) => return Ok(None), // gone; a successor of the same name is reconciled for itself
            Err(_) => return Err(error),
        };
        patch = edit.patch(&now, finalizer);
        if patch.as_ref() == Some(&current) {
            return Err(error); // it was not the state of the object that the server did not like
        }
    }
    Ok(Some(now)) // somebody else has made the change
}

fn code(error: &kube_client::Error) -> Option<u16> {
    match error {
        kube_client::Error::Api(status) => Some(status.code),
        _ => None,
    }
}
