//! [`ApiExt`]: the methods of this crate on an [`Api`].

use std::fmt::Debug;
use std::future::Future;
#[cfg(feature = "cp")]
use std::path::Path;
use std::time::Duration;

use futures::Stream;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Result};
use kube_core::Resource;
use kube_core::WatchEvent;
use kube_core::apply::Configuration;
use kube_core::params::{ListParams, PatchParams, WatchParams};
use kube_core::util::Restart;
use serde::de::DeserializeOwned;

#[cfg(feature = "cp")]
use crate::pods::{Copied, CopyError, CopyParams};
#[cfg(feature = "ws")]
use crate::pods::{ExecError, ExecParams, ForwardError, ForwardPort, ForwardTarget, Forwarder, Output};
use crate::pods::{LogLines, LogLinesParams};
use crate::ready::Readiness;
use crate::table::Table;
use crate::wait::{WaitError, WaitFor};
use crate::{apply, pods, table, wait};

/// Methods of an [`Api`] beyond those of the crate `kube-client`: apply, wait, tables, and what programs do with running pods.
///
/// `kube::prelude` imports it. A type that contains an `Api` gets these methods by [`ApiExt::api`].
///
/// | methods | what they do |
/// |---|---|
/// | [`apply`](Self::apply), [`apply_status`](Self::apply_status), [`adopt`](Self::adopt), [`adopt_from`](Self::adopt_from) | server-side apply of a configuration |
/// | [`wait_ready`](Self::wait_ready), [`wait_for`](Self::wait_for), [`watch_readiness`](Self::watch_readiness) | wait for an object, as `kubectl wait` |
/// | [`scale_and_wait`](Self::scale_and_wait), [`restart_and_wait`](Self::restart_and_wait), [`rollout_status`](Self::rollout_status) | change a workload, and follow its rollout |
/// | [`table`](Self::table), [`get_table`](Self::get_table), [`watch_table`](Self::watch_table) | objects as `kubectl get` prints them |
/// | [`log_lines`](Self::log_lines); `exec_output`, `forward` (feature `ws`); `copy_to`, `copy_from` (feature `cp`) | of an `Api<Pod>`: logs, commands, ports and files |
pub trait ApiExt<K: Resource> {
    /// The `Api` of these methods.
    fn api(&self) -> Api<K>;

    // Server-side apply.

    /// Applies a configuration and returns the object as the server stored it. The object is created if it does not exist.
    ///
    /// A [`Sparse`](crate::apply::Sparse), as the macro `apply!` of the crate `kube` writes it, has exactly the fields that were written; a
    /// whole object claims every field that it serializes. The field manager in `pp` owns these fields from now on; those that it applied
    /// before and that are missing now are removed. The name of the object is `metadata.name` of the configuration. Its namespace is that
    /// of this `Api`: the configuration may leave it out.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, api::PatchParams};
    /// use kube_tools::{ApiExt, apply::extract};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut wanted = ConfigMap::default();
    /// wanted.metadata.name = Some("settings".into());
    /// wanted.data = Some([("color".to_owned(), "blue".to_owned())].into());
    /// let live = maps.apply(&PatchParams::apply("painter"), &wanted).await?;
    ///
    /// // Another manager may not change the color, and says whose it is.
    /// wanted.data = Some([("color".to_owned(), "red".to_owned())].into());
    /// let refused = maps.apply(&PatchParams::apply("other"), &wanted).await.unwrap_err();
    /// let [conflict] = &refused.field_conflicts()[..] else { panic!("{refused}") };
    /// assert_eq!((conflict.manager_name().as_str(), conflict.field.as_str()), ("painter", ".data.color"));
    ///
    /// // What was applied can be read from the object, and applying it again changes nothing.
    /// let again = maps.apply(&PatchParams::apply("painter"), &extract(&live, "painter", None)?).await?;
    /// assert_eq!(again.metadata.resource_version, live.metadata.resource_version);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// One request, without a read before it. The server changes nothing, and no watch has an event, if the object is as wanted.
    ///
    /// # Cancellation
    /// A dropped call has applied the configuration completely or not at all.
    ///
    /// # Errors
    /// [`Error::BuildRequest`](kube_client::Error::BuildRequest) without a request if the configuration lacks `apiVersion`, `kind` or
    /// `metadata.name`, if it is for another namespace, if an item of a list of a built-in kind lacks the key that identifies it (for
    /// custom resources: [`ListMapKeys`](crate::apply::ListMapKeys)), or if `pp` has no field manager.
    /// [`Error::Api`](kube_client::Error::Api) with code 409 if other managers own fields that would change, unless `pp` has `force`:
    /// [`Error::field_conflicts`](kube_client::Error::field_conflicts) names them. 422 if the object would not be valid.
    fn apply(
        &self,
        pp: &PatchParams,
        configuration: &impl Configuration<Resource = K>,
    ) -> impl Future<Output = Result<K>> + Send
    where
        K: Clone + DeserializeOwned + Debug,
    {
        apply::apply(self.api(), pp, configuration)
    }

    /// Applies the `status` of a configuration, as the controller of the kind does; the server ignores all other fields, save those that
    /// identify the object. Everything else is as with [`ApiExt::apply`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};
    /// use kube_client::{Api, Client, api::PatchParams};
    /// use kube_tools::{ApiExt, apply::extract};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let status: NamespaceStatus =
    ///     serde_json::from_str(r#"{"conditions": [{"type": "Audited", "status": "True"}]}"#)?;
    /// let mut wanted = Namespace { status: Some(status), ..Namespace::default() };
    /// wanted.metadata.name = Some("default".into());
    /// let live = namespaces.apply_status(&PatchParams::apply("auditor"), &wanted).await?;
    /// let applied = extract(&live, "auditor", Some("status"))?;
    /// assert_eq!(applied.json()?["status"]["conditions"][0]["type"], "Audited");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ApiExt::apply`]; also code 404 if the object does not exist, or its kind has no status subresource.
    fn apply_status(
        &self,
        pp: &PatchParams,
        configuration: &impl Configuration<Resource = K>,
    ) -> impl Future<Output = Result<K>> + Send
    where
        K: Clone + DeserializeOwned + Debug,
    {
        apply::apply_status(self.api(), pp, configuration)
    }

    /// Makes what `manager` owns by create, replace and patch what it applied, as client-go's `csaupgrade` does: once, before the first
    /// apply of a program that wrote its objects by other requests before. Without it, the manager's former self keeps its fields: an apply
    /// conflicts with it, and fields that are left out are not removed.
    ///
    /// Returns whether anything changed: calling it again does no harm. Only `metadata.managedFields` changes, and what was written to
    /// subresources stays an update.
    ///
    /// Fields that the manager wrote in another API version than its last apply, or its newest update if there is none, belong to no
    /// manager afterwards.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{PatchParams, PostParams};
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// let params = PostParams { field_manager: Some("painter".into()), ..PostParams::default() };
    /// maps.create(&params, &map).await?;
    ///
    /// assert!(maps.adopt("settings", "painter").await?);
    /// map.data = None;
    /// let applied = maps.apply(&PatchParams::apply("painter"), &map).await?;
    /// assert_eq!(applied.data, None, "removed, as the configuration has it no more");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// Two requests, get and patch of the metadata; one if there is nothing to do. If others write at the same time, it reads and writes
    /// again, up to 8 times within about 1.3 s.
    ///
    /// # Cancellation
    /// A dropped call has moved everything or nothing.
    ///
    /// # Errors
    /// [`Error::Api`](kube_client::Error::Api) with code 404 if the object does not exist, and with 409 if others changed it during each of
    /// the attempts.
    fn adopt(&self, name: &str, manager: &str) -> impl Future<Output = Result<bool>> + Send
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let api = self.api();
        async move { apply::adopt(api, name, &[manager], manager).await }
    }

    /// Makes what the manager `former` owns by create, replace and patch what `manager` applied: before the first apply of a program that
    /// takes an object over from another, such as from `kubectl apply` without `--server-side`, whose manager is
    /// `kubectl-client-side-apply`. Everything else is as with [`ApiExt::adopt`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{PatchParams, PostParams};
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// let params = PostParams { field_manager: Some("old-painter".into()), ..PostParams::default() };
    /// maps.create(&params, &map).await?;
    ///
    /// assert!(maps.adopt_from("settings", "old-painter", "painter").await?);
    /// map.data = None;
    /// let applied = maps.apply(&PatchParams::apply("painter"), &map).await?;
    /// assert_eq!(applied.data, None, "removed, as the configuration has it no more");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ApiExt::adopt`].
    fn adopt_from(&self, name: &str, former: &str, manager: &str) -> impl Future<Output = Result<bool>> + Send
    where
        K: Clone + DeserializeOwned + Debug,
    {
        let api = self.api();
        async move { apply::adopt(api, name, &[former], manager).await }
    }

    // Waiting.

    /// Waits until the object `name` is ready, and returns it in that state. [`Readiness`] says what ready means.
    ///
    /// The object is watched, not polled; expired versions and broken connections are survived. With a timeout of zero, the present state
    /// is looked at once; [`Duration::MAX`] waits without limit.
    ///
    /// ```
    /// use std::time::Duration;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let default = namespaces.wait_ready("default", Duration::from_secs(60)).await?;
    /// assert_eq!(default.metadata.name.as_deref(), Some("default"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError`]: the object does not exist, is deleted, has failed, is not ready in time, or cannot be watched.
    ///
    /// # Cancellation
    /// Dropping the future ends the watch.
    fn wait_ready(&self, name: &str, timeout: Duration) -> impl Future<Output = Result<K, WaitError>> + Send
    where
        K: Clone + DeserializeOwned,
    {
        wait::wait_ready(self.api(), name, timeout)
    }

    /// The readiness of the object `name`, at first and after each change of its message.
    ///
    /// The stream ends after the first state that is not [`InProgress`](crate::ready::ReadyState::InProgress), or after an error: the
    /// object does not exist, was deleted, or cannot be watched.
    ///
    /// # Cancellation
    /// It has no time limit: dropping it ends the watch.
    fn watch_readiness(
        &self,
        name: &str,
    ) -> impl Stream<Item = Result<Readiness, WaitError>> + Send + use<Self, K>
    where
        K: Clone + DeserializeOwned,
    {
        wait::watch_readiness(self.api(), name)
    }

    /// Waits until `condition` holds for the object `name`, as `kubectl wait --for` does, and returns it in that state; `None` if it does
    /// not exist then, as after [`WaitFor::Delete`].
    ///
    /// For a deletion, a new object of the same name counts as well. The timeout is that of [`wait_ready`](ApiExt::wait_ready).
    ///
    /// ```
    /// use std::time::Duration;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let namespaces: Api<Namespace> = Api::all(client);
    /// let active = "jsonpath={.status.phase}=Active".parse()?;
    /// assert!(namespaces.wait_for("default", &active, Duration::from_secs(60)).await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`WaitError`], as for [`wait_ready`](ApiExt::wait_ready); also if a JSON path leads to what cannot be compared. While it waits for
    /// [`WaitFor::Create`] or [`WaitFor::Delete`], an object that does not exist is no error.
    ///
    /// # Cancellation
    /// Dropping the future ends the watch.
    fn wait_for(
        &self,
        name: &str,
        condition: &WaitFor,
        timeout: Duration,
    ) -> impl Future<Output = Result<Option<K>, WaitError>> + Send
    where
        K: Clone + DeserializeOwned,
    {
        wait::wait_for_condition(self.api(), name, condition, timeout)
    }

    /// Sets the number of replicas of the object `name`, and waits until it is ready and has as many replicas as its scale wants, as
    /// `kubectl scale --timeout` does. Pods that end are not counted as replicas.
    ///
    /// # Cost
    /// As [`ApiExt::wait_ready`]; also a read of the scale after each change of the object while it is ready.
    ///
    /// # Errors
    /// As [`Api::patch_scale`] and [`Api::get_scale`], in [`WaitError::Request`], then as [`ApiExt::wait_ready`].
    ///
    /// # Cancellation
    /// Dropping the future ends the waiting, not the change.
    fn scale_and_wait(
        &self,
        name: &str,
        replicas: u32,
        timeout: Duration,
    ) -> impl Future<Output = Result<K, WaitError>> + Send
    where
        K: Clone + DeserializeOwned,
    {
        wait::scale_and_wait(self.api(), name, replicas, timeout)
    }

    /// The progress of the rollout of the workload `name`, with the texts of `kubectl rollout status`: [`ApiExt::watch_readiness`] for
    /// kinds that have rollouts.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    #[doc = include_str!("doc/deployment.txt")]
    /// # let seen = serde_json::json!({ "status": { "observedGeneration": 1 } });
    /// # let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    /// # deployments.patch_status("web", &Default::default(), &kube_client::api::Patch::Merge(seen)).await?;
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let mut progress = std::pin::pin!(deployments.rollout_status("web"));
    /// while let Some(status) = progress.try_next().await? {
    ///     println!("{status}"); // deployment "web" successfully rolled out
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Unlike kubectl, it also judges workloads with the strategy `OnDelete`, by their availability.
    fn rollout_status(
        &self,
        name: &str,
    ) -> impl Stream<Item = Result<Readiness, WaitError>> + Send + use<Self, K>
    where
        K: Restart + Clone + DeserializeOwned,
    {
        wait::watch_readiness(self.api(), name)
    }

    /// Replaces the pods of the workload `name`, as [`Api::restart`] does, and waits until the new ones are ready.
    ///
    /// # Errors
    /// [`WaitError::NoRestart`], and nothing is changed, if that would replace no pod: the workload is paused, has the strategy `OnDelete`
    /// or a partition that covers all replicas, or is a ReplicaSet. Otherwise as [`Api::restart`], in [`WaitError::Request`], then as
    /// [`ApiExt::wait_ready`].
    ///
    /// # Cancellation
    /// Dropping the future ends the waiting, not the restart.
    fn restart_and_wait(
        &self,
        name: &str,
        timeout: Duration,
    ) -> impl Future<Output = Result<K, WaitError>> + Send
    where
        K: Restart + Clone + DeserializeOwned,
    {
        wait::restart_and_wait(self.api(), name, timeout)
    }

    // Tables.

    /// The objects that `lp` selects as the server prints them for `kubectl get`. With a limit, one page of them, as for [`Api::list`].
    ///
    /// Of a server without tables, such as some aggregated ones, the table has name and age of each object, as kubectl prints them.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::ListParams;
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    #[doc = include_str!("doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::all(client);
    /// let table = maps.table(&ListParams::default()).await?;
    /// println!("{}", table.printer().with_namespace().wide());
    /// let object = table.rows[0].object.as_ref().ok_or("the server sends the metadata of each object")?;
    /// assert_eq!(object.metadata.namespace.as_deref(), Some("default"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// The response has the cells and the metadata of each object, and is in memory as a whole.
    ///
    /// # Errors
    /// As [`Api::list`].
    fn table(&self, lp: &ListParams) -> impl Future<Output = Result<Table>> + Send {
        table::of_list(self.api(), lp)
    }

    /// The object `name` as the server prints it for `kubectl get`: a table with one row.
    ///
    /// # Errors
    /// As [`Api::get`].
    fn get_table(&self, name: &str) -> impl Future<Output = Result<Table>> + Send {
        table::of_object(self.api(), name)
    }

    /// Watches the objects that `wp` selects, as [`Api::watch`]: each event has a table with the row of its object.
    ///
    /// Only the table of the first event has columns.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{WatchEvent, WatchParams};
    /// use kube_client::{Api, Client};
    /// use kube_tools::ApiExt;
    #[doc = include_str!("doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut events = Box::pin(maps.watch_table(&WatchParams::default(), "0").await?);
    /// if let Some(WatchEvent::Added(table)) = events.try_next().await? {
    ///     assert_eq!(table.rows[0].cells[0], "settings");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::watch`]. An event without a table, of a server that has none, is an error.
    fn watch_table(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> impl Future<Output = Result<impl Stream<Item = Result<WatchEvent<Table>>> + Send + use<Self, K>>> + Send
    {
        table::watch(self.api(), wp, version)
    }

    // Pods.

    /// The lines of the logs of all pods that `params` selects, as one stream. With `follow` it goes on with new lines, restarted
    /// containers and new pods, and has no end; without it ends when all logs have been read. `Api::all` reads the pods of all namespaces.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use kube_tools::{ApiExt, pods::LogLinesParams};
    #[doc = include_str!("doc/running_pod_in_process.txt")]
    /// # let status = serde_json::json!({"status": {"containerStatuses": [{"name": "main", "state": {"running": {}}, "restartCount": 0,
    /// #     "image": "i", "imageID": "", "ready": true}]}});
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &kube_client::api::Patch::Merge(status)).await?;
    /// # server.kubelet().log("default", "web", "main", "one\ntwo");
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut lines = pods.log_lines(&LogLinesParams::default().tail(1));
    /// while let Some(line) = lines.try_next().await? {
    ///     assert_eq!(line.to_string(), "[pod/web/main] two");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Ordering
    /// The lines of a container come in the order of its log. Lines of different containers come as they arrive.
    ///
    /// # Guarantees
    /// A log whose connection ends, or whose server restarts, is read on from its last line. Each line comes once, as far as the
    /// server's logs have timestamps, with these exceptions: lines that a node has rotated away or deleted meanwhile are lost; of a pod
    /// that is deleted, what had not been read is lost. `tail` limits the first successful read of a log and none after it. When a
    /// container restarts, the rest of its previous log comes first; only one restart back is kept by nodes. A pod that replaces another
    /// one of its name is read as a pod of its own.
    ///
    /// # Cost
    /// One request for each container, one watch (a list without `follow`), and the permissions `get` of `pods/log`, `get`, `list` and
    /// `watch` of `pods`. With `follow`, a read of its pod for each request (two after an interruption), and with `tail` one request more.
    /// 64 lines are read ahead, and up to a line (at most 1 MiB) in each container's task. While the stream is not read, the nodes wait.
    ///
    /// # Errors
    /// An item that is an error, [`LogLinesError`](crate::pods::LogLinesError), names the container. Interruptions shorter than a minute
    /// are retried and logged, longer ones are an error each minute while the stream goes on (without `follow`, the container's log ends).
    /// What the server refuses at the start is one error and not retried; if that is the list of pods, the stream ends. What it refuses
    /// later is retried as an interruption. A [`container`](LogLinesParams::container) that no pod has is an error that names those there
    /// are.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    fn log_lines(&self, params: &LogLinesParams) -> LogLines
    where
        Self: ApiExt<Pod>,
    {
        pods::log_lines(ApiExt::<Pod>::api(self), params)
    }

    /// The container in which kubectl runs a command where none is given: the one that the pod `name` names by its annotation
    /// `kubectl.kubernetes.io/default-container`, whether it has it or not, else its first. `None` for a pod without containers, which no
    /// server stores.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client, api::AttachParams};
    /// use kube_tools::ApiExt;
    #[doc = include_str!("doc/running_pod.txt")]
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let container = pods.default_container("web").await?;
    /// assert_eq!(container.as_deref(), Some("main"));
    /// let process = pods.attach("web", &AttachParams { container, ..AttachParams::default() }).await?;
    /// # drop(process);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::get`].
    #[cfg(feature = "ws")]
    fn default_container(&self, name: &str) -> impl Future<Output = Result<Option<String>>> + Send
    where
        Self: ApiExt<Pod>,
    {
        let pods = ApiExt::<Pod>::api(self);
        async move { pods::default_container_of(&pods, name).await }
    }

    /// Runs a command (the program and its arguments, no shell) in a container of the pod `name`, waits for its end, and returns its exit
    /// code and output. [`Output::exit_ok`] makes an error of an exit code other than 0.
    ///
    /// Of more output than [`ExecParams::limit`] the rest is discarded: the command runs to its end, and then the result is
    /// [`ExecError::OutputLimit`], which has the exit code and the first bytes. For output without a limit use [`Api::exec`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use kube_tools::{ApiExt, pods::ExecParams};
    #[doc = include_str!("doc/running_pod.txt")]
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let output = pods.exec_output("web", ["cat"], &ExecParams::default().stdin("hello")).await?;
    /// assert_eq!(output.exit_ok()?.stdout, b"hello");
    /// let output = pods.exec_output("web", ["sh", "-c", "exit 3"], &ExecParams::default()).await?;
    /// assert_eq!(output.status.code(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future closes the connection. The command may continue to run. There is no time limit: put `tokio::time::timeout`
    /// around it.
    ///
    /// # Errors
    /// [`ExecError`], which names the command and the pod, and for an unknown container those that the pod has. An exit code other than 0
    /// is none. That the command does not read its input is none either.
    ///
    /// # Cost
    /// A websocket. Without [`ExecParams::container`] also a read of the pod.
    #[cfg(feature = "ws")]
    fn exec_output<I, T>(
        &self,
        name: &str,
        command: I,
        params: &ExecParams,
    ) -> impl Future<Output = Result<Output, ExecError>> + Send
    where
        Self: ApiExt<Pod>,
        I: IntoIterator<Item = T>,
        T: Into<String>,
    {
        let command = command.into_iter().map(Into::into).collect();
        pods::exec_output(ApiExt::<Pod>::api(self), name, command, params)
    }

    /// Copies the file or directory `local` to `remote` in the pod `name`, as `kubectl cp LOCAL POD:REMOTE` does. The container needs `tar`
    /// (and `test`, to see whether `remote` is a directory), the server Kubernetes 1.30.
    ///
    /// If `remote` is a directory, the copy is created in it under its own name, else it becomes `remote`, whose directory must exist.
    /// Symbolic links are copied as links, whatever they point to. Existing files are replaced. Sockets, devices and the like are skipped.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use kube_tools::{ApiExt, pods::CopyParams};
    #[doc = include_str!("doc/running_pod.txt")]
    /// # let folder = std::env::temp_dir().join(format!("copy-to-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # std::fs::write(folder.join("file"), "hello")?;
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let copied = pods.copy_to("web", &folder, "/data", &CopyParams::default()).await?;
    /// assert_eq!((copied.files, copied.directories), (1, 1));
    /// let output = pods.exec_output("web", ["cat", "/data/file"], &Default::default()).await?;
    /// assert_eq!(output.stdout, b"hello");
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// Files of any size stream through less than 2 MiB of memory. A thread of the runtime's blocking pool reads the files.
    ///
    /// # Cancellation
    /// Dropping the future ends the copy: what was sent stays in the pod, the last file incomplete.
    ///
    /// # Errors
    /// [`CopyError`], with what was sent until then.
    #[cfg(feature = "cp")]
    fn copy_to(
        &self,
        name: &str,
        local: impl AsRef<Path>,
        remote: &str,
        params: &CopyParams,
    ) -> impl Future<Output = Result<Copied, CopyError>> + Send
    where
        Self: ApiExt<Pod>,
    {
        pods::copy_to(ApiExt::<Pod>::api(self), name, local.as_ref().to_owned(), remote, params)
    }

    /// Copies the file or directory `remote` of the pod `name` to `local`, as `kubectl cp POD:REMOTE LOCAL` does. The container needs
    /// `tar`.
    ///
    /// If `local` is a directory, the copy is created in it under its own name, else it becomes `local`. Missing directories are created,
    /// and existing files replaced: each is written beside its place and then renamed, so that it is never half of a file, may have been
    /// read-only, and hard links to the old one keep their content. If `local` is a link, what it leads to is replaced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use kube_tools::{ApiExt, pods::CopyParams};
    #[doc = include_str!("doc/running_pod.txt")]
    /// # let folder = std::env::temp_dir().join(format!("copy-from-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// pods.exec_output("web", ["sh", "-c", "echo hello > /data/file"], &Default::default()).await?.exit_ok()?;
    /// let copied = pods.copy_from("web", "/data", folder.join("data"), &CopyParams::default()).await?;
    /// assert_eq!((copied.files, copied.bytes), (1, 6));
    /// assert_eq!(std::fs::read_to_string(folder.join("data/file"))?, "hello\n");
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety rules
    /// The container is not trusted. Nothing is written outside of the target: entries with `..` are skipped, an absolute name or one that
    /// was not requested is an error. Symbolic links are not created, and local links below the target are not followed. A hard link leads
    /// to a file of the same copy, or is skipped. Holes of sparse files take no space. Devices and the like are skipped.
    /// [`Copied::skipped`] names what was skipped.
    ///
    /// # Cost
    /// Files of any size stream through less than 2 MiB of memory; directories take their paths, files a hash of theirs. A thread of the
    /// runtime's blocking pool writes the files.
    ///
    /// # Cancellation
    /// Dropping the future ends the copy: files that are complete stay, the one that is being written is removed.
    ///
    /// # Errors
    /// [`CopyError`], with what was copied until then. A file that was being written is removed; what was there before stays. An archive
    /// without its end is an error, whatever the exit code. With [`CopyParams::retries`], a copy whose connection failed is resumed where
    /// it was, if the entry there begins at the same byte, with the same name, size and time, and the last 4 KiB before the border are the
    /// same.
    #[cfg(feature = "cp")]
    fn copy_from(
        &self,
        name: &str,
        remote: &str,
        local: impl AsRef<Path>,
        params: &CopyParams,
    ) -> impl Future<Output = Result<Copied, CopyError>> + Send
    where
        Self: ApiExt<Pod>,
    {
        pods::copy_from(ApiExt::<Pod>::api(self), name, remote, local.as_ref().to_owned(), params)
    }

    /// Listens on local ports and forwards each connection to a port of `target`: a pod, or a ready pod of a Service or workload in the
    /// namespace of this `Api`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use kube_tools::{ApiExt, pods::{ForwardPort, ForwardTarget}};
    /// use tokio::io::AsyncReadExt;
    /// # use tokio::io::AsyncWriteExt;
    #[doc = include_str!("doc/running_pod.txt")]
    /// # server.api().kubelet().on_port_forward(async |mut connection| {
    /// #     connection.stream.write_all(b"hello").await.map_err(|err| err.to_string())
    /// # });
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let forwarder = pods.forward(&ForwardTarget::Pod("web".into()), &[ForwardPort::to(80)]).await?;
    /// let mut connection = tokio::net::TcpStream::connect(forwarder.local_addrs()[0]).await?;
    /// let mut text = String::new();
    /// connection.read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Replaced pods
    /// A connection goes to the pod of the one before while that pod is ready, and else to the newest ready one. If there is none, the
    /// connection waits for up to 60 s. When the pod of an open connection is deleted, the connection is reset, and [`Forwarder::errors`]
    /// says so. The error of one connection does not end the listeners or other connections. A server that closes the websocket of a pod
    /// that stays is the end of the connection, because servers end those whose pod has ended its side in the same way.
    ///
    /// # Cost
    /// Each connection is a websocket and a read of its pod, at the first connection and after a replacement also of the target and its
    /// pods. The permissions are `get` of the target and of `pods`, `list` of `pods`, and `get` and `create` of `pods/portforward`.
    ///
    /// # Errors
    /// [`ForwardError`] if a local address cannot be listened on, if the target does not exist (a pod may be created later), or has no such
    /// port. Later errors are those of [`Forwarder::errors`].
    #[cfg(feature = "ws")]
    fn forward(
        &self,
        target: &ForwardTarget,
        ports: &[ForwardPort],
    ) -> impl Future<Output = Result<Forwarder, ForwardError>> + Send
    where
        Self: ApiExt<Pod>,
    {
        pods::forward(ApiExt::<Pod>::api(self), target, ports)
    }
}

impl<K: Resource> ApiExt<K> for Api<K> {
    fn api(&self) -> Api<K> {
        self.clone()
    }
}
