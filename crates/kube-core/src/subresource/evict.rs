//! Evicting a pod: a deletion that respects disruption budgets.

use http::Method;
use serde::Serialize;
use serde_json::json;

use crate::{
    params::{DeleteParams, PostParams},
    request::{Error, Request, query},
};

/// How a pod is evicted.
#[derive(Clone, Default)]
pub struct EvictParams {
    /// How the pod is deleted, where no budget forbids it.
    pub delete_options: Option<DeleteParams>,
    /// Dry run and field manager.
    pub post_options: PostParams,
}

/// The body, as `policy/v1` defines it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Eviction<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete_options: Option<&'a DeleteParams>,
}

impl Request {
    /// Asks for the eviction of a pod: the server deletes it unless a disruption budget forbids that, and answers 429
    /// as long as one does.
    pub fn evict(&self, name: &str, ep: &EvictParams) -> Result<http::Request<Vec<u8>>, Error> {
        let draft =
            self.on_subresource(Method::POST, name, "eviction")?.query(query::post(&ep.post_options)?);
        let eviction = Eviction {
            api_version: "policy/v1",
            kind: "Eviction",
            metadata: json!({ "name": name }),
            delete_options: ep.delete_options.as_ref(),
        };
        draft.json(serde_json::to_vec(&eviction).map_err(Error::SerializeBody)?)
    }
}
