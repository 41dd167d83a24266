//! Webhooks of the operator, which are called in the process.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt, io,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube_testserver::{ApiServer, ServiceBackend};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tower::{Service, ServiceExt, util::BoxCloneService};

use crate::gate::Body;

type BoxError = Box<dyn Error + Send + Sync>;
type HttpService = BoxCloneService<Request<Full<Bytes>>, Response<Body>, BoxError>;
/// Namespace, name and port of a Service.
type At = (String, String, u16);

/// The webhooks of an operator, for admission and conversion: [`World::webhooks`](crate::World::webhooks). The API server of the run calls
/// them in the process, without sockets, TLS and certificates.
///
/// While no process of the operator runs, calls fail as those to a port where nobody listens. Then the `failurePolicy` decides; users try
/// again for ten simulated minutes, and an operator that was to stay down starts again for them.
#[derive(Clone)]
pub struct WebhookServices(Arc<Shared>);

struct Shared {
    server: Option<ApiServer>,
    /// Changes when a process of the operator ends.
    ended: watch::Sender<u64>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    services: BTreeMap<At, Registered>,
    /// What the server calls, as long as the run lasts: one for each port that was ever served.
    doors: BTreeMap<At, ServiceBackend>,
    /// Whether a process of the operator runs, and whether one has ever run.
    is_up: bool,
    has_begun: bool,
    /// A fault: calls fail until then.
    away_until: Option<Instant>,
    /// Whether the fault has refused a call; nothing without a fault, and after it was told.
    refused: Option<bool>,
    /// Whether one was called since this was last asked.
    called: bool,
    /// Those that were never called, although the server could have.
    never_called: BTreeSet<At>,
}

impl Inner {
    fn is_away(&self) -> bool {
        self.away_until.is_some_and(|until| until > Instant::now())
    }

    /// What answers the calls to a port now.
    fn answers(&self, at: &At) -> Option<&Registered> {
        self.services.get(at).filter(|_| self.is_up && !self.is_away())
    }
}

struct Registered {
    service: HttpService,
    /// Whether a process has registered it, and takes it along when it ends.
    of_process: bool,
}

impl WebhookServices {
    /// Those of a run on this server.
    pub(crate) fn new(server: Option<ApiServer>) -> Self {
        let (ended, inner) = (watch::Sender::new(0), Mutex::default());
        Self(Arc::new(Shared { server, ended, inner }))
    }

    /// Lets an HTTP service answer the calls to this Service and port, which is what webhook configurations and definitions have in their
    /// `clientConfig`; 443 if they have none. The Service itself need not exist. An axum `Router` is such a service.
    ///
    /// Call it in the function that starts the operator: it is forgotten when the process ends. What is registered before that function
    /// is called serves all processes, also those of another version ([`upgrade_from`](crate::Verify::upgrade_from)). A second call for
    /// the same port replaces the first.
    pub fn serve<S, B>(&self, namespace: &str, name: &str, port: u16, service: S)
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let boxed = |body: B| body.map_err(io::Error::other).boxed_unsync();
        let service = service.map_response(move |response| response.map(boxed)).map_err(Into::into);
        let at: At = (namespace.to_owned(), name.to_owned(), port);
        let mut inner = self.0.inner.lock();
        if inner.has_begun && !inner.is_up {
            // By a task that a process has left behind: in a cluster, it is gone.
            return;
        }
        let of_process = inner.is_up;
        let registered = Registered { service: service.boxed_clone(), of_process };
        let replaced = inner.services.insert(at.clone(), registered);
        if let Some(server) = self.0.server.as_ref().filter(|_| !inner.doors.contains_key(&at)) {
            let (shared, to) = (Arc::downgrade(&self.0), at.clone());
            let door = tower::service_fn(move |request| call(shared.clone(), to.clone(), request));
            inner.never_called.insert(at.clone());
            inner.doors.insert(at, server.service_backend(namespace, name, port, door));
        }
        drop(inner);
        drop(replaced);
    }

    /// A process of the operator starts.
    pub(crate) fn begin(&self) {
        let mut inner = self.0.inner.lock();
        (inner.is_up, inner.has_begun) = (true, true);
    }

    /// It has ended, and calls that it has not answered break.
    pub(crate) fn end(&self) {
        let mut inner = self.0.inner.lock();
        inner.is_up = false;
        let all = std::mem::take(&mut inner.services);
        let (gone, kept): (BTreeMap<_, _>, _) = all.into_iter().partition(|(_, one)| one.of_process);
        inner.services = kept;
        drop(inner);
        // What they hold is dropped without the lock.
        drop(gone);
        self.0.ended.send_modify(|ended| *ended += 1);
    }

    /// All calls fail for this long.
    pub(crate) fn fail_for(&self, time: Duration) {
        let mut inner = self.0.inner.lock();
        (inner.away_until, inner.refused) = (Some(Instant::now() + time), Some(false));
    }

    /// Whether that has refused a call, if it was not asked before.
    pub(crate) fn take_refused(&self) -> bool {
        self.0.inner.lock().refused.take_if(|refused| *refused).is_some()
    }

    /// Those that were served and never called.
    pub(crate) fn never_called(&self) -> BTreeSet<String> {
        let inner = self.0.inner.lock();
        inner
            .never_called
            .iter()
            .map(|(namespace, name, port)| format!("{namespace}/{name}:{port}"))
            .collect()
    }

    /// Whether calls to one of those that were ever served fail.
    pub(crate) fn are_away(&self) -> bool {
        let inner = self.0.inner.lock();
        inner.doors.keys().any(|at| inner.answers(at).is_none())
    }

    /// Whether one was called since the last time.
    pub(crate) fn take_called(&self) -> bool {
        std::mem::take(&mut self.0.inner.lock().called)
    }
}

impl fmt::Debug for WebhookServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.inner.lock().services.keys()).finish()
    }
}

/// Calls the service that is registered for a port, as long as the process runs.
async fn call(
    shared: Weak<Shared>,
    at: At,
    request: Request<Full<Bytes>>,
) -> Result<Response<Body>, BoxError> {
    let refused = || BoxError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
    let shared = shared.upgrade().ok_or_else(refused)?;
    let mut ended = shared.ended.subscribe();
    let service = {
        let mut inner = shared.inner.lock();
        inner.called = true;
        inner.never_called.remove(&at);
        inner.refused = inner.refused.map(|refused| refused || inner.is_away());
        inner.answers(&at).map(|registered| registered.service.clone()).ok_or_else(refused)?
    };
    tokio::select! {
        biased;
        _ = ended.changed() => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        answer = service.oneshot(request) => answer,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::gate;

    /// Asks a webhook about each ConfigMap that is created.
    pub(crate) fn configuration() -> Value {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
        let config = json!({"service": {"namespace": "shop", "name": "hooks", "path": "/maps"}});
        let hook = json!({"name": "maps.example.com", "clientConfig": config, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [rule]});
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hooks"}, "webhooks": [hook]})
    }

    /// A server with the configuration, and its webhooks.
    async fn world() -> (ApiServer, WebhookServices) {
        let server = ApiServer::new();
        server.load(configuration()).unwrap();
        let webhooks = WebhookServices::new(Some(server.clone()));
        (server, webhooks)
    }

    /// Allows all, after this time.
    pub(crate) fn serve(webhooks: &WebhookServices, time: Duration) {
        let answer = move |request: Request<Full<Bytes>>| async move {
            sleep(time).await;
            let body = request.into_body().collect().await?.to_bytes();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let response = json!({"uid": review["request"]["uid"], "allowed": true});
            let review =
                json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
            Ok::<_, BoxError>(Response::new(Full::new(Bytes::from(review.to_string()))))
        };
        webhooks.serve("shop", "hooks", 443, tower::service_fn(answer));
    }

    /// The code, and the end of the message.
    async fn create(server: &ApiServer, name: &str) -> (u16, String) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let path = "/api/v1/namespaces/default/configmaps";
        let (code, answer) = gate::call(server, "POST", path, "application/json", Some(&map)).await;
        let message = answer["message"].as_str().unwrap_or_default();
        (code, message.rsplit(": ").next().unwrap_or_default().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_webhook_is_away_while_no_process_runs() {
        let (server, webhooks) = world().await;
        let refused = || (500, "connection refused".to_owned());
        serve(&webhooks, Duration::ZERO);
        assert_eq!(create(&server, "a").await, refused(), "no process has started");
        webhooks.begin();
        assert_eq!(create(&server, "a").await.0, 201);
        assert!(webhooks.take_called() && !webhooks.take_called());
        webhooks.end();
        assert_eq!(create(&server, "b").await, refused());
        webhooks.begin();
        assert_eq!(create(&server, "b").await.0, 201, "registered for all processes");
        webhooks.fail_for(Duration::from_secs(20));
        assert!(!webhooks.take_refused());
        assert_eq!(create(&server, "c").await, refused());
        assert!(webhooks.take_refused() && !webhooks.take_refused());
        assert_eq!(create(&server, "c").await, refused());
        assert!(!webhooks.take_refused(), "told before");
        assert_eq!(webhooks.0.inner.lock().doors.len(), 1);
        sleep(Duration::from_secs(20)).await;
        assert_eq!(create(&server, "c").await.0, 201);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_takes_its_webhooks_along() {
        let (server, webhooks) = world().await;
        webhooks.begin();
        serve(&webhooks, Duration::from_secs(2));
        let ending = async {
            sleep(Duration::from_secs(1)).await;
            webhooks.end();
        };
        let (answer, ()) = tokio::join!(create(&server, "a"), ending);
        assert_eq!(answer, (500, "connection reset".to_owned()), "in the middle of a call");
        serve(&webhooks, Duration::ZERO); // By a task that it has left behind.
        webhooks.begin();
        assert_eq!(create(&server, "a").await, (500, "connection refused".to_owned()), "not registered yet");
        serve(&webhooks, Duration::ZERO);
        assert_eq!(create(&server, "a").await.0, 201);
    }
}
