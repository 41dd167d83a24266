//! [`Applier`]: writes objects to a cluster.

use std::time::Duration;

use kube_client::Client;
use kube_client::discovery::{ApiResource, RestMapper};
use kube_core::DynamicObject;
use kube_core::params::{DeleteParams, PatchParams, PostParams};

use super::objects::Objects;
use super::report::IncompleteRun;
use super::resolve::resolve_all;
use super::run::Run;
use super::settings::Settings;
use super::write::Verb;

/// Writes [`Objects`] to a cluster: applies, creates or deletes them, and reports what became of each.
///
/// [The module](super) has an example.
///
/// # Ordering
/// Namespaces first, then CRDs, what pods use, services, workloads, custom resources, and admission webhooks and policies last; each kind
/// after the previous one is done. Before custom resources are written, their CRDs of the same set are established and served. Deletion is
/// in reverse. Within a kind, results are reported in the order in which the objects were read. When all are written, a run waits until
/// they are ready ([`wait_ready`](Self::wait_ready)), and then deletes what is no longer among them (`prune`, feature `apply-set`), as far
/// as it is told to.
///
/// # Errors
/// The error of one object does not end the run: the others are written, and the report has the result of each. Nothing is waited for or
/// pruned then.
///
/// # Cancellation
/// A run that is dropped cancels its requests and sends no more. What was written stays; the same run again does the rest. That also
/// holds right after it: a pod that is refused because its namespace has no ServiceAccount yet is written again, for 30 s at most.
#[derive(Clone, Debug)]
pub struct Applier {
    pub(super) settings: Settings,
}

impl Applier {
    /// An applier with the defaults that the methods below name. Sends no request.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { settings: Settings::new(client) }
    }

    /// The namespace of namespaced objects that have none; by default that of the client. Cluster-scoped objects get none.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.settings.namespace = namespace.to_owned();
        self
    }

    /// Finds the kinds, with what it has found before; by default a new one.
    #[must_use]
    pub fn mapper(mut self, mapper: RestMapper) -> Self {
        self.settings.mapper = mapper;
        self
    }

    /// How many objects are written at the same time: 8 by default, at least 1. These are requests that are not answered yet: an object
    /// that waits, for its ServiceAccount or until it is gone, holds up no other one of its kind.
    #[must_use]
    pub fn concurrency(mut self, objects: usize) -> Self {
        self.settings.concurrency = objects.max(1);
        self
    }

    /// For how long a run waits for a CRD to be served, and for a deleted object to be gone, each since its own deletion: 2 minutes by
    /// default.
    #[must_use]
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.settings.wait_timeout = timeout;
        self
    }

    /// Whether [`delete`](Self::delete) waits until each object is gone, as `kubectl delete --wait` does: true by default. All deletions
    /// of a kind are requested first; at most 64 objects are watched at the same time.
    #[must_use]
    pub fn wait_for_deletion(mut self, wait: bool) -> Self {
        self.settings.wait_for_deletion = wait;
        self
    }

    /// Waits after [`apply`](Self::apply) and [`create`](Self::create) until every object is ready, together at most for `timeout`; by
    /// default a run does not wait. [`Readiness`](crate::ready::Readiness) has the rules of all kinds. An object that is not ready has
    /// failed: [`ObjectError::Wait`](super::ObjectError::Wait) says what it waits for.
    ///
    /// Nothing is waited for after an object that failed, and after a dry run.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kube_client::Client;
    /// use kube_client::api::PatchParams;
    /// use kube_tools::yaml::{Applier, Objects};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// // On a server without controllers, no claim is ever bound.
    /// let text = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    /// let applier = Applier::new(client).wait_ready(Duration::from_secs(1));
    /// let report = applier.apply(&Objects::parse(text)?, &PatchParams::apply("my-script")).await;
    /// let err = report.into_result().unwrap_err().to_string();
    /// assert!(err.ends_with("which is still not as expected: the phase of the claim is Pending"), "{err}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// A list and a watch for each object that is not ready when it is written, at most 64 at the same time.
    #[must_use]
    pub fn wait_ready(mut self, timeout: Duration) -> Self {
        self.settings.wait_ready = Some(timeout);
        self
    }

    /// The objects with their kinds as the cluster serves them, and with the namespaces that a run gives them. Nothing is written.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_tools::yaml::{Applier, Objects};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let objects = Objects::parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")?;
    /// let resolved = Applier::new(client).namespace("shop").resolve(&objects).await?;
    /// let (resource, object) = &resolved[0];
    /// assert_eq!(resource.plural, "configmaps");
    /// assert_eq!(object.metadata.namespace.as_deref(), Some("shop"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`IncompleteRun`], which names every object whose kind is not served; custom resources whose CRD is of the same set are among them.
    pub async fn resolve(
        &self,
        objects: &Objects,
    ) -> Result<Vec<(ApiResource, DynamicObject)>, IncompleteRun> {
        resolve_all(&self.settings, objects.entries()).await
    }

    /// Applies the objects, as `kubectl apply --server-side` does: `params` needs a field manager. Unknown fields are errors, as for
    /// kubectl, unless `params` says otherwise.
    ///
    /// What was applied on the client side before, by `kubectl apply` without `--server-side`, is taken over, as kubectl does it: its
    /// fields that are missing now are removed. A dry run does not show that.
    ///
    /// An apply to an object that is being deleted succeeds, with a [warning](super::ObjectResult::warning).
    ///
    /// With [`PatchParams::dry_run`] nothing is stored, and the results say what would be done; `ObjectResult::diff` (feature `diff`) shows
    /// it.
    ///
    /// # Cost
    /// Two requests for each object: its state before, and the apply. Three more for one that is taken over.
    pub fn apply(&self, objects: &Objects, params: &PatchParams) -> Run {
        Run::new(&self.settings, objects, Verb::Apply(params.clone()))
    }

    /// Creates the objects, as `kubectl create` does. An object that exists is an error of that object.
    pub fn create(&self, objects: &Objects, params: &PostParams) -> Run {
        Run::new(&self.settings, objects, Verb::Create(params.clone()))
    }

    /// Deletes the objects in the reverse order, as `kubectl delete --ignore-not-found` does, and waits until they are gone. An object that
    /// does not exist is no error.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_client::api::{DeleteParams, PatchParams};
    /// use kube_tools::yaml::{Applier, Objects};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let applier = Applier::new(client);
    /// let objects = Objects::parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")?;
    /// applier.apply(&objects, &PatchParams::apply("my-script")).await.into_result()?;
    /// let report = applier.delete(&objects, &DeleteParams::foreground()).await;
    /// assert_eq!(report.to_string(), "configmap/settings deleted\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete(&self, objects: &Objects, params: &DeleteParams) -> Run {
        Run::new(&self.settings, objects, Verb::Delete(params.clone()))
    }
}
