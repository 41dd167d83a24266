//! The server of `cargo kube dev`: an embedded one or that of the current kubeconfig; the kubeconfigs, and what it gets of the program's
//! manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::apps::v1::Deployment;
use kube_client::api::PatchParams;
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::{Api, Client, Config};
use kube_core::ResourceExt as _;
use kube_testserver::{BuiltInController, TestServer};
use kube_tools::crds;
use kube_tools::yaml::{Applier, Objects, Report};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::account::Account;
use super::deployed::Deployed;
use super::detour::{Detour, FIELD_MANAGER};
use super::kubeconfig::UserKubeconfig;
use super::lease::SessionLease;
use super::listens::Place;
use super::say::say;
use crate::cli::program::{Program, manifests};

/// Samples are refused until the webhooks of the operator are served.
const SAMPLES_LIMIT: Duration = Duration::from_secs(30);
const SAMPLES_PAUSE: Duration = Duration::from_millis(500);

/// The server and the files of this session.
pub(super) struct Cluster {
    /// `None` for the cluster of the user.
    embedded: Option<TestServer>,
    /// That of the embedded server, for the user.
    for_user: Option<UserKubeconfig>,
    place: Place,
    /// Of the administrator of an embedded server, or of the user.
    admin: Kubeconfig,
    context: String,
    client: Client,
    url: String,
    /// What is replaced in a cluster of the user: what is called first, then where that leads, by kind and name.
    detours: Mutex<BTreeMap<(bool, String), Detour>>,
    /// What was not there before and is kept.
    made: Mutex<BTreeSet<(bool, String)>>,
    /// In a cluster of the user, while this session holds it; it is renewed meanwhile.
    lease: tokio::sync::Mutex<Option<(SessionLease, JoinSet<()>)>>,
    /// Renews the token of the operator.
    renewal: Mutex<JoinSet<()>>,
    /// Of this user alone; removed with this value.
    folder: TempDir,
}

impl Cluster {
    /// Starts the server: with RBAC, Deployments and simulated pods, without any object. The user finds its kubeconfig at this path, unless
    /// another session is there.
    pub(super) async fn start(kubeconfig: &Path) -> Result<Self> {
        let server = TestServer::builder()
            .with(BuiltInController::Workloads)
            .with(BuiltInController::Kubelet)
            .with(BuiltInController::ServiceAccounts)
            .with_rbac()
            .tls()
            .start()
            .await
            .context("the embedded server")?;
        let text = server.kubeconfig();
        let admin = Kubeconfig::from_yaml(&text)?;
        let mut cluster = Self::with(admin, None, Place::Embedded, Some(server)).await?;
        let other = cluster.folder.path().join("kubeconfig");
        cluster.for_user = Some(UserKubeconfig::write(kubeconfig, &other, &text)?);
        Ok(cluster)
    }

    /// That of the current kubeconfig, or of another context of it. With the address at which it reaches this machine, if it does.
    pub(super) async fn current(context: Option<&str>, reach: Option<IpAddr>) -> Result<Self> {
        let admin = Kubeconfig::read().context("no configuration of a cluster")?;
        Self::with(admin, context, Place::Cluster { reach }, None).await
    }

    async fn with(
        admin: Kubeconfig,
        context: Option<&str>,
        place: Place,
        embedded: Option<TestServer>,
    ) -> Result<Self> {
        let context = context.map(str::to_owned).or_else(|| admin.current_context.clone());
        let context = context.context("the kubeconfig has no current context: expected --context NAME")?;
        let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(admin.clone(), &options).await;
        let config = config.with_context(|| format!("context {context}"))?;
        Ok(Self {
            url: config.cluster_url.to_string(),
            client: Client::try_from(config)?,
            folder: tempfile::Builder::new().prefix("cargo-kube-dev-").tempdir()?,
            detours: Mutex::default(),
            made: Mutex::default(),
            lease: tokio::sync::Mutex::default(),
            renewal: Mutex::default(),
            for_user: None,
            embedded,
            place,
            admin,
            context,
        })
    }

    /// What the user has to know of it.
    pub(super) fn introduction(&self) -> Vec<String> {
        match self.place {
            Place::Embedded => vec![format!("the embedded server is at {}", self.url)],
            Place::Cluster { .. } => vec![
                format!("the cluster of the context {} is at {}", self.context, self.url),
                "it keeps the definitions, and the roles and the ServiceAccount that were not there; what else is replaced ends with the session; samples are yours to apply"
                    .to_owned(),
            ],
        }
    }

    /// How the user sees what the operator does there. In a cluster of their own they know.
    pub(super) fn look_at(&self, deployed: &Deployed) -> Option<String> {
        let path = Program::shown(self.for_user.as_ref()?.path());
        Some(format!("try: kubectl --kubeconfig {path} get {}", deployed.resource()))
    }

    /// That of the operator's ServiceAccount. Its namespace is that of the operator, as in a pod.
    pub(super) fn operator_kubeconfig(&self) -> PathBuf {
        self.folder.path().join("operator.kubeconfig")
    }

    /// Gives the server the manifests of a program that gets these further arguments, and the program a kubeconfig.
    ///
    /// # Cancellation
    /// Objects may be applied in part; the next call applies all again.
    pub(super) async fn register(
        &self,
        executable: &Path,
        arguments: &[OsString],
    ) -> Result<(Deployed, Objects)> {
        let folder = tempfile::tempdir_in(self.folder.path())?;
        manifests(executable, folder.path()).await?;
        let install = Objects::read(folder.path().join("install.yaml"))?;
        let deployed = Deployed::read(install.iter(), arguments, self.place)?;
        let samples = folder.path().join("samples");
        let samples = match self.place {
            Place::Embedded if samples.exists() => Objects::read(samples)?,
            _ => Objects::default(),
        };
        self.runs_nowhere_else(&deployed).await?;
        self.take_lease(&deployed).await?;
        self.apply_deployed(&deployed).await?;
        self.take_lease(&deployed).await?; // where the namespace was not there
        self.write_operator_kubeconfig(&deployed).await?;
        Ok((deployed, samples))
    }

    /// # Errors
    /// Another session of this operator is alive; it may have taken the Lease over from this one.
    async fn take_lease(&self, Deployed { namespace, name, .. }: &Deployed) -> Result<()> {
        if matches!(self.place, Place::Embedded) {
            return Ok(());
        }
        let mut held = self.lease.lock().await;
        let lease = match &*held {
            Some((lease, _)) => lease.clone(),
            None => SessionLease::new(self.client.clone(), namespace, name, self.session()),
        };
        if !lease.take().await? {
            *held = None;
        } else if held.is_none() {
            let mut renewal = JoinSet::new();
            renewal.spawn(lease.clone().keep_renewed());
            *held = Some((lease, renewal));
        }
        Ok(())
    }

    /// By which this session is told from others: the machine, and the folder of the session.
    fn session(&self) -> String {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let folder = self.folder.path().file_name().unwrap_or_default().to_string_lossy();
        format!("{} {folder}", host.trim()).trim().to_owned()
    }

    async fn apply_deployed(&self, deployed: &Deployed) -> Result<()> {
        let operator = format!("{}/{}", deployed.namespace, deployed.name);
        if matches!(self.place, Place::Cluster { .. }) && self.detours().is_empty() {
            for detour in Detour::left(&self.client, &operator).await? {
                detour.end().await.context("an earlier session has left it")?;
            }
        }
        let mut objects = Objects::default();
        let mut definitions = Vec::new();
        for object in &deployed.objects {
            let mut object = object.clone();
            match self.place {
                // Others may use newer definitions than those of these sources.
                Place::Cluster { .. } if object["kind"] == "CustomResourceDefinition" => {
                    definitions.push(serde_json::from_value(object).context("a CustomResourceDefinition")?);
                    continue;
                }
                Place::Cluster { .. } => self.replace(&operator, &mut object).await?,
                Place::Embedded => {}
            }
            objects.add(&object)?;
        }
        for installed in crds::install(&self.client, FIELD_MANAGER, definitions).await? {
            let name = installed.crd.name_any();
            if installed.only_added_to {
                say(&format!("{name} is of a newer release: what these sources change in it is not applied"));
            }
            let kept = [installed.kept_versions.as_slice(), &installed.kept_fields].concat();
            if !kept.is_empty() {
                say(&format!("{name} keeps what these sources have not: {}", kept.join(", ")));
            }
        }
        self.apply(&objects).await.into_result()?;
        let detours: Vec<_> = self.detours().values().cloned().collect();
        for detour in detours {
            detour.written().await?;
        }
        Ok(())
    }

    /// What is kept, by kind and name.
    fn made(&self) -> MutexGuard<'_, BTreeSet<(bool, String)>> {
        self.made.lock().expect("invariant: nothing panics with this lock")
    }

    fn detours(&self) -> MutexGuard<'_, BTreeMap<(bool, String), Detour>> {
        self.detours.lock().expect("invariant: nothing panics with this lock")
    }

    /// Before an object is applied that will be put back.
    async fn replace(&self, operator: &str, object: &mut Value) -> Result<()> {
        let key = key_of(object);
        if self.made().contains(&key) {
            return Ok(()); // a role of this session, which is kept
        }
        let Some(detour) = Detour::begin(&self.client, operator, &self.session(), object).await? else {
            self.made().insert(key);
            return Ok(());
        };
        self.detours().insert(key, detour);
        Ok(())
    }

    /// Of two operators, one would wait for the other's Lease, or both would write.
    async fn runs_nowhere_else(&self, Deployed { namespace, name, .. }: &Deployed) -> Result<()> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let present =
            deployments.get_opt(name).await.with_context(|| format!("the Deployment {namespace}/{name}"))?;
        if present.is_some_and(|deployment| deployment.spec.replicas != Some(0)) {
            bail!(
                "the operator runs in the cluster: expected `kubectl scale --replicas=0 -n {namespace} deployment/{name}` before"
            );
        }
        Ok(())
    }

    async fn apply(&self, objects: &Objects) -> Report {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        Applier::new(self.client.clone()).apply(objects, &params).await
    }

    async fn write_operator_kubeconfig(&self, deployed: &Deployed) -> Result<()> {
        let account = Account {
            client: self.client.clone(),
            namespace: deployed.namespace.clone(),
            name: deployed.account.clone(),
            token: self.folder.path().join("token"),
        };
        let wait = account.renew().await?;
        let config = account.kubeconfig(&self.admin, &self.context)?;
        let path = self.operator_kubeconfig();
        // JSON is YAML.
        std::fs::write(&path, config.to_string()).with_context(|| path.display().to_string())?;
        let mut renewal = self.renewal.lock().expect("invariant: nothing panics with this lock");
        *renewal = JoinSet::new(); // that of the account before ends
        renewal.spawn(account.keep_renewed(wait));
        Ok(())
    }

    /// Creates these objects, as soon as the webhooks of the operator accept them. Returns a line for each.
    ///
    /// # Errors
    /// Some were refused until the limit.
    ///
    /// # Cancellation
    /// Some may be there.
    pub(super) async fn apply_samples(&self, samples: &Objects) -> Result<String> {
        let until = tokio::time::Instant::now() + SAMPLES_LIMIT;
        loop {
            let report = self.apply(samples).await;
            if report.failed().next().is_none() || tokio::time::Instant::now() >= until {
                let text = report.to_string();
                report.into_result().context("the samples")?;
                return Ok(text);
            }
            tokio::time::sleep(SAMPLES_PAUSE).await;
        }
    }

    /// Ends the embedded server, or puts back what leads another to this machine. Removes the files.
    ///
    /// # Errors
    /// The first one; the rest is done nevertheless.
    pub(super) async fn stop(self) -> Result<()> {
        let mut result = Ok(());
        if let Some(server) = self.embedded {
            server.shutdown().await;
        }
        let detours = self.detours.into_inner().expect("invariant: nothing panics with this lock");
        for detour in detours.values() {
            result = result.and(detour.end().await.context("it was replaced in this session"));
        }
        if let Some((lease, renewal)) = self.lease.into_inner() {
            drop(renewal); // so that nothing takes it again
            result = result.and(lease.release().await);
        }
        result.and(self.folder.close().context("the files of this session"))
    }
}

/// In the order in which objects are put back: what is called first, then where that leads.
fn key_of(object: &Value) -> (bool, String) {
    let (kind, metadata) = (&object["kind"], &object["metadata"]);
    let is_called = object["apiVersion"] == "admissionregistration.k8s.io/v1";
    (!is_called, format!("{kind} {} {}", metadata["namespace"], metadata["name"]))
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
