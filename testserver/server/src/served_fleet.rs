//! [`ServedFleet`]: the servers of a fleet on ports, with a kubeconfig for all.

use std::{collections::BTreeMap, fmt};

use serde_json::{Value, json};

use crate::{StartError, TestFleet, TestServer};

/// The servers of a [`TestFleet`] on ports of loopback, without TLS, for `kubectl` and other programs. Dropping this closes the ports; the
/// fleet stays.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kube_testserver::TestFleet;
///
/// let served = TestFleet::new(["east", "west"]).serve().await?;
/// // kubectl --kubeconfig FILE --context west get pods
/// assert!(served.kubeconfig().contains(&served.server("west").unwrap().url()));
/// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
/// ```
pub struct ServedFleet(BTreeMap<String, TestServer>);

impl TestFleet {
    /// Opens a port for each server that the fleet has now.
    ///
    /// # Errors
    /// If a port cannot be opened.
    pub async fn serve(&self) -> Result<ServedFleet, StartError> {
        let mut served = BTreeMap::new();
        for name in self.names() {
            if let Some(api) = self.server(&name) {
                served.insert(name, TestServer::builder().api(api).start().await?);
            }
        }
        Ok(ServedFleet(served))
    }
}

impl ServedFleet {
    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&TestServer> {
        self.0.get(name)
    }

    /// Takes the server of this name out of the fleet, such as to shut it down: then its port refuses connections.
    pub fn take(&mut self, name: &str) -> Option<TestServer> {
        self.0.remove(name)
    }

    /// A kubeconfig with a context for each server, which has its name. None is the current one.
    pub fn kubeconfig(&self) -> String {
        let named = |entry: fn(&str, &TestServer) -> (&'static str, Value)| -> Vec<Value> {
            let entries = self.0.iter().map(|(name, server)| {
                let (key, value) = entry(name, server);
                json!({ "name": name, key: value })
            });
            entries.collect()
        };
        // JSON is YAML.
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": named(|_, server| ("cluster", json!({ "server": server.url(), "insecure-skip-tls-verify": true }))),
            "contexts": named(|name, _| ("context", json!({ "cluster": name, "user": name, "namespace": "default" }))),
            "users": named(|_, _| ("user", json!({}))),
        });
        format!("{config:#}\n")
    }
}

impl fmt::Debug for ServedFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.0.iter().map(|(name, server)| (name, server.url()));
        f.debug_map().entries(servers).finish()
    }
}
