//! The server under test and the kinds that this run has registered.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::{
    capabilities::Capabilities,
    check::Failure,
    client::Client,
    kinds::{self, Kind},
    kubeconfig::Kubeconfig,
};

/// The label of all namespaces of a run. They are kept unless cleanup is requested: a cluster's namespace controller takes half an hour for
/// the hundreds of a run, and delays deletions of the cases.
pub(crate) const RUN_LABEL: &str = "conformance.example/run";

/// A server with the suite's kinds registered in the group of this run.
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) config: Kubeconfig,
    /// A unique id of the run.
    pub(crate) run: String,
    pub(crate) capabilities: Capabilities,
    /// The timeout of asynchronous effects.
    pub(crate) wait: Duration,
    /// Whether a controller gives every namespace a service account, without which it takes no pods.
    gives_accounts: bool,
}

impl Server {
    /// Detects version and features of the server and registers the suite's kinds.
    pub(crate) async fn prepare(config: Kubeconfig, wait: Duration) -> Result<Self, Failure> {
        let client = config
            .endpoint(None)
            .and_then(|e| Client::new(&e))
            .map_err(|e| Failure::new("kubeconfig", "a usable one".into(), e))?;
        let version = client.call(Method::GET, "/version").send().await?;
        version.is(200)?;
        let number = |field: &str| {
            let digits: String = version.body[field]
                .as_str()
                .unwrap_or_default()
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse().unwrap_or(0)
        };
        let core_kinds = client.call(Method::GET, "/api/v1/namespaces").send().await?.code == 200;
        // RBAC kinds are not enough: an unprivileged user must be refused.
        let unprivileged =
            client.call(Method::GET, "/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=1");
        let rbac = unprivileged.header("impersonate-user", "conformance-nobody").send().await?.code == 403
            && core_kinds;
        let account = client.call(Method::GET, "/api/v1/namespaces/default/serviceaccounts/default");
        let gives_accounts = account.send().await?.code == 200;
        let server = Self {
            run: run_id(),
            wait,
            gives_accounts,
            capabilities: Capabilities {
                version: (number("major"), number("minor")),
                core_kinds,
                rbac,
                identities: ["viewer", "token-admin", "token-nobody"].iter().all(|c| config.has_context(c)),
            },
            client,
            config,
        };
        for kind in kinds::ALL {
            server.register(&kinds::crd(kind, &server.group())).await?;
        }
        for kind in kinds::ALL {
            server.established(&format!("{}.{}", kind.plural, server.group())).await?;
        }
        Ok(server)
    }

    /// The API group of this run's kinds.
    pub(crate) fn group(&self) -> String {
        format!("{}.conformance.example", self.run)
    }

    pub(crate) fn has_core_kinds(&self) -> bool {
        self.capabilities.core_kinds
    }

    /// The path of a kind; an empty `ns` means across namespaces, or cluster scope.
    pub(crate) fn collection(&self, kind: &Kind, ns: &str) -> String {
        let root = match kind.group {
            Some("") => format!("/api/{}", kind.version),
            Some(group) => format!("/apis/{group}/{}", kind.version),
            None => format!("/apis/{}/{}", self.group(), kind.version),
        };
        if ns.is_empty() {
            format!("{root}/{}", kind.plural)
        } else {
            format!("{root}/namespaces/{ns}/{}", kind.plural)
        }
    }

    /// Creates a CRD without waiting.
    pub(crate) async fn register(&self, crd: &Value) -> Result<(), Failure> {
        let reply = self.client.call(Method::POST, CRDS).json(crd).send().await?;
        reply.is(201).map(drop)
    }

    /// Waits until a CRD is established and served.
    pub(crate) async fn established(&self, name: &str) -> Result<(), Failure> {
        let path = format!("{CRDS}/{name}");
        let mut last = String::new();
        for _ in 0..300 {
            let crd = self.client.call(Method::GET, &path).send().await?;
            let conditions = crd.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
                && self.serves(&crd.body).await?
            {
                return Ok(());
            }
            last = crd.text;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(Failure::new(&path, "established within 15 s".to_owned(), last))
    }

    /// Waits until a new namespace takes pods.
    pub(crate) async fn has_account(&self, namespace: &str) -> Result<(), Failure> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        let end = tokio::time::Instant::now() + self.wait;
        while self.gives_accounts && self.client.call(Method::GET, &path).send().await?.code != 200 {
            if tokio::time::Instant::now() > end {
                return Err(Failure::new(&path, format!("an account within {:?}", self.wait), "none".into()));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Deletes the CRDs of this run with their objects.
    pub(crate) async fn clean_up(&self) -> Result<(), Failure> {
        let suffix = ".conformance.example";
        let crds = self.client.call(Method::GET, CRDS).send().await?.names()?;
        let of_run = |name: &&String| {
            let group = name.split_once('.').map_or("", |(_, group)| group);
            group.starts_with(&self.run) && group.ends_with(suffix)
        };
        for name in crds.iter().filter(of_run) {
            self.client.call(Method::DELETE, format!("{CRDS}/{name}")).send().await?;
        }
        Ok(())
    }

    /// Deletes the namespaces of this run and waits until they are gone.
    pub(crate) async fn remove_namespaces(&self) -> Result<(), Failure> {
        if !self.capabilities.core_kinds {
            return Ok(());
        }
        let of_run = format!("/api/v1/namespaces?labelSelector={RUN_LABEL}={}", self.run);
        let mut left = self.client.call(Method::GET, &of_run).send().await?.names()?;
        for name in &left {
            self.client.call(Method::DELETE, format!("/api/v1/namespaces/{name}")).send().await?;
        }
        let end = tokio::time::Instant::now() + self.wait * 10;
        while !left.is_empty() {
            if tokio::time::Instant::now() > end {
                return Err(Failure::new(&of_run, "none".to_owned(), format!("{} namespaces", left.len())));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            left = self.client.call(Method::GET, &of_run).send().await?.names()?;
        }
        Ok(())
    }

    async fn serves(&self, crd: &Value) -> Result<bool, Failure> {
        let spec = &crd["spec"];
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten().filter(|v| v["served"] == true) {
            let path = format!(
                "/apis/{}/{}/{}",
                text(&spec["group"]),
                text(&version["name"]),
                text(&spec["names"]["plural"])
            );
            if self.client.call(Method::GET, path).send().await?.code != 200 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The path of CRDs.
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn run_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut n = now.as_millis() as u64 ^ (u64::from(std::process::id()) << 20);
    let mut out = String::from("r");
    for _ in 0..7 {
        out.push(char::from_digit((n % 36) as u32, 36).expect("a digit below 36"));
        n /= 36;
    }
    out
}
