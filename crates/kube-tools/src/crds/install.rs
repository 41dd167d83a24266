//! Applies definitions and waits until their kinds are served.

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::Api;
use kube_client::discovery::RestMapper;
use kube_client::error::Error;
use kube_core::ResourceExt;
use kube_core::params::{Patch, PatchParams};
use tokio::time::{sleep, timeout};

use super::outcome::{CrdError, InstallError, InstalledCrd};
use super::plan::{Step, plan};
use super::served::until_served;
use crate::ApiExt as _;
use crate::wait::WaitFor;

/// The most time for one definition.
const LIMIT: Duration = Duration::from_secs(60);
/// How many definitions are installed at the same time.
const CONCURRENT: usize = 16;
/// After another client's change came in between, the definition is read again.
const CONFLICT_PAUSE: Duration = Duration::from_millis(100);

/// Applies definitions by server-side apply, and returns when the server serves their kinds: they are established, and discovery lists each
/// served version. They are returned in the order in which they were given.
///
/// Calling it again changes nothing, so that each replica of an operator may call it when it starts.
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_client::Client;
/// use kube_tools::crds;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # let page: CustomResourceDefinition = serde_json::from_value(serde_json::json!({
/// #     "metadata": { "name": "pages.example.com" },
/// #     "spec": {
/// #         "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
/// #         "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
/// #     },
/// # }))?;
///
/// // `Page::crd()` of a derived kind, or several versions by `merge_crds`.
/// let installed = crds::install(&client, "pages.example.com", [page]).await?;
/// assert!(installed[0].kept_versions.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
/// - No version is dropped: versions that the server has and the definition has not stay as they are, with the webhook that converts
///   them; [`InstalledCrd::kept_versions`] names them. Older ones are no longer the storage version. Remove a version with another tool,
///   after its objects were migrated.
/// - A program of an older release (a rollback, the last replica of a rolling update) takes nothing away: if the newest version is one
///   that the definition has not, all that is stored stays, the storage version and the conversion above all, and the definition only
///   adds its versions and its fields. A release that removes fields of a version without a new version cannot be told from an older one.
/// - Fields that the definition does not set, such as the CA certificate of a conversion webhook, stay as other managers set them. Fields
///   that it sets are taken over.
/// - A definition that is being deleted is awaited, and then created anew.
/// - If one fails, the others are installed nevertheless.
///
/// # Bounds
/// A minute for each definition; 16 are installed at the same time. Definitions are watched; discovery, which cannot be watched, is asked
/// again every 50 ms at first and every 2 s at most.
///
/// # Permissions
/// `get`, `list`, `watch`, `patch` and `create` of `customresourcedefinitions`.
///
/// # Cancellation
/// If the future is dropped, each definition is applied or not.
///
/// # Errors
/// [`InstallError`], with each definition that failed and why: for example that another one has its names.
pub async fn install(
    client: &Client,
    field_manager: &str,
    crds: impl IntoIterator<Item = CustomResourceDefinition>,
) -> Result<Vec<InstalledCrd>, InstallError> {
    let (crds, failed) = checked(crds);
    let mapper = RestMapper::new(client.clone());
    let mut result = InstallError { failed, installed: Vec::new() };
    let mut outcomes = stream::iter(crds)
        .map(|crd| {
            let installation = Installation::new(client, &mapper, field_manager, crd.name_any());
            installation.run(crd)
        })
        .buffered(CONCURRENT);
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Ok(installed) => result.installed.push(installed),
            Err(error) => result.failed.push(error),
        }
    }
    if result.failed.is_empty() { Ok(result.installed) } else { Err(result) }
}

/// Those that have a name of their own, and the errors of the others.
fn checked(
    crds: impl IntoIterator<Item = CustomResourceDefinition>,
) -> (Vec<CustomResourceDefinition>, Vec<CrdError>) {
    let (mut names, mut good, mut failed) = (HashSet::new(), Vec::new(), Vec::new());
    for crd in crds {
        match crd.metadata.name.clone().filter(|name| !name.is_empty()) {
            None => failed.push(CrdError::NoName),
            Some(name) if !names.insert(name.clone()) => failed.push(CrdError::GivenTwice { name }),
            Some(_) => good.push(crd),
        }
    }
    (good, failed)
}

/// The installation of one definition.
struct Installation {
    api: Api<CustomResourceDefinition>,
    params: PatchParams,
    name: String,
    /// Finds the kinds; that of all definitions, so that they share what discovery says.
    mapper: RestMapper,
    /// What is waited for, for the error.
    state: String,
}

impl Installation {
    fn new(client: &Client, mapper: &RestMapper, field_manager: &str, name: String) -> Self {
        Self {
            api: Api::all(client.clone()),
            params: PatchParams::apply(field_manager).force(),
            name,
            mapper: mapper.clone(),
            state: "the server does not respond".to_owned(),
        }
    }

    async fn run(mut self, wanted: CustomResourceDefinition) -> Result<InstalledCrd, CrdError> {
        let installation = async {
            let kept_versions = self.apply(&wanted).await?;
            let client = self.api.clone().into_client();
            let crd = until_served(&client, &self.mapper, &self.name, &mut self.state).await?;
            Ok(InstalledCrd { crd, kept_versions })
        };
        match timeout(LIMIT, installation).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CrdError::TimedOut { name: self.name, state: self.state, limit: LIMIT }),
        }
    }

    /// Applies the definition, and returns the versions that it has not.
    async fn apply(&mut self, wanted: &CustomResourceDefinition) -> Result<Vec<String>, CrdError> {
        loop {
            let stored = self.api.get_opt(&self.name).await.map_err(|error| self.failed(error))?;
            match plan(wanted, stored.as_ref()) {
                Step::AwaitDeletion => {
                    self.state = "it is being deleted".to_owned();
                    let deleted = self.api.wait_for(&self.name, &WaitFor::Delete, LIMIT).await;
                    deleted.map_err(CrdError::Watch)?;
                }
                Step::Apply { definition, kept } => {
                    match self.api.patch(&self.name, &self.params, &Patch::Apply(definition)).await {
                        Ok(_) => return Ok(kept),
                        Err(error) if error.is_conflict() => {
                            self.state = "other clients change it all the time".to_owned();
                            sleep(CONFLICT_PAUSE).await;
                        }
                        Err(error) => return Err(self.failed(error)),
                    }
                }
            }
        }
    }

    fn failed(&self, error: Error) -> CrdError {
        CrdError::Request { name: self.name.clone(), error }
    }
}
