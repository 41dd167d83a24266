//! A program, usually `gcloud`, that prints JSON with a token in it.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::Instant;

use crate::auth::AuthError;
use crate::auth::cache::{Renewed, renewal};
use crate::auth::header::bearer;
use crate::auth::program::{Program, shown};

/// The command, and where in its output the token stands.
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
        let given = |key: &str| settings.get(key).map(String::as_str).filter(|value| !value.is_empty());
        Ok(Self {
            command: given("cmd-path").ok_or(AuthError::MissingCommand)?.to_owned(),
            args: given("cmd-args").into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect(),
            token: pointer("token-key", given("token-key").unwrap_or("{.access_token}"))?,
            expiry: pointer("expiry-key", given("expiry-key").unwrap_or("{.token_expiry}"))?,
            timeout,
        })
    }

    pub(super) async fn run(&self) -> Result<Renewed, AuthError> {
        let shown = shown(&self.command, &self.args);
        let program = Program { shown: &shown, install_hint: None, interactive: false, limit: self.timeout };
        let mut command = Command::new(&self.command);
        command.args(&self.args);
        let printed: Value =
            serde_json::from_slice(&program.run(command).await?).map_err(AuthError::ParseTokenKey)?;
        self.read(&printed, Timestamp::now(), Instant::now())
    }

    fn read(&self, printed: &Value, now: Timestamp, instant: Instant) -> Result<Renewed, AuthError> {
        let token = printed.pointer(&self.token).and_then(Value::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            AuthError::AuthExec(format!(
                "the credential program `{}` printed no token at {} (the provider's `token-key`)",
                self.command, self.token
            ))
        })?;
        let expiry = printed.pointer(&self.expiry).and_then(Value::as_str).map(str::parse::<Timestamp>);
        let expiry = expiry.transpose().map_err(AuthError::MalformedTokenExpirationDate)?;
        let renew_at = expiry.map(|expiry| renewal(expiry, now, instant));
        Ok(Renewed { renew_at, ..Renewed::once(Some(bearer(token)?)) })
    }
}

impl fmt::Debug for GcpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpCommand")
            .field("command", &shown(&self.command, &self.args))
            .finish_non_exhaustive()
    }
}

/// A JSON pointer for a path such as `{.credential.access_token}`: of the JSONPath that kubectl has, what leads to one field.
fn pointer(key: &str, path: &str) -> Result<String, AuthError> {
    let bare = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let fields = bare.strip_prefix('.').unwrap_or(bare);
    if fields.is_empty() || fields.split('.').any(|field| field.is_empty() || field.contains(['[', '*', '/']))
    {
        return Err(AuthError::AuthExec(format!(
            "the auth-provider's `{key}` {path:?} is no path to a field: expected one such as {{.credential.access_token}}"
        )));
    }
    Ok(fields.split('.').map(|field| format!("/{field}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test]
    async fn the_token_is_found_by_its_path() {
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
        let given = command.unwrap().run().await.unwrap();
        assert_eq!(given.header.unwrap(), "Bearer abc");
        assert!(given.renew_at.is_some());
    }

    #[tokio::test]
    async fn what_is_missing_or_odd_is_said() {
        assert!(matches!(GcpCommand::new(&settings(&[]), None), Err(AuthError::MissingCommand)));
        let odd = GcpCommand::new(&settings(&[("cmd-path", "x"), ("token-key", "{.a[0]}")]), None);
        assert!(odd.unwrap_err().to_string().contains("`token-key`"));
        let print =
            |text| GcpCommand::new(&settings(&[("cmd-path", "echo"), ("cmd-args", text)]), None).unwrap();
        assert!(matches!(print("text").run().await, Err(AuthError::ParseTokenKey(_))));
        assert!(print("{}").run().await.unwrap_err().to_string().contains("/access_token"));
        let late = print(r#"{"access_token":"a","token_expiry":"soon"}"#).run().await;
        assert!(matches!(late, Err(AuthError::MalformedTokenExpirationDate(_))));
    }
}
