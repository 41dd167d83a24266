//! The ServiceAccount of the operator: the kubeconfig as which it runs, with a token that is renewed as long as the session lasts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::jiff::Timestamp;
use kube_client::api::PostParams;
use kube_client::config::Kubeconfig;
use kube_client::new_file::NewFile;
use kube_client::time::now;
use kube_client::{Api, Client};
use serde_json::{Value, json};

use super::say::say;
use crate::cli::output::causes;

/// What is asked for; a cluster may grant less.
const TOKEN_SECONDS: i64 = 12 * 60 * 60;
/// Until a token that could not be renewed is asked for again.
const RETRY: Duration = Duration::from_secs(60);

/// Whose token is kept, and where.
pub(super) struct Account {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The operator reads it again from time to time.
    pub(super) token: PathBuf,
}

impl Account {
    /// Writes a new token. Returns when it has to be renewed: in half of the time for which it is valid.
    pub(super) async fn renew(&self) -> Result<Duration> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        // As JSON: whether `spec` is optional depends on the version of k8s-openapi.
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "audiences": [], "expirationSeconds": TOKEN_SECONDS },
        });
        let answer: Value = accounts
            .create_subresource("token", &self.name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("a token of the ServiceAccount {}", self.name))?;
        let status = &answer["status"];
        let token = status["token"].as_str().context("the server returned no token")?;
        NewFile::write(&self.token, token.as_bytes())
            .and_then(NewFile::rename)
            .with_context(|| self.token.display().to_string())?;
        let expiry: Timestamp = serde_json::from_value(status["expirationTimestamp"].clone())
            .context("the time at which the token expires")?;
        let left = Duration::try_from(expiry.duration_since(now())).unwrap_or_default();
        Ok((left / 2).max(RETRY))
    }

    /// Renews the token for ever, for the first time after this time.
    pub(super) async fn keep_renewed(self, mut wait: Duration) {
        loop {
            tokio::time::sleep(wait).await;
            wait = self.renew().await.unwrap_or_else(|error| {
                say(&format!("{}; trying again in {} s", causes(&error), RETRY.as_secs()));
                RETRY
            });
        }
    }

    /// The kubeconfig of the account for the cluster of a context. Its namespace is that of the operator, as in a pod.
    pub(super) fn kubeconfig(&self, admin: &Kubeconfig, context: &str) -> Result<Value> {
        let named = admin.contexts.iter().find(|named| named.name == context);
        let cluster = named.and_then(|named| Some(&named.context.as_ref()?.cluster));
        let cluster = cluster.with_context(|| format!("context {context}: expected a cluster"))?;
        let (account, namespace, token): (_, _, &Path) = (&self.name, &self.namespace, &self.token);
        let mut config = serde_json::to_value(admin)?;
        config["clusters"]
            .as_array_mut()
            .into_iter()
            .for_each(|all| all.retain(|it| it["name"] == **cluster));
        config["users"] = json!([{ "name": account, "user": { "tokenFile": token } }]);
        config["contexts"] = json!([{
            "name": account,
            "context": { "cluster": cluster, "user": account, "namespace": namespace },
        }]);
        config["current-context"] = json!(account);
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use kube_testserver::ApiServer;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_it_expires() {
        let client = Client::new(ApiServer::new(), "default");
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        let operator = json!({ "metadata": { "name": "operator" } });
        let operator: ServiceAccount = serde_json::from_value(operator).unwrap();
        accounts.create(&PostParams::default(), &operator).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        let account =
            Account { client, namespace: "default".into(), name: "operator".into(), token: token.clone() };
        let wait = account.renew().await.unwrap();
        assert!(std::fs::read_to_string(&token).unwrap().starts_with("ey"));
        let hours = wait.as_secs_f64() / 3600.0;
        assert!((5.9..=6.0).contains(&hours), "{hours}");
        std::fs::remove_file(&token).unwrap();
        let renewing = tokio::spawn(account.keep_renewed(wait));
        tokio::time::sleep(wait - Duration::from_secs(1)).await;
        assert!(!token.exists());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(token.exists(), "it is renewed after half of its time");

        // A failure is tried again.
        accounts.delete("operator", &Default::default()).await.unwrap();
        std::fs::remove_file(&token).unwrap();
        tokio::time::sleep(wait + RETRY).await;
        assert!(!token.exists() && !renewing.is_finished());
        accounts.create(&PostParams::default(), &operator).await.unwrap();
        tokio::time::sleep(2 * RETRY).await;
        assert!(token.exists());
    }
}
