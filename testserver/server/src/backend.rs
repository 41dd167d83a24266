//! Services of the cluster that are in this process: webhooks are called there without sockets and TLS.

use std::{collections::BTreeMap, error::Error, fmt, io, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use parking_lot::Mutex;
use tower::{Service, ServiceExt};

/// The largest response of a webhook: as large as a request may be.
pub(crate) const MAX_RESPONSE: usize = 3 * 1024 * 1024;

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServicePort {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl fmt::Display for ServicePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.svc:{}", self.name, self.namespace, self.port)
    }
}

/// The code and the body of a response, or why there is none.
pub(crate) type Answer = Result<(u16, Bytes), String>;

pub(crate) type Call = dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Answer> + Send + Sync;

/// The backends of a cluster. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Backends(Arc<Mutex<BTreeMap<ServicePort, Arc<Call>>>>);

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}

/// Until this is dropped, or another one takes its place, calls to a service go to a tower service in the process:
/// [`ApiServer::service_backend`](crate::ApiServer). When the last one for a port is dropped, calls go to the network.
#[must_use = "when it is dropped, calls go to the network again"]
pub struct ServiceBackend {
    backends: Backends,
    at: ServicePort,
    call: Arc<Call>,
}

impl fmt::Debug for ServiceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceBackend({})", self.at)
    }
}

impl Drop for ServiceBackend {
    fn drop(&mut self) {
        let mut backends = self.backends.0.lock();
        // Another one may have taken its place.
        let is_own = backends.get(&self.at).is_some_and(|call| Arc::ptr_eq(call, &self.call));
        let own = if is_own { backends.remove(&self.at) } else { None };
        drop(backends);
        // What it holds is dropped without the lock.
        drop(own);
    }
}

impl Backends {
    pub(crate) fn add<S, B>(&self, at: ServicePort, service: S) -> ServiceBackend
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (service, host) = (Mutex::new(service), at.to_string());
        let call: Arc<Call> = Arc::new(move |request| {
            let (service, host) = (service.lock().clone(), host.clone());
            let answer = AssertUnwindSafe(answer(service, request, host)).catch_unwind();
            // As if its process had ended.
            async move { answer.await.unwrap_or_else(|_| Err("EOF".to_owned())) }.boxed()
        });
        let replaced = self.0.lock().insert(at.clone(), call.clone());
        drop(replaced);
        ServiceBackend { backends: self.clone(), at, call }
    }

    /// What sends a request to the backend of a service, if it has one.
    pub(crate) fn get(&self, at: &ServicePort) -> Option<Arc<Call>> {
        self.0.lock().get(at).cloned()
    }
}

async fn answer<S, B>(service: S, request: Request<Full<Bytes>>, host: String) -> Answer
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let response = service.oneshot(request).await.map_err(|error| unreached(&host, &*error.into()))?;
    let code = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
    Ok((code, body.map_err(|error| error.to_string())?.to_bytes()))
}

/// Why a backend did not respond, as of a connection.
fn unreached(host: &str, error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => format!("dial tcp {host}: connect: connection refused"),
        _ => error.to_string(),
    }
}
