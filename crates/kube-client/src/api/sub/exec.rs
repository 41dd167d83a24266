//! Processes in containers, and connections to their ports.

use std::fmt::Debug;

use kube_core::subresource::AttachParams;
use serde::de::DeserializeOwned;

use super::{Attach, Execute, Portforward};
use crate::api::Api;
use crate::client::named;
use crate::error::Error;
use crate::upgrade::{AttachedProcess, Portforwarder};

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Execute,
{
    /// Runs a command (the program and its arguments, no shell) in a container of the pod `name`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::AttachParams;
    /// use kube_client::{Api, Client};
    /// use tokio::io::AsyncReadExt;
    /// # use {kube_testserver::Process, tokio::io::AsyncWriteExt};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let config = kube_client::Config::try_from(kube_client::config::Kubeconfig::from_yaml(&server.kubeconfig())?)?;
    /// # let client = Client::try_from(config)?;
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    /// # let running = kube_client::api::Patch::Merge(serde_json::json!({ "status": { "phase": "Running" } }));
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &running).await?;
    /// # server.api().kubelet().on_exec(async |mut process: Process| process.stdout.write_all(b"web").await.expect("it is read"));
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut process = pods.exec("web", ["cat", "/etc/hostname"], &AttachParams::default().stderr(false)).await?;
    /// let mut text = String::new();
    /// process.stdout().expect("asked for").read_to_string(&mut text).await?;
    /// process.join().await?;
    /// assert_eq!(text, "web");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BuildRequest`] for parameters that make no sense, [`Error::Api`] if the server refuses, [`Error::UpgradeConnection`] if
    /// it does not speak websocket.
    pub async fn exec<I, T>(
        &self,
        name: &str,
        command: I,
        ap: &AttachParams,
    ) -> Result<AttachedProcess, Error>
    where
        I: IntoIterator<Item = T> + Debug,
        T: Into<String>,
    {
        let request = named("exec", self.request.exec(name, command, ap))?;
        self.client.attach(request, ap).await
    }
}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Attach,
{
    /// Connects to the main process of a container of the pod `name`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::AttachParams;
    /// use kube_client::{Api, Client};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// # use kube_testserver::Process;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let config = kube_client::Config::try_from(kube_client::config::Kubeconfig::from_yaml(&server.kubeconfig())?)?;
    /// # let client = Client::try_from(config)?;
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    /// # let running = kube_client::api::Patch::Merge(serde_json::json!({ "status": { "phase": "Running" } }));
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &running).await?;
    /// # server.api().kubelet().on_attach(async |mut process: Process| drop(tokio::io::copy(&mut process.stdin, &mut process.stdout).await));
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut process = pods.attach("web", &AttachParams::default().stdin(true).stderr(false)).await?;
    /// let mut stdin = process.stdin().expect("asked for");
    /// stdin.write_all(b"echo").await?;
    /// stdin.shutdown().await?;
    /// let mut text = String::new();
    /// process.stdout().expect("asked for").read_to_string(&mut text).await?;
    /// assert_eq!(text, "echo");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::exec`].
    pub async fn attach(&self, name: &str, ap: &AttachParams) -> Result<AttachedProcess, Error> {
        let request = named("attach", self.request.attach(name, ap))?;
        self.client.attach(request, ap).await
    }
}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Portforward,
{
    /// Connects to ports of the pod `name`, at most 128 at once. Each can be used for one connection.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::TestServer::start().await?;
    /// # let config = kube_client::Config::try_from(kube_client::config::Kubeconfig::from_yaml(&server.kubeconfig())?)?;
    /// # let client = Client::try_from(config)?;
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    /// # let running = kube_client::api::Patch::Merge(serde_json::json!({ "status": { "phase": "Running" } }));
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &running).await?;
    /// # server.api().kubelet().on_port_forward(async |mut connection| {
    /// #     let mut asked = [0; 4];
    /// #     connection.stream.read_exact(&mut asked).await.map_err(|err| err.to_string())?;
    /// #     connection.stream.write_all(&asked.to_ascii_uppercase()).await.map_err(|err| err.to_string())
    /// # });
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut forwarder = pods.portforward("web", &[80]).await?;
    /// let mut stream = forwarder.take_stream(80).expect("asked for");
    /// stream.write_all(b"ping").await?;
    /// let mut answer = [0; 4];
    /// stream.read_exact(&mut answer).await?;
    /// assert_eq!(&answer, b"PING");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::exec`].
    pub async fn portforward(&self, name: &str, ports: &[u16]) -> Result<Portforwarder, Error> {
        let request = named("portforward", self.request.portforward(name, ports))?;
        self.client.forward(request, ports).await
    }
}
