//! Which of a user's credentials is used, decided once.

use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderValue;
use secrecy::ExposeSecret;

use super::AuthError;
use super::header::{basic, bearer};
use super::renew::{Renewing, Source};
use crate::config::AuthInfo;

/// What stands in the `Authorization` header of each request. Clones share what is renewed.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// Always the same.
    Fixed(HeaderValue),
    /// Asked for again from time to time.
    Renewing(Arc<Renewing>),
}

impl Credential {
    /// Decides as kubectl does: a token file before a token, a token before a password, each of them before a credential
    /// program. `None` if the user has none of these; a client certificate works on its own.
    pub(crate) fn plan(user: &AuthInfo) -> Result<Option<Self>, AuthError> {
        let file = user.token_file.as_deref().filter(|path| !path.is_empty());
        let token = user.token.as_ref().map(ExposeSecret::expose_secret).filter(|token| !token.is_empty());
        let name = user.username.as_deref().filter(|name| !name.is_empty());
        if let Some(path) = file {
            return Ok(Some(Self::renewing(Source::File(PathBuf::from(path)))));
        }
        if let Some(token) = token {
            return bearer(token).map(Self::Fixed).map(Some);
        }
        if let Some(name) = name {
            let password = user.password.as_ref().map_or("", ExposeSecret::expose_secret);
            return basic(name, password).map(Self::Fixed).map(Some);
        }
        if let Some(exec) = &user.exec {
            return Ok(Some(Self::renewing(Source::exec(exec)?)));
        }
        match &user.auth_provider {
            Some(provider) => Err(AuthError::AuthExec(format!(
                "the user's auth-provider {:?} is not supported: use an `exec` credential program instead",
                provider.name
            ))),
            None => Ok(None),
        }
    }

    fn renewing(source: Source) -> Self {
        Self::Renewing(Arc::new(Renewing::new(source)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AuthProviderConfig, ExecConfig};

    fn everything() -> AuthInfo {
        AuthInfo {
            token_file: Some("/token".into()),
            token: Some("abc".to_owned().into()),
            username: Some("jane".into()),
            password: Some("pw".to_owned().into()),
            exec: Some(ExecConfig { command: Some("login".into()), ..ExecConfig::default() }),
            ..AuthInfo::default()
        }
    }

    #[test]
    fn the_order_is_file_token_password_program() {
        let mut user = everything();
        assert!(matches!(Credential::plan(&user), Ok(Some(Credential::Renewing(_)))));
        user.token_file = Some(String::new());
        assert!(
            matches!(Credential::plan(&user), Ok(Some(Credential::Fixed(value))) if value == "Bearer abc")
        );
        user.token = None;
        assert!(
            matches!(Credential::plan(&user), Ok(Some(Credential::Fixed(value))) if value == "Basic amFuZTpwdw==")
        );
        user.username = None;
        assert!(matches!(Credential::plan(&user), Ok(Some(Credential::Renewing(_)))));
        user.exec = None;
        assert!(matches!(Credential::plan(&user), Ok(None)));
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let provider = AuthProviderConfig { name: "gcp".into(), ..AuthProviderConfig::default() };
        let user = AuthInfo { auth_provider: Some(provider), ..AuthInfo::default() };
        assert!(Credential::plan(&user).unwrap_err().to_string().contains("gcp"));
        let user = AuthInfo { exec: Some(ExecConfig::default()), ..AuthInfo::default() };
        assert!(matches!(Credential::plan(&user), Err(AuthError::MissingCommand)));
    }
}
