//! Processes in containers, and connections to their ports.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Pod;
use kube_core::subresource::AttachParams;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::api::Api;
use crate::client::with_verb;
use crate::websocket::{AttachedProcess, Portforwarder};

/// Kinds that can execute commands.
pub trait Execute {}
impl Execute for Pod {}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Execute,
{
    /// Runs a command (the program and its arguments, no shell) in a container of the pod `name`.
    ///
    /// Without a container in the parameters the server takes the only one, and refuses with the names of those there are if there are
    /// several. It does not know kubectl's annotation for a default container.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::AttachParams;
    /// use kube_client::{Api, Client};
    /// use tokio::io::AsyncReadExt;
    /// # use {kube_testserver::Process, tokio::io::AsyncWriteExt};
    #[doc = include_str!("../../doc/running_pod.txt")]
    /// # server.api().kubelet().on_exec(async |mut process: Process| process.stdout.write_all(b"web").await.expect("it is read"));
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut process = pods.exec("web", ["cat", "/etc/hostname"], &AttachParams::default().stderr(false)).await?;
    /// let mut text = String::new();
    /// process.stdout().expect("requested").read_to_string(&mut text).await?;
    /// process.join().await?;
    /// assert_eq!(text, "web");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BuildRequest`](crate::Error::BuildRequest) for invalid parameters, [`Error::Api`](crate::Error::Api) if the server refuses,
    /// [`Error::UpgradeConnection`](crate::Error::UpgradeConnection) if it does not switch to a websocket.
    pub async fn exec<I, T>(&self, name: &str, command: I, ap: &AttachParams) -> Result<AttachedProcess>
    where
        I: IntoIterator<Item = T> + Debug,
        T: Into<String>,
    {
        let request = with_verb("exec", self.request.exec(name, command, ap))?;
        self.client.attach(request, ap).await
    }
}

/// Kinds with a main process to attach to.
pub trait Attach {}
impl Attach for Pod {}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Attach,
{
    /// Attaches to the main process of a container of the pod `name`, chosen as by [`Api::exec`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::AttachParams;
    /// use kube_client::{Api, Client};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// # use kube_testserver::Process;
    #[doc = include_str!("../../doc/running_pod.txt")]
    /// # server.api().kubelet().on_attach(async |mut process: Process| drop(tokio::io::copy(&mut process.stdin, &mut process.stdout).await));
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut process = pods.attach("web", &AttachParams::default().stdin(true).stderr(false)).await?;
    /// let mut stdin = process.stdin_pipe().expect("requested");
    /// stdin.write_all(b"echo").await?;
    /// drop(stdin); // the end of the input
    /// let mut text = String::new();
    /// process.stdout().expect("requested").read_to_string(&mut text).await?;
    /// assert_eq!(text, "echo");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::exec`].
    pub async fn attach(&self, name: &str, ap: &AttachParams) -> Result<AttachedProcess> {
        let request = with_verb("attach", self.request.attach(name, ap))?;
        self.client.attach(request, ap).await
    }
}

/// Kinds with ports to forward.
pub trait Portforward {}
impl Portforward for Pod {}

impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Portforward,
{
    /// Forwards ports of the pod `name`, at most 128 at once. Each carries one connection.
    ///
    /// The ports of one call share a websocket, and nothing that arrives is dropped: while 64 KiB of a port wait for their reader, the
    /// other ports receive nothing. Read or drop each stream, or forward ports that are read independently by calls of their own, as
    /// kubectl does.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    #[doc = include_str!("../../doc/running_pod.txt")]
    /// # server.api().kubelet().on_port_forward(async |mut connection| {
    /// #     let mut request = [0; 4];
    /// #     connection.stream.read_exact(&mut request).await.map_err(|err| err.to_string())?;
    /// #     connection.stream.write_all(&request.to_ascii_uppercase()).await.map_err(|err| err.to_string())
    /// # });
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut forwarder = pods.portforward("web", &[80]).await?;
    /// let mut stream = forwarder.take_stream(80).expect("requested");
    /// stream.write_all(b"ping").await?;
    /// let mut reply = [0; 4];
    /// stream.read_exact(&mut reply).await?;
    /// assert_eq!(&reply, b"PING");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::exec`].
    pub async fn portforward(&self, name: &str, ports: &[u16]) -> Result<Portforwarder> {
        let request = with_verb("portforward", self.request.portforward(name, ports))?;
        self.client.forward(request, ports).await
    }
}
