//! Evicting a pod: a deletion that respects disruption budgets.

use http::Method;
use serde::Serialize;
use serde_json::json;

use crate::{
    params::{DeleteParams, PostParams},
    request::{Error, Request, query},
};

/// Options of an eviction. By default with the grace period of the pod.
///
/// ```
/// use kube_core::{Request, params::{DeleteParams, PostParams}, subresource::EvictParams};
///
/// let pods = Request::new("/api/v1/namespaces/web/pods");
/// let dry_run = EvictParams {
///     delete_options: Some(DeleteParams::default().grace_period(5)),
///     post_options: PostParams { dry_run: true, ..PostParams::default() },
/// };
/// let request = pods.evict("front-0", &dry_run)?;
/// assert_eq!(request.uri(), "/api/v1/namespaces/web/pods/front-0/eviction?&dryRun=All");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct EvictParams {
    /// How the pod is deleted if no disruption budget forbids it; `None` for the defaults of the pod. A dry run can be set here
    /// or in [`post_options`](Self::post_options).
    pub delete_options: Option<DeleteParams>,
    /// Dry run (checks the disruption budgets only) and field manager, both in the query.
    pub post_options: PostParams,
}

/// The body, an `Eviction`. It has no `apiVersion`, so that the server uses the version that it supports: servers before 1.22
/// reject `policy/v1`, servers since 1.25 reject `policy/v1beta1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Eviction<'a> {
    metadata: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_options: Option<&'a DeleteParams>,
}

impl Request {
    /// Evicts a pod: the server deletes it unless a disruption budget forbids that, in which case it responds with 429. It
    /// responds with 500 if several budgets cover the pod; a retry does not help then.
    ///
    /// The body has no `apiVersion`, so that servers of all Kubernetes versions accept it.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for an unsafe name (see [`Request`]) or an invalid field manager.
    pub fn evict(&self, name: &str, ep: &EvictParams) -> Result<http::Request<Vec<u8>>, Error> {
        let builder =
            self.on_subresource(Method::POST, name, "eviction")?.query(query::post(&ep.post_options)?);
        let eviction =
            Eviction { metadata: json!({ "name": name }), delete_options: ep.delete_options.as_ref() };
        builder.json(serde_json::to_vec(&eviction).map_err(Error::SerializeBody)?)
    }
}
