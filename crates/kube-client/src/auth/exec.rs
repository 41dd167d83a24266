//! Credential programs: `client.authentication.k8s.io/v1` and `/v1beta1`.

use std::io::IsTerminal;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::Instant;

use super::AuthError;
use super::cache::Renewed;
use super::header::bearer;
use crate::config::{ClientIdentityPem, ExecAuthCluster, ExecConfig, ExecInteractiveMode};

/// Longest time that a credential program may take. A person may be typing a password meanwhile, but not for ever.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A credential program, and all there is to know to run it.
#[derive(Debug)]
pub(super) struct ExecPlugin {
    command: String,
    config: ExecConfig,
    api_version: String,
}

/// What goes to the program in `KUBERNETES_EXEC_INFO` and comes back on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<ExecCredentialSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<ExecCredentialStatus>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialSpec {
    #[serde(default)]
    interactive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<ExecAuthCluster>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expiration_timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_certificate_data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_key_data: Option<String>,
}

impl std::fmt::Debug for ExecCredentialStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecCredentialStatus")
            .field("expiration_timestamp", &self.expiration_timestamp)
            .finish_non_exhaustive()
    }
}

impl ExecPlugin {
    /// Checks what can be checked before the program runs.
    pub(super) fn new(config: &ExecConfig) -> Result<Self, AuthError> {
        let command = config.command.clone().filter(|command| !command.is_empty());
        let command = command.ok_or(AuthError::MissingCommand)?;
        if config.provide_cluster_info && config.cluster.is_none() {
            return Err(AuthError::ExecMissingClusterInfo);
        }
        let api_version = config.api_version.clone().unwrap_or_else(|| format!("{API_GROUP}/v1beta1"));
        if !SUPPORTED.iter().any(|version| api_version == format!("{API_GROUP}/{version}")) {
            return Err(AuthError::AuthExec(format!(
                "the user's `exec` has apiVersion {api_version:?}: expected {API_GROUP}/v1 or /v1beta1"
            )));
        }
        Ok(Self { command, config: config.clone(), api_version })
    }

    /// Runs the program once. It is killed when it takes too long or nobody waits for it any more.
    pub(super) async fn run(&self) -> Result<Renewed, AuthError> {
        let interactive = self.interactive()?;
        let mut command = self.command(interactive)?;
        tracing::debug!(command = %self.command, "running the credential program");
        let output = match tokio::time::timeout(TIMEOUT, command.output()).await {
            Ok(output) => output.map_err(|err| self.explain_start(err))?,
            Err(_) => {
                let limit = TIMEOUT.as_secs();
                return Err(AuthError::AuthExec(format!(
                    "the credential program `{}` did not finish within {limit} s and was stopped",
                    self.shown()
                )));
            }
        };
        if !output.status.success() {
            return Err(AuthError::AuthExecRun { cmd: self.shown(), out: Box::new(output) });
        }
        let printed = parse(&output.stdout)?;
        if printed.api_version != self.api_version {
            return Err(AuthError::AuthExec(format!(
                "the credential program `{}` answered with apiVersion {:?}: expected {:?}",
                self.shown(),
                printed.api_version,
                self.api_version
            )));
        }
        let status = printed.status.ok_or(AuthError::ExecPluginFailed)?;
        evaluate(&status, Timestamp::now(), Instant::now())
    }

    fn interactive(&self) -> Result<bool, AuthError> {
        let terminal = std::io::stdin().is_terminal();
        match self.config.interactive_mode {
            Some(ExecInteractiveMode::Never) => Ok(false),
            None | Some(ExecInteractiveMode::IfAvailable) => Ok(terminal),
            Some(ExecInteractiveMode::Always) if terminal => Ok(true),
            Some(ExecInteractiveMode::Always) => Err(AuthError::AuthExec(format!(
                "the credential program `{}` needs a terminal (`interactiveMode: Always`), and there is none",
                self.shown()
            ))),
        }
    }

    fn command(&self, interactive: bool) -> Result<Command, AuthError> {
        let info = ExecCredential {
            api_version: self.api_version.clone(),
            kind: KIND.to_owned(),
            spec: Some(ExecCredentialSpec { interactive, cluster: self.config.cluster.clone() }),
            status: None,
        };
        let info = serde_json::to_string(&info).map_err(AuthError::AuthExecSerialize)?;
        let mut command = Command::new(&self.command);
        command.args(self.config.args.iter().flatten());
        for variable in self.config.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                command.env(name, value);
            }
        }
        for name in self.config.drop_env.iter().flatten() {
            command.env_remove(name);
        }
        command.env("KUBERNETES_EXEC_INFO", info);
        command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    /// A missing program is the common mistake, and kubeconfigs carry a hint for it.
    fn explain_start(&self, err: std::io::Error) -> AuthError {
        let hint = self.config.install_hint.as_deref().map(|hint| format!("\n{}", hint.trim()));
        let text = format!("{}: {err}{}", self.command, hint.unwrap_or_default());
        AuthError::AuthExecStart(std::io::Error::new(err.kind(), text))
    }

    fn shown(&self) -> String {
        let args = self.config.args.iter().flatten().map(String::as_str);
        std::iter::once(self.command.as_str()).chain(args).collect::<Vec<_>>().join(" ")
    }
}

const API_GROUP: &str = "client.authentication.k8s.io";
const SUPPORTED: [&str; 2] = ["v1", "v1beta1"];
const KIND: &str = "ExecCredential";

/// JSON as the contract says, or YAML as some programs print it.
fn parse(stdout: &[u8]) -> Result<ExecCredential, AuthError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 32, max_nodes: 10_000, max_aliases: 100, max_anchors: 100 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 8 },
        // The excerpt around an error would be the token.
        with_snippet: false,
    };
    serde_saphyr::from_slice_with_options(stdout, options)
        .map_err(|err| AuthError::AuthExecParse(Box::new(err)))
}

/// When and how long the credential can be used, seen from now.
fn evaluate(status: &ExecCredentialStatus, now: Timestamp, instant: Instant) -> Result<Renewed, AuthError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let token = given(&status.token);
    let identity = match (given(&status.client_certificate_data), given(&status.client_key_data)) {
        (Some(certificate), Some(key)) => {
            Some(Arc::new(ClientIdentityPem { certificate: certificate.into_bytes(), key: key.into() }))
        }
        (None, None) => None,
        _ => {
            return Err(AuthError::AuthExec(
                "the credential program gave a client certificate without its key, or a key alone: expected both".to_owned(),
            ));
        }
    };
    if token.is_none() && identity.is_none() {
        return Err(AuthError::ExecPluginFailed);
    }
    let renew_at = match &status.expiration_timestamp {
        Some(text) => {
            let expiry: Timestamp = text.parse().map_err(AuthError::MalformedTokenExpirationDate)?;
            let left = Duration::try_from(expiry.duration_since(now)).unwrap_or(Duration::ZERO);
            // A little early, since it also has to be valid when it arrives; but never at once, however short it lives.
            Some(instant + left.saturating_sub(EARLY.min(left / 2)))
        }
        None => None,
    };
    let header = token.as_deref().map(bearer).transpose()?;
    Ok(Renewed { header, identity, renew_at, outlives_failure: false })
}

const EARLY: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
