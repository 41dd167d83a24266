//! Applies definitions and waits until their kinds are served.

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::params::{Patch, PatchParams};
use kube_core::{ResourceExt, api_version_from_group_version};
use tokio::time::{Instant, sleep, timeout};

use super::outcome::{CrdError, InstallError, InstalledCrd};
use super::plan::{State, Step, plan, state};
use crate::api::Api;
use crate::client::Client;
use crate::error::Error;

/// The most time for one definition.
const LIMIT: Duration = Duration::from_secs(60);
/// How many definitions are installed at the same time.
const CONCURRENT: usize = 16;
/// Requests while waiting are this far apart at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A condition of an earlier state may be shown this long after a definition was applied.
const STALE_CONDITION: Duration = Duration::from_secs(2);

/// Applies definitions by server-side apply, and returns when the server serves their kinds: they are established, and discovery lists each
/// served version. They are returned in the order in which they were given.
///
/// Calling it again changes nothing, so that each replica of an operator may call it when it starts.
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_client::{Client, crds};
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
/// - No version is dropped: versions that the server has and the definition has not stay as they are, only that they are no longer the storage
///   version; [`InstalledCrd::kept_versions`] names them. Remove a version with another tool, after its objects were migrated.
/// - Fields that the definition does not set, such as the CA certificate of a conversion webhook, stay as other managers set them. Fields that it
///   sets are taken over.
/// - A definition that is being deleted is awaited, and then created anew.
/// - If one fails, the others are installed nevertheless.
///
/// # Bounds
/// A minute for each definition; 16 are installed at the same time.
///
/// # Permissions
/// `get`, `patch` and `create` of `customresourcedefinitions`.
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
    let mut result = InstallError { failed, installed: Vec::new() };
    let mut outcomes = stream::iter(crds)
        .map(|crd| {
            let name = crd.name_any();
            let installation = Installation::new(client, field_manager, name);
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
    /// What is waited for, for the error.
    state: String,
    pause: Duration,
}

impl Installation {
    fn new(client: &Client, field_manager: &str, name: String) -> Self {
        Self {
            api: Api::all(client.clone()),
            params: PatchParams::apply(field_manager).force(),
            name,
            state: "the server does not respond".to_owned(),
            pause: FIRST_PAUSE,
        }
    }

    async fn run(mut self, wanted: CustomResourceDefinition) -> Result<InstalledCrd, CrdError> {
        let installation = async {
            let kept_versions = self.apply(&wanted).await?;
            let crd = self.served().await?;
            Ok(InstalledCrd { crd, kept_versions })
        };
        let outcome = timeout(LIMIT, installation).await;
        match outcome {
            Ok(outcome) => outcome,
            Err(_) => Err(CrdError::TimedOut { name: self.name, state: self.state, limit: LIMIT }),
        }
    }

    /// Applies the definition, and returns the versions that it has not.
    async fn apply(&mut self, wanted: &CustomResourceDefinition) -> Result<Vec<String>, CrdError> {
        loop {
            let stored = self.api.get_opt(&self.name).await.map_err(|error| self.failed(error))?;
            match plan(wanted, stored.as_ref()) {
                Step::AwaitDeletion => self.wait_because("it is being deleted".to_owned()).await,
                Step::Apply { definition, kept } => {
                    match self.api.patch(&self.name, &self.params, &Patch::Apply(definition)).await {
                        Ok(_) => return Ok(kept),
                        Err(error) if error.is_conflict() => {
                            self.wait_because("other clients change it all the time".to_owned()).await;
                        }
                        Err(error) => return Err(self.failed(error)),
                    }
                }
            }
        }
    }

    /// Waits until the kind is served.
    async fn served(&mut self) -> Result<CustomResourceDefinition, CrdError> {
        let (applied, name) = (Instant::now(), self.name.clone());
        self.pause = FIRST_PAUSE;
        loop {
            let reason = match self.api.get_opt(&self.name).await {
                Ok(None) => return Err(CrdError::Deleted { name }),
                Ok(Some(crd)) => match state(&crd) {
                    State::Established => match self.missing_version(&crd).await {
                        Ok(None) => return Ok(crd),
                        Ok(Some(version)) => format!("discovery does not list it in {version}"),
                        Err(error) => self.waits_after(error)?,
                    },
                    State::NamesTaken(message) if applied.elapsed() >= STALE_CONDITION => {
                        return Err(CrdError::NamesTaken { name, message });
                    }
                    State::NamesTaken(reason) | State::Pending(reason) => reason,
                },
                Err(error) => self.waits_after(error)?,
            };
            self.wait_because(reason).await;
        }
    }

    /// A served version that discovery does not list.
    async fn missing_version(&self, crd: &CustomResourceDefinition) -> Result<Option<String>, Error> {
        let names = &crd.spec.names;
        for version in crd.spec.versions.iter().filter(|version| version.served) {
            let group_version =
                api_version_from_group_version((&crd.spec.group).into(), (&version.name).into());
            let listed = match self.api.clone().into_client().list_api_group_resources(&group_version).await {
                Ok(list) => list.resources.iter().any(|it| it.name == names.plural && it.kind == names.kind),
                Err(error) if error.is_not_found() => false,
                Err(error) => return Err(error),
            };
            if !listed {
                return Ok(Some(group_version.into_owned()));
            }
        }
        Ok(None)
    }

    /// The reason to wait, for an error that may pass.
    fn waits_after(&self, error: Error) -> Result<String, CrdError> {
        let is_final =
            error.status().is_some_and(|status| (400..500).contains(&status.code) && status.code != 429);
        if is_final { Err(self.failed(error)) } else { Ok(error.to_string()) }
    }

    async fn wait_because(&mut self, reason: String) {
        self.state = reason;
        sleep(self.pause).await;
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
    }

    fn failed(&self, error: Error) -> CrdError {
        CrdError::Request { name: self.name.clone(), error }
    }
}
