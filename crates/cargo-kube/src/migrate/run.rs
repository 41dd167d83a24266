//! [`Migration`]: performs what the machine decides.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{ListParams, Patch, PatchParams};
use kube_client::{Api, Client, Error};
use kube_core::{DynamicObject, ObjectMeta};
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::checkpoint::Checkpoint;
use super::definition::Facts;
use super::error::MigrateError;
use super::failure::Failure;
use super::machine::{Action, Machine, Page, Target};
use super::outcome::{Progress, Summary};

/// Objects in a page of the list.
const PAGE: u32 = 500;
/// Requests per second if the caller sets nothing.
const QPS: NonZeroU32 = NonZeroU32::new(50).expect("invariant: it is not 0");

/// Writes all objects of a definition again, and removes the versions that are no longer stored from `status.storedVersions`. See the
/// [module](super).
#[derive(Debug)]
pub struct Migration {
    client: Client,
    crd: String,
    to: Option<String>,
    qps: NonZeroU32,
    state_file: Option<PathBuf>,
}

impl Migration {
    /// Of the objects of the definition `crd`, such as `widgets.example.com`. The client's user needs the verbs `get` on definitions,
    /// `patch` on `customresourcedefinitions/status`, and `list`, `get` and `patch` on the objects.
    pub fn new(client: Client, crd: impl Into<String>) -> Self {
        Self { client, crd: crd.into(), to: None, qps: QPS, state_file: None }
    }

    /// Ends with an error unless `version` is the storage version, so that a script that has just applied a definition notices if it was
    /// not. The storage version is not changed.
    #[must_use]
    pub fn to(mut self, version: impl Into<String>) -> Self {
        self.to = Some(version.into());
        self
    }

    /// At most so many objects per second, 50 by default. One request is sent at a time. If the server asks for a pause (429 with
    /// `Retry-After`), there is one.
    #[must_use]
    pub fn qps(mut self, qps: NonZeroU32) -> Self {
        self.qps = qps;
        self
    }

    /// Records in this file behind which page the run is, and goes on there if the file exists. It is removed at the end. A definition that
    /// was changed since starts anew.
    #[must_use]
    pub fn state_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.state_file = Some(path.into());
        self
    }

    /// Runs to the end. `progress` is called after each request.
    ///
    /// # Errors
    /// [`MigrateError`]; `storedVersions` is then as it was. Objects that the server refuses are no error: they are in
    /// [`Summary::refused`], up to 99.
    pub async fn run(self, mut progress: impl FnMut(Progress)) -> Result<Summary, MigrateError> {
        let resume = match &self.state_file {
            Some(path) => Checkpoint::read(path, &self.crd)?,
            None => None,
        };
        let mut machine = Machine::new(self.to.clone(), resume);
        let mut pace = interval((Duration::from_secs(1) / self.qps.get()).max(Duration::from_nanos(1)));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut kind = None;
        let mut action = machine.start();
        loop {
            let result = match &action {
                Action::Wait(time) => {
                    sleep(*time).await;
                    Ok(machine.waited())
                }
                Action::ReadDefinition => match self.definitions().get(&self.crd).await {
                    Ok(crd) => {
                        let facts = Facts::of(&crd)?;
                        kind = Some(Kind { client: self.client.clone(), facts: facts.clone() });
                        Ok(machine.definition(facts))
                    }
                    Err(error) => Err(error),
                },
                Action::Prune(facts) => self.prune(facts).await.map(|()| machine.pruned()),
                Action::Done(end) => {
                    end.clone().map_err(|end| end.into_error(&self.crd))?;
                    break;
                }
                of_objects => {
                    let kind = kind.as_ref().expect("invariant: the definition was read first");
                    self.visit(kind, of_objects, &mut machine, &mut pace).await?
                }
            };
            action = result.unwrap_or_else(|error| machine.failed(&Failure::of(&error)));
            progress(machine.progress());
        }
        let summary = machine.into_summary();
        match &self.state_file {
            Some(path) if summary.is_complete() => Checkpoint::remove(path)?,
            _ => {}
        }
        Ok(summary)
    }

    /// Requests about objects.
    async fn visit(
        &self,
        kind: &Kind,
        action: &Action,
        machine: &mut Machine,
        pace: &mut Interval,
    ) -> Result<Result<Action, Error>, MigrateError> {
        Ok(match action {
            Action::List { token, checkpoint } => {
                if let (Some(path), Some(checkpoint)) = (&self.state_file, checkpoint) {
                    checkpoint.write(path, &self.crd)?;
                }
                kind.list(token.as_deref()).await.map(|page| machine.page(page))
            }
            Action::Write(target) => {
                pace.tick().await;
                kind.write(target).await.map(|changed| machine.written(changed))
            }
            Action::Look(target) => kind.look(target).await.map(|found| {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                machine.found(&text(&found.uid), &text(&found.resource_version))
            }),
            _ => unreachable!("invariant: the caller performs the other actions"),
        })
    }

    async fn prune(&self, facts: &Facts) -> Result<(), Error> {
        let patch = json!({
            "metadata": { "uid": facts.uid, "resourceVersion": facts.resource_version },
            "status": { "storedVersions": [facts.storage] },
        });
        self.definitions().patch_status(&self.crd, &params(), &Patch::Merge(patch)).await.map(drop)
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some("cargo-kube".to_owned()), ..PatchParams::default() }
}

/// The kind whose objects are migrated.
#[derive(Debug)]
struct Kind {
    client: Client,
    facts: Facts,
}

impl Kind {
    async fn list(&self, token: Option<&str>) -> Result<Page, Error> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.facts.kind);
        let params =
            ListParams { continue_token: token.map(str::to_owned), ..ListParams::default().limit(PAGE) };
        let list = api.list_metadata(&params).await?;
        let target = |metadata: ObjectMeta| Target {
            namespace: metadata.namespace,
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
        };
        Ok(Page {
            targets: list.items.into_iter().map(|object| target(object.metadata)).collect(),
            token: list.metadata.continue_.filter(|token| !token.is_empty()),
            remaining: list.metadata.remaining_item_count.and_then(|count| count.try_into().ok()),
        })
    }

    /// Whether the server wrote the object.
    async fn write(&self, target: &Target) -> Result<bool, Error> {
        let Target { uid, resource_version, .. } = target;
        let patch = json!({ "metadata": { "uid": uid, "resourceVersion": resource_version } });
        let written = self.api(target).patch_metadata(&target.name, &params(), &Patch::Merge(patch)).await?;
        Ok(written.metadata.resource_version.as_ref() != Some(resource_version))
    }

    async fn look(&self, target: &Target) -> Result<ObjectMeta, Error> {
        Ok(self.api(target).get_metadata(&target.name).await?.metadata)
    }

    fn api(&self, target: &Target) -> Api<DynamicObject> {
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &self.facts.kind),
            None => Api::all_with(self.client.clone(), &self.facts.kind),
        }
    }
}
