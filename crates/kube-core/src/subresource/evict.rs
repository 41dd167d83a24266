//! Evicting a pod: a deletion that respects disruption budgets.

use http::Method;
use serde::Serialize;
use serde_json::json;

use crate::{
    params::{DeleteParams, PostParams},
    request::{Error, Request, query},
};

/// How a pod is evicted. By default with the grace period of the pod.
///
/// ```
/// use kube_core::{Request, params::{DeleteParams, PostParams}, subresource::EvictParams};
///
/// let pods = Request::new("/api/v1/namespaces/web/pods");
/// let would_it = EvictParams {
///     delete_options: Some(DeleteParams::default().grace_period(5)),
///     post_options: PostParams { dry_run: true, ..PostParams::default() },
/// };
/// let request = pods.evict("front-0", &would_it)?;
/// assert_eq!(request.uri(), "/api/v1/namespaces/web/pods/front-0/eviction?&dryRun=All");
/// # Ok::<(), kube_core::request::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct EvictParams {
    /// How the pod is deleted, where no budget forbids it; `None` for the defaults of the pod. Its dry run counts as
    /// well as that of [`post_options`](Self::post_options).
    pub delete_options: Option<DeleteParams>,
    /// Dry run (asks whether the budgets would allow it) and field manager, both in the query.
    pub post_options: PostParams,
}

/// The body, an `Eviction` of `policy/v1` or `policy/v1beta1`: it does not say of which, so that the server takes the one
/// it knows. Those before 1.22 refuse `policy/v1`, those from 1.25 on `policy/v1beta1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Eviction<'a> {
    metadata: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_options: Option<&'a DeleteParams>,
}

impl Request {
    /// Asks for the eviction of a pod: the server deletes it unless a disruption budget forbids that, and answers 429
    /// as long as one does. 500 tells that several budgets cover the pod, which waiting does not mend.
    ///
    /// The body names no version of `Eviction`, so that servers of every Kubernetes version accept it.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a name that no encoding makes safe, or a field manager that servers refuse.
    pub fn evict(&self, name: &str, ep: &EvictParams) -> Result<http::Request<Vec<u8>>, Error> {
        let draft =
            self.on_subresource(Method::POST, name, "eviction")?.query(query::post(&ep.post_options)?);
        let eviction =
            Eviction { metadata: json!({ "name": name }), delete_options: ep.delete_options.as_ref() };
        draft.json(serde_json::to_vec(&eviction).map_err(Error::SerializeBody)?)
    }
}
