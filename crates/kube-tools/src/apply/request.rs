//! Requests of server-side apply.

use std::fmt::Debug;
use std::time::Duration;

use kube_client::client::{Client, Prune, with_verb};
use kube_client::{Api, Error, Result};
use kube_core::apply::Configuration;
use kube_core::metadata::PartialObjectMeta;
use kube_core::params::{Patch, PatchParams};
use kube_core::{Request, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::adopt::adopted;
use super::body::ApplyBody;

/// How often [`adopt`] writes at most if others write at the same time.
const ADOPT_ATTEMPTS: u32 = 8;

/// The pause after the first conflict of [`adopt`]; each further one is twice as long.
const ADOPT_PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn apply<K: Resource + DeserializeOwned>(
    api: Api<K>,
    pp: &PatchParams,
    configuration: &impl Configuration<Resource = K>,
) -> impl Future<Output = Result<K>> + Send {
    let body = ApplyBody::of(configuration, api.namespace()).map_err(Error::BuildRequest);
    async move {
        let ApplyBody { name, json } = body?;
        let (urls, patch) = (Request::new(api.resource_url()), Patch::Apply(json));
        let request = match K::metadata_api() {
            true => urls.patch_metadata(&name, pp, &patch),
            false => urls.patch(&name, pp, &patch),
        };
        Client::from(api).request(with_verb("apply", request)?).await
    }
}

pub(crate) fn apply_status<K: Resource + DeserializeOwned>(
    api: Api<K>,
    pp: &PatchParams,
    configuration: &impl Configuration<Resource = K>,
) -> impl Future<Output = Result<K>> + Send {
    let body = ApplyBody::of(configuration, api.namespace()).map_err(Error::BuildRequest);
    async move {
        let ApplyBody { name, json } = body?;
        let request = Request::new(api.resource_url());
        let request = request.patch_subresource("status", &name, pp, &Patch::Apply(json));
        Client::from(api).request(with_verb("apply_status", request)?).await
    }
}

pub(crate) async fn adopt<K>(api: Api<K>, name: &str, former: &[&str], manager: &str) -> Result<bool>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut pause = ADOPT_PAUSE;
    for _ in 1..ADOPT_ATTEMPTS {
        match try_adopt(&api, name, former, manager).await {
            Err(Error::Api(status)) if status.is_conflict() => tokio::time::sleep(pause).await,
            result => return result,
        }
        pause *= 2;
    }
    try_adopt(&api, name, former, manager).await
}

async fn try_adopt<K>(api: &Api<K>, name: &str, former: &[&str], manager: &str) -> Result<bool>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    // Not a read that skips fields: it is for the managed fields.
    let unpruned = api.clone().prune(Prune::default());
    let metadata = unpruned.get_metadata(name).await?.metadata;
    let entries = metadata.managed_fields.as_deref().unwrap_or_default();
    let Some(entries) = adopted(entries, former, manager, None) else { return Ok(false) };
    // With the version, the server refuses the patch of an object that has changed since.
    let metadata = json!({ "resourceVersion": metadata.resource_version, "managedFields": entries });
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let request = Request::new(api.resource_url()).patch_metadata(name, &PatchParams::default(), &patch);
    let request = with_verb("adopt", request)?;
    Client::from(api.clone()).request::<PartialObjectMeta<K>>(request).await.map(|_| true)
}
