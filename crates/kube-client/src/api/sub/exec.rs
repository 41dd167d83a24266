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
    /// ```no_run
    /// # async fn run(pods: kube_client::Api<k8s_openapi::api::core::v1::Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// use kube_client::api::AttachParams;
    /// use tokio::io::AsyncReadExt;
    ///
    /// let mut process = pods.exec("web-0", ["cat", "/etc/hostname"], &AttachParams::default().stderr(false)).await?;
    /// let mut text = String::new();
    /// process.stdout().expect("asked for").read_to_string(&mut text).await?;
    /// process.join().await?;
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
    /// # Errors
    /// As [`Api::exec`].
    pub async fn portforward(&self, name: &str, ports: &[u16]) -> Result<Portforwarder, Error> {
        let request = named("portforward", self.request.portforward(name, ports))?;
        self.client.forward(request, ports).await
    }
}
