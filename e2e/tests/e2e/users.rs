//! A server with several users, who have certificates or tokens, and may do more or less.

use std::path::Path;

use anyhow::Context as _;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube_testserver::{TestServer, User};
use serde_json::json;

use crate::test_env::{TestEnv, skip};

/// A server that knows the users of `../shared/realapi`: admin, viewer, token-admin, token-viewer and token-nobody.
pub struct UserServer {
    kubeconfig: Kubeconfig,
    /// The namespace of the scenario.
    pub namespace: String,
    /// Keeps the embedded server running.
    server: Option<TestServer>,
}

impl UserServer {
    /// `None` for a cluster whose kubeconfig lacks these users.
    pub async fn start(env: &TestEnv) -> anyhow::Result<Option<Self>> {
        if env.server.is_some() {
            let server = server_with_rbac().await?;
            let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig())?;
            return Ok(Some(Self { kubeconfig, namespace: "default".into(), server: Some(server) }));
        }
        let kubeconfig = Kubeconfig::read()?;
        if !kubeconfig.contexts.iter().any(|context| context.name == "token-nobody") {
            skip("the kubeconfig has no contexts admin, viewer, token-admin, token-viewer, token-nobody")?;
            return Ok(None);
        }
        Ok(Some(Self { kubeconfig, namespace: env.namespace.clone(), server: None }))
    }

    pub async fn config(&self, user: &str) -> anyhow::Result<Config> {
        let options =
            KubeConfigOptions { context: Some(self.context(user).into()), ..KubeConfigOptions::default() };
        Ok(Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options).await?)
    }

    /// Replaces a file by a kubeconfig, as atomic writers do. Its names are the same for each user, because clients follow them.
    pub fn write(&self, user: &str, path: &Path) -> anyhow::Result<()> {
        let mut kubeconfig = self.kubeconfig.clone();
        kubeconfig.auth_infos.retain(|known| known.name == self.context(user));
        kubeconfig.contexts.truncate(1);
        let credentials = kubeconfig.auth_infos.first_mut().context("no such user")?;
        credentials.name = "rotated".into();
        let context = kubeconfig.contexts.first_mut().context("the kubeconfig has no context")?;
        context.context.as_mut().context("the context is empty")?.user = Some("rotated".into());
        kubeconfig.current_context = Some(context.name.clone());
        let next = path.with_extension("next");
        std::fs::write(&next, serde_json::to_string(&kubeconfig)?)?;
        Ok(std::fs::rename(next, path)?)
    }

    fn context<'u>(&self, user: &'u str) -> &'u str {
        let embedded_admin = user == "admin" && self.server.is_some();
        if embedded_admin { "testserver" } else { user }
    }
}

async fn server_with_rbac() -> anyhow::Result<TestServer> {
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]);
    let api_version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": "read-all"}, "rules": rules});
    let binding = json!({"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": "viewers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "read-all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "viewers"}]});
    let builder = TestServer::builder()
        .tls()
        .with_user(User::new("viewer").group("viewers"))
        .with_user(User::new("token-admin").group("system:masters").token("admin-token"))
        .with_user(User::new("token-viewer").group("viewers").token("viewer-token"))
        .with_user(User::new("token-nobody").group("nobodies").token("nobody-token"))
        .with_objects([role, binding]);
    Ok(builder.start().await?)
}
