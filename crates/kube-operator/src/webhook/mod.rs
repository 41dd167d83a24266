//! Admission and conversion webhooks: typed handlers, served over HTTPS.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_core::{ResourceExt, admission::AdmissionRequest};
//! use kube_operator::webhook::{Denial, Webhooks};
//!
//! async fn check_map(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
//!     match request.object {
//!         Some(map) if map.data.is_none() => Err(Denial::invalid("data", "must not be empty")),
//!         _ => Ok(()), // a deletion has no object, only an old one
//!     }
//! }
//!
//! async fn default_map(mut map: ConfigMap, _: AdmissionRequest<ConfigMap>) -> Result<ConfigMap, Denial> {
//!     map.labels_mut().entry("team".into()).or_insert("web".into());
//!     Ok(map) // the JSON patch is computed
//! }
//!
//! let webhooks = Webhooks::new().validate(check_map).mutate(default_map);
//! let app = webhooks.router()?; // merge it with other routes; WebhookServer serves it over HTTPS
//!
//! # use tower::ServiceExt;
//! let review = serde_json::json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
//!     "uid": "705ab4f5", "operation": "CREATE", "userInfo": {}, "namespace": "web", "name": "settings",
//!     "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
//!     "resource": {"group": "", "version": "v1", "resource": "configmaps"},
//!     "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}}});
//! let request = http::Request::post("/validate--v1-configmap")
//!     .header("content-type", "application/json")
//!     .body(axum::body::Body::from(review.to_string()))?;
//! let response = app.oneshot(request).await?;
//! let body = axum::body::to_bytes(response.into_body(), 10_000).await?;
//! let review: serde_json::Value = serde_json::from_slice(&body)?;
//! assert_eq!(review["response"]["allowed"], false);
//! assert_eq!(review["response"]["status"]["message"], "ConfigMap \"settings\" is invalid: data: must not be empty");
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # Responses
//!
//! | case | response |
//! |---|---|
//! | the handler returns `Ok` | allowed, with the patch of a mutation if it changed the object |
//! | the handler returns `Err` | denied with the status of the [`Denial`] |
//! | the object does not decode | denied with code 400 and a message that names kind, object and field |
//! | the old object does not decode | the handler is called with none, so that the object can be repaired and deleted: see [`Validate::validate_undecodable`] |
//! | a mutation could move or lose a field that the type does not have | denied with code 500 and a message that names the field: see [`Mutate`] |
//! | the request is for another kind than the handler's | denied with code 400: the rules of the configuration are wrong |
//! | the handler panics | denied with code 500, whatever the `failurePolicy`: an object that causes a panic must not pass for it |
//! | the handler takes longer than the API server's `?timeout=`, less a tenth (at most 500 ms), or than 9.5 s without | HTTP 500, so that the `failurePolicy` decides |
//! | the body is no review, or not `application/json` | HTTP 400 |
//! | the body is too large | HTTP 413 |
//! | the body does not arrive within 5 s, and a second for each MiB | HTTP 408 |
//!
//! # Cancellation
//!
//! When the API server closes the connection, and at the time limit, the future of the handler is dropped. Requests that are running when
//! the [`WebhookServer`] shuts down may finish.
//!
//! # Metrics
//!
//! As controller-runtime: `controller_runtime_webhook_requests_total{webhook,code}`, `controller_runtime_webhook_latency_seconds{webhook}`,
//! `controller_runtime_webhook_requests_in_flight{webhook}`, `controller_runtime_webhook_panics_total` and
//! `controller_runtime_conversion_webhook_panics_total`. `webhook` is the path, `code` the HTTP status: 200 for a denial too.

// `server` is HTTPS with a certificate of `certificates`, `router` knows the paths. `endpoint` checks a request, within a `body_budget`,
// and counts it (`metrics`). `admission` calls the typed handler, whose `outcome` is a response; for a mutation `patch` compares both
// objects, lists by `list_keys` and `list_items`. `conversion` answers conversion reviews. `registration` is how a server calls a webhook,
// `configurations` has all, without what would block the operator itself (`own_namespace`), `error` says why not.

mod admission;
mod body_budget;
pub mod certificates;
mod configurations;
mod conversion;
mod endpoint;
mod error;
mod list_items;
mod list_keys;
mod metrics;
mod outcome;
mod own_namespace;
mod patch;
mod registration;
mod router;
mod server;

pub use admission::{AdmittedObject, Mutate, UndecodableObject, Validate};
pub use configurations::{WebhookConfigurations, WebhookService};
pub use conversion::{ConversionError, Convert, ConvertedObject, Versions};
pub use error::WebhooksError;
pub use outcome::{Allowed, Denial, Mutated};
pub use registration::{FailurePolicy, Registration};
pub use router::{Webhooks, mutate_path, validate_path};
pub use server::{WebhookServer, WebhookServerError};

pub(crate) use configurations::Registry;
