//! A command, usually `gcloud`, that prints JSON with a token.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::Instant;

use crate::auth::AuthError;
use crate::auth::cache::FetchedCredential;
use crate::auth::header::bearer;
use crate::auth::subprocess::{Subprocess, redacted};
use crate::time::now;

/// The command, and the paths of token and expiry in its output.
pub(super) struct GcpCommand {
    command: String,
    args: Vec<String>,
    token: String,
    expiry: String,
    timeout: Option<Duration>,
}

impl GcpCommand {
    pub(super) fn new(
        settings: &HashMap<String, String>,
        timeout: Option<Duration>,
    ) -> Result<Self, AuthError> {
        let setting = |key: &str| settings.get(key).map(String::as_str).filter(|value| !value.is_empty());
        Ok(Self {
            command: setting("cmd-path").ok_or(AuthError::MissingCommand)?.to_owned(),
            args: setting("cmd-args")
                .into_iter()
                .flat_map(str::split_whitespace)
                .map(str::to_owned)
                .collect(),
            token: pointer("token-key", setting("token-key").unwrap_or("{.access_token}"))?,
            expiry: pointer("expiry-key", setting("expiry-key").unwrap_or("{.token_expiry}"))?,
            timeout,
        })
    }

    pub(super) async fn run(&self) -> Result<FetchedCredential, AuthError> {
        let command_line = redacted(&self.command, &self.args);
        let program = Subprocess {
            command_line: &command_line,
            install_hint: None,
            interactive: false,
            timeout: self.timeout,
        };
        let mut command = Command::new(&self.command);
        command.args(&self.args);
        let printed = program.run(command).await?;
        let read = serde_json::from_str(&String::from_utf8_lossy(&printed.stdout))
            .map_err(AuthError::ParseTokenKey)
            .and_then(|value| self.read(&value, now(), Instant::now()));
        read.map_err(|err| printed.explain(err))
    }

    fn read(
        &self,
        printed: &Value,
        now: Timestamp,
        instant: Instant,
    ) -> Result<FetchedCredential, AuthError> {
        let token = printed.pointer(&self.token).and_then(Value::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            AuthError::AuthExec(format!(
                "the auth provider's command `{}` printed no token at {} (`token-key`)",
                self.command, self.token
            ))
        })?;
        let expiry = printed.pointer(&self.expiry).and_then(Value::as_str).map(str::parse::<Timestamp>);
        let expiry = expiry.transpose().map_err(AuthError::MalformedTokenExpirationDate)?;
        Ok(FetchedCredential::until_refused(Some(bearer(token)?)).expires(expiry, now, instant))
    }
}

impl fmt::Debug for GcpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpCommand")
            .field("command", &redacted(&self.command, &self.args))
            .finish_non_exhaustive()
    }
}

/// Converts a path such as `{.credential.access_token}` to a JSON pointer. Of kubectl's JSONPath, only fields are supported.
fn pointer(key: &str, path: &str) -> Result<String, AuthError> {
    let bare = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let fields = bare.strip_prefix('.').unwrap_or(bare);
    if fields.is_empty() || fields.split('.').any(|field| field.is_empty() || field.contains(['[', '*', '/']))
    {
        return Err(AuthError::AuthExec(format!(
            "the auth-provider's `{key}` {path:?} is not a path to a field: expected one such as {{.credential.access_token}}"
        )));
    }
    Ok(format!("/{}", fields.replace('.', "/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test]
    async fn the_token_is_read_at_the_configured_path() {
        let command = GcpCommand::new(
            &settings(&[
                ("cmd-path", "echo"),
                (
                    "cmd-args",
                    r#"{"credential":{"access_token":"abc","token_expiry":"2999-01-01T00:00:00Z"}}"#,
                ),
                ("token-key", "{.credential.access_token}"),
                ("expiry-key", "{.credential.token_expiry}"),
            ]),
            None,
        );
        let credential = command.unwrap().run().await.unwrap();
        assert_eq!(credential.header.unwrap(), "Bearer abc");
        assert!(credential.refresh_at.is_some());
    }

    #[tokio::test]
    async fn invalid_settings_and_outputs_are_errors() {
        assert!(matches!(GcpCommand::new(&settings(&[]), None), Err(AuthError::MissingCommand)));
        let odd = GcpCommand::new(&settings(&[("cmd-path", "x"), ("token-key", "{.a[0]}")]), None);
        assert!(odd.unwrap_err().to_string().contains("`token-key`"));
        let print =
            |text| GcpCommand::new(&settings(&[("cmd-path", "echo"), ("cmd-args", text)]), None).unwrap();
        assert!(matches!(print("text").run().await, Err(AuthError::ParseTokenKey(_))));
        assert!(print("{}").run().await.unwrap_err().to_string().contains("/access_token"));
        let settings = settings(&[("cmd-path", "sh"), ("cmd-args", "-c log_in_first_is_no_command;true")]);
        let empty = GcpCommand::new(&settings, None).unwrap().run().await.unwrap_err();
        assert!(empty.to_string().contains("log_in_first_is_no_command"), "{empty}");
        let late = print(r#"{"access_token":"a","token_expiry":"soon"}"#).run().await;
        assert!(matches!(late, Err(AuthError::MalformedTokenExpirationDate(_))));
    }
}
