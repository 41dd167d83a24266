//! Exec plugins: `client.authentication.k8s.io/v1` and `/v1beta1`.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::time::Instant;

use super::AuthError;
use super::cache::FetchedCredential;
use super::header::bearer;
use super::subprocess::{Subprocess, redacted};
use crate::config::{
    ClientIdentityPem, ExecAuthCluster, ExecConfig, ExecInteractiveMode, KEY_IS_ENCRYPTED, WithPath,
    is_encrypted, sorted, without_quoted_value,
};
use crate::time::now;

/// An exec plugin of a kubeconfig.
#[derive(Debug)]
pub(super) struct ExecPlugin {
    command: String,
    config: ExecConfig,
    api_version: String,
    timeout: Option<Duration>,
}

/// The plugin's input in `KUBERNETES_EXEC_INFO`, and its output on stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<String>,
    /// May be missing or empty in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<ExecCredentialSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<ExecCredentialStatus>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    interactive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ExecAuthCluster>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration_timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_certificate_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_key_data: Option<String>,
}

impl std::fmt::Debug for ExecCredentialStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecCredentialStatus")
            .field("expiration_timestamp", &self.expiration_timestamp)
            .finish_non_exhaustive()
    }
}

/// A key that is equal for plugins with equal settings.
pub(super) fn settings_key(config: &ExecConfig, timeout: Option<Duration>) -> Result<String, AuthError> {
    let ExecConfig {
        api_version,
        install_hint,
        command,
        args,
        env,
        drop_env,
        interactive_mode,
        provide_cluster_info,
        cluster,
        other,
    } = config;
    let mut key = format!(
        "exec {timeout:?} {api_version:?} {install_hint:?} {command:?} {args:?} {drop_env:?} {interactive_mode:?} {provide_cluster_info} "
    );
    key += &serde_json::to_string(&(cluster, other)).map_err(AuthError::AuthExecSerialize)?;
    for variable in env.iter().flatten() {
        key += &format!(" {:?}", sorted(variable));
    }
    Ok(key)
}

impl ExecPlugin {
    /// Checks the settings without running the plugin.
    pub(super) fn new(config: &ExecConfig, timeout: Option<Duration>) -> Result<Self, AuthError> {
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
        Ok(Self { command, config: config.clone(), api_version, timeout })
    }

    /// Runs the plugin once. It is killed when the future is dropped, and after the timeout unless it may talk to the user.
    pub(super) async fn run(&self) -> Result<FetchedCredential, AuthError> {
        let interactive = self.interactive(std::io::stdin().is_terminal())?;
        let command_line = self.command_line();
        let install_hint = self.config.install_hint.as_deref();
        let timeout = self.timeout.filter(|_| !interactive);
        let program = Subprocess { command_line: &command_line, install_hint, interactive, timeout };
        let printed = program.run(self.command(interactive)?).await?;
        let read = self.read(&printed.stdout, &command_line);
        read.map_err(|err| printed.explain(err))
    }

    /// The credential in the plugin's output.
    fn read(&self, stdout: &[u8], command_line: &str) -> Result<FetchedCredential, AuthError> {
        let printed = parse(stdout)?;
        let kind = printed.kind.filter(|kind| !kind.is_empty()).unwrap_or_else(|| KIND.to_owned());
        let api_version = printed.api_version.unwrap_or_default();
        for (field, actual, expected) in
            [("apiVersion", api_version, self.api_version.as_str()), ("kind", kind, KIND)]
        {
            if actual != expected {
                return Err(AuthError::AuthExec(format!(
                    "the exec plugin `{command_line}` returned {field} {actual:?}: expected {expected:?}"
                )));
            }
        }
        let status = printed.status.ok_or(AuthError::ExecPluginFailed)?;
        evaluate(&status, now(), Instant::now())
    }

    /// Whether the plugin may use the terminal, if this process has one.
    fn interactive(&self, terminal: bool) -> Result<bool, AuthError> {
        match self.config.interactive_mode {
            Some(ExecInteractiveMode::Never) => Ok(false),
            None | Some(ExecInteractiveMode::IfAvailable) => Ok(terminal),
            Some(ExecInteractiveMode::Always) if terminal => Ok(true),
            Some(ExecInteractiveMode::Always) => Err(AuthError::AuthExec(format!(
                "the exec plugin `{}` needs a terminal (`interactiveMode: Always`), and there is none",
                self.command_line()
            ))),
        }
    }

    fn command(&self, interactive: bool) -> Result<Command, AuthError> {
        let info = ExecCredential {
            api_version: Some(self.api_version.clone()),
            kind: Some(KIND.to_owned()),
            spec: Some(ExecCredentialSpec {
                interactive: Some(interactive),
                cluster: self.config.cluster.clone(),
            }),
            status: None,
        };
        let info = serde_json::to_string(&info).map_err(AuthError::AuthExecSerialize)?;
        let mut command = Command::new(&self.command);
        command.args(self.config.args.iter().flatten());
        for variable in self.config.env.iter().flatten() {
            if let Some(name) = variable.get("name") {
                command.env(name, variable.get("value").map_or("", String::as_str));
            }
        }
        for name in self.config.drop_env.iter().flatten() {
            command.env_remove(name);
        }
        command.env("KUBERNETES_EXEC_INFO", info);
        Ok(command)
    }

    fn command_line(&self) -> String {
        redacted(&self.command, self.config.args.as_deref().unwrap_or_default())
    }
}

const API_GROUP: &str = "client.authentication.k8s.io";
const SUPPORTED: [&str; 2] = ["v1", "v1beta1"];
const KIND: &str = "ExecCredential";

/// The API requires JSON; some plugins print YAML. As by kubectl, the last of equal keys is read, and nothing after the first document.
fn parse(mut stdout: &[u8]) -> Result<ExecCredential, AuthError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 32, max_nodes: 10_000, max_aliases: 100, max_anchors: 100 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 8 },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        // The snippet of an error could contain the token.
        with_snippet: false,
    };
    let empty = || Err(serde::de::Error::custom("the output is empty"));
    serde_saphyr::read_with_options(&mut stdout, options)
        .next()
        .unwrap_or_else(empty)
        .map(|WithPath(credential)| credential)
        .map_err(|err| AuthError::AuthExecParse(Box::new(without_quoted_value(err))))
}

/// The credential, with its refresh time as seen from `now`.
fn evaluate(
    status: &ExecCredentialStatus,
    now: Timestamp,
    instant: Instant,
) -> Result<FetchedCredential, AuthError> {
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let token = non_empty(&status.token);
    let identity = match (non_empty(&status.client_certificate_data), non_empty(&status.client_key_data)) {
        (Some(_), Some(key)) if is_encrypted(&key) => {
            return Err(AuthError::AuthExec(format!(
                "the exec plugin's client certificate: {KEY_IS_ENCRYPTED}"
            )));
        }
        (Some(certificate), Some(key)) => {
            Some(Arc::new(ClientIdentityPem { certificate: certificate.into_bytes(), key: key.into() }))
        }
        (None, None) => None,
        _ => {
            return Err(AuthError::AuthExec(
                "the exec plugin returned a client certificate without its key, or a key alone: expected both".to_owned(),
            ));
        }
    };
    if token.is_none() && identity.is_none() {
        return Err(AuthError::ExecPluginFailed);
    }
    let expiry = status.expiration_timestamp.as_deref().map(str::parse::<Timestamp>).transpose();
    let expiry = expiry.map_err(AuthError::MalformedTokenExpirationDate)?;
    let header = token.as_deref().map(bearer).transpose()?;
    let credential = FetchedCredential { identity, ..FetchedCredential::until_refused(header) };
    Ok(credential.expires(expiry, now, instant))
}

/// Parses the output of a plugin.
#[cfg(fuzzing)]
pub(crate) fn check_output(stdout: &[u8]) -> Result<(), AuthError> {
    let status = parse(stdout)?.status.ok_or(AuthError::ExecPluginFailed)?;
    evaluate(&status, Timestamp::UNIX_EPOCH, Instant::now()).map(drop)
}

#[cfg(test)]
mod outcomes;
#[cfg(test)]
mod tests;
