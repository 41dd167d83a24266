//! Applies definitions and waits until their kinds are served.

use std::collections::HashSet;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_client::api::Api;
use kube_client::discovery::RestMapper;
use kube_client::error::{Error, ErrorClass};
use kube_core::ResourceExt;
use kube_core::params::{Patch, PatchParams, PostParams};
use tokio::time::{sleep, timeout};

use super::outcome::{CrdError, InstallError, InstalledCrd};
use super::plan::{Kept, Step, essential, plan};
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
/// - No version and no field is dropped: versions that the server has and the definition has not stay as they are, with the webhook that
///   converts them ([`InstalledCrd::kept_versions`]), and so do fields of versions that both have, and what keeps fields without a name,
///   such as `x-kubernetes-preserve-unknown-fields` ([`InstalledCrd::kept_fields`]). Kept versions are no longer the storage version.
///   Remove a version or a field with another tool, after its objects were migrated.
/// - A program of an older release (a rollback, the last replica of a rolling update) takes nothing away. It is older if it would move the
///   storage version back to an older one, or if a version is stored that is newer than its own ones and no less stable. Then all that is
///   stored stays, and the definition only adds its versions and its fields ([`InstalledCrd::only_added_to`], and a warning in the log). A
///   version that only the older release converts is not served, if its webhook does not know all that is stored.
/// - Without such a version, an older release cannot be told from a newer one: its rules, defaults and columns are those that are applied,
///   and the next start of the newer release applies its own again.
/// - A definition is created only where there is none, and applied only to the state that was read, so programs that start together lose
///   nothing either.
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
/// If the future is dropped, each definition is applied or not. A new one may be there with its versions and without its labels and short
/// names, which the next call adds.
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
    // In any order: one that takes its whole time holds up no other one.
    let outcomes = stream::iter(crds.into_iter().enumerate()).map(|(at, crd)| {
        let installation = Installation::new(client, &mapper, field_manager, crd.name_any());
        installation.run(crd).map(move |outcome| (at, outcome))
    });
    let mut outcomes: Vec<_> = outcomes.buffer_unordered(CONCURRENT).collect().await;
    outcomes.sort_by_key(|(at, _)| *at);
    for (_, outcome) in outcomes {
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
    manager: String,
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
            manager: field_manager.to_owned(),
            name,
            mapper: mapper.clone(),
            state: "the server does not respond".to_owned(),
        }
    }

    async fn run(mut self, desired: CustomResourceDefinition) -> Result<InstalledCrd, CrdError> {
        let installation = async {
            let Kept { versions, fields, only_added_to } = self.apply(&desired).await?;
            let client = self.api.clone().into_client();
            let crd = until_served(&client, &self.mapper, &self.name, &mut self.state).await?;
            Ok(InstalledCrd { crd, kept_versions: versions, kept_fields: fields, only_added_to })
        };
        match timeout(LIMIT, installation).await {
            Ok(outcome) => outcome,
            Err(_) => Err(CrdError::TimedOut { name: self.name, state: self.state, limit: LIMIT }),
        }
    }

    /// Creates or applies the definition, and returns what stays of the stored one.
    async fn apply(&mut self, desired: &CustomResourceDefinition) -> Result<Kept, CrdError> {
        loop {
            let stored = self.api.get_opt(&self.name).await.map_err(|error| self.failed(error))?;
            let written = match plan(desired, stored.as_ref()) {
                Step::AwaitDeletion => {
                    self.state = "it is being deleted".to_owned();
                    let deleted = self.api.wait_for(&self.name, &WaitFor::Delete, LIMIT).await;
                    deleted.map_err(CrdError::Watch)?;
                    continue;
                }
                Step::Create(definition) => self.create(definition).await.map(|()| Kept::default()),
                Step::Apply(definition, kept) => {
                    self.tell(&kept);
                    let applied = self.api.patch(&self.name, &self.params, &Patch::Apply(definition)).await;
                    applied.map(|_| kept)
                }
            };
            match written {
                Ok(kept) => return Ok(kept),
                // Changed, created or deleted since it was read.
                Err(error)
                    if matches!(ErrorClass::of(&error), ErrorClass::Conflict | ErrorClass::NotFound) =>
                {
                    self.state = "other clients change it all the time".to_owned();
                    sleep(CONFLICT_PAUSE).await;
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Creates the definition, because an apply would overwrite one that another program has created meanwhile, and then applies it. What
    /// only the apply has written, a later one may remove.
    async fn create(&self, mut definition: Box<CustomResourceDefinition>) -> Result<(), Error> {
        let params = PostParams { field_manager: Some(self.manager.clone()), ..PostParams::default() };
        let created = self.api.create(&params, &essential(&definition)).await?;
        definition.metadata.resource_version = created.metadata.resource_version;
        self.api.patch(&self.name, &self.params, &Patch::Apply(definition)).await.map(drop)
    }

    fn tell(&self, Kept { fields, only_added_to, .. }: &Kept) {
        let name = &self.name;
        if *only_added_to {
            tracing::warn!(%name, "the stored CustomResourceDefinition is of a newer release; it is only added to");
        } else if !fields.is_empty() {
            tracing::info!(%name, ?fields, "fields stay in the CustomResourceDefinition that this release has not");
        }
    }

    fn failed(&self, error: Error) -> CrdError {
        CrdError::Request { name: self.name.clone(), error }
    }
}
