//! The layer that records requests.

use super::{
    access::{Access, Target},
    library,
    permissions::Permissions,
};
use crate::apply::OwnerFinalizers;
use http::{Request, Response};
use std::{
    collections::BTreeSet,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use parking_lot::{Mutex, MutexGuard};
use tower::{Layer, Service};

/// Records which permissions the requests through it need. Clones record into the same set.
///
/// Put it between a client and the embedded server in a test that uses all features of the program, or above the connection to a cluster:
/// `ClientBuilder::try_from(config)?.with_layer(&recorder).build()`.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_operator::rbac::RbacRecorder;
/// use tower::Layer;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
///
/// let recorder = RbacRecorder::default();
/// let client = Client::new(recorder.layer(kube_testserver::ApiServer::new()), "shop");
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// maps.list(&Default::default()).await?;
/// maps.get_opt("a").await?;
///
/// let expected = r#"apiVersion: rbac.authorization.k8s.io/v1
/// kind: Role
/// metadata:
///   name: "my-operator"
///   namespace: "shop"
/// rules:
/// - apiGroups: [""]
///   resources: ["configmaps"]
///   verbs: ["get","list"]
/// "#;
/// assert_eq!(recorder.permissions().to_yaml("my-operator"), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is recorded
///
/// Every request that is sent, also one that fails. An apply patch or an update that created its object needs `create` as well, which the
/// response shows. What this library does at times only is included, whether it was done or not: repeated events (`patch`), taking over and
/// releasing Leases (`get`, `update`, and `delete` with sharding), the `get` after a conflict of a status, and `update` of the `finalizers`
/// of owners of an [`Apply`](crate::apply::Apply), where the admission plugin OwnerReferencesPermissionEnforcement is on. Not included is
/// what a server requires beyond the request: `escalate` and `bind` for writing roles, and `impersonate`.
///
/// Names of objects are left out, because those of a test are not those of a cluster:
/// [`with_resource_names`](Permissions::with_resource_names) keeps them, and [`in_namespace`](Permissions::in_namespace) replaces the
/// namespaces.
///
/// # Cost
///
/// Memory for each distinct combination of verb, resource, namespace and name; a lock for a moment per request.
#[derive(Debug, Clone, Default)]
pub struct RbacRecorder {
    accesses: Arc<Mutex<BTreeSet<Access>>>,
}

impl RbacRecorder {
    /// The permissions that were needed so far.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        Permissions::new(library::completed(self.lock().clone()))
    }

    /// Forgets what was recorded, such as the requests that set up a test.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Access>> {
        self.accesses.lock()
    }
}

impl<S> Layer<S> for RbacRecorder {
    type Service = Recorded<S>;

    fn layer(&self, inner: S) -> Recorded<S> {
        Recorded { inner, recorder: self.clone() }
    }
}

/// A service whose requests are recorded. Made by [`RbacRecorder`].
#[derive(Debug, Clone)]
pub struct Recorded<S> {
    inner: S,
    recorder: RbacRecorder,
}

impl<S, B, R> Service<Request<B>> for Recorded<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = RecordedFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let target = Target::of(request.method(), request.uri(), request.headers());
        self.recorder.lock().extend(target.accesses().cloned());
        if let Some(owner) = request.extensions().get::<OwnerFinalizers>() {
            self.recorder.lock().insert(library::owner_finalizers(owner));
        }
        RecordedFuture {
            inner: Box::pin(self.inner.call(request)),
            pending: Some((target, self.recorder.clone())),
        }
    }
}

/// The response to a recorded request.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct RecordedFuture<F> {
    inner: Pin<Box<F>>,
    pending: Option<(Target, RbacRecorder)>,
}

impl<F, R, E> Future for RecordedFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let result = std::task::ready!(self.inner.as_mut().poll(cx));
        if let (Ok(response), Some((target, recorder))) = (&result, self.pending.take()) {
            recorder.lock().extend(target.accesses_of_response(response.status()));
        }
        Poll::Ready(result)
    }
}
