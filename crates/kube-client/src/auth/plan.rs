//! Which of a user's credentials is used, decided once.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderValue;
use secrecy::ExposeSecret;

use super::AuthError;
use super::exec::ExecPlugin;
use super::file::TokenFile;
use super::gcp::Gcp;
use super::header::{basic, bearer};
use super::renew::{Renewing, Source};
use super::shared::one_for_all;
use crate::config::{AuthProviderConfig, Config, credentials_of};
use crate::tls::GivesIdentity;

/// What stands in the `Authorization` header of each request. Clones share what is renewed.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// Always the same.
    Fixed(HeaderValue),
    /// Asked for again from time to time.
    Renewing(Arc<Renewing>),
}

impl Credential {
    /// Decides as kubectl does: what stands in the URL before all else, a token file before a token, a token before a password, each of
    /// them before a credential program, and that before a provider. `None` if the user has none of these; a client certificate works on its own.
    ///
    /// A program or provider with the same settings is one and the same for all who ask, so that it never does anything twice.
    pub(crate) fn plan(config: &Config) -> Result<Option<Self>, AuthError> {
        let user = &config.auth_info;
        let file = user.token_file.as_deref().filter(|path| !path.is_empty());
        let token = user.token.as_ref().map(ExposeSecret::expose_secret).filter(|token| !token.is_empty());
        let name = user.username.as_deref().filter(|name| !name.is_empty());
        if let Some((name, password)) = credentials_of(&config.cluster_url) {
            return basic(&name, &password).map(Self::Fixed).map(Some);
        }
        if let Some(path) = file {
            let renewing = Renewing::new(Source::File(TokenFile::new(path.into())));
            return Ok(Some(Self::Renewing(Arc::new(renewing))));
        }
        if let Some(token) = token {
            return bearer(token).map(Self::Fixed).map(Some);
        }
        if let Some(name) = name {
            let password = user.password.as_ref().map_or("", ExposeSecret::expose_secret);
            return basic(name, password).map(Self::Fixed).map(Some);
        }
        if let Some(exec) = &user.exec {
            let plugin = ExecPlugin::new(exec, config.exec_timeout)?;
            return Ok(Some(shared(&plugin.settings()?, || Ok(Source::Exec(Box::new(plugin))))?));
        }
        user.auth_provider.as_ref().map(|provider| of_provider(provider, config)).transpose()
    }

    /// Whoever may hand over a client certificate along with this credential.
    pub(crate) fn giver(&self) -> Option<Arc<dyn GivesIdentity>> {
        match self {
            Self::Fixed(_) => None,
            Self::Renewing(renewing) => Some(Arc::clone(renewing) as _),
        }
    }
}

fn of_provider(provider: &AuthProviderConfig, config: &Config) -> Result<Credential, AuthError> {
    let settings = || {
        let sorted: BTreeMap<_, _> = provider.config.iter().collect();
        format!("{} {sorted:?} {:?}", provider.name, config.exec_timeout)
    };
    match provider.name.as_str() {
        "oidc" => oidc(provider, &settings()),
        "gcp" => shared(&settings(), || {
            Gcp::new(&provider.config, config.exec_timeout).map(|gcp| Source::Gcp(Box::new(gcp)))
        }),
        name => Err(AuthError::AuthExec(format!(
            "the user's auth-provider {name:?} is not known (oidc and gcp are): use an `exec` credential program instead"
        ))),
    }
}

fn shared(settings: &str, make: impl FnOnce() -> Result<Source, AuthError>) -> Result<Credential, AuthError> {
    one_for_all(settings, || make().map(Renewing::new)).map(Credential::Renewing)
}

#[cfg(feature = "oidc")]
fn oidc(provider: &AuthProviderConfig, settings: &str) -> Result<Credential, AuthError> {
    shared(settings, || super::oidc::Oidc::new(&provider.config).map(|oidc| Source::Oidc(Box::new(oidc))))
}

#[cfg(not(feature = "oidc"))]
fn oidc(_: &AuthProviderConfig, _: &str) -> Result<Credential, AuthError> {
    Err(AuthError::needs_feature("oidc", "oidc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AuthInfo, ExecConfig};

    fn plan(user: &AuthInfo) -> Result<Option<Credential>, AuthError> {
        let config = Config { auth_info: user.clone(), ..Config::new("https://h".parse().unwrap()) };
        Credential::plan(&config)
    }

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
        assert!(matches!(plan(&user), Ok(Some(Credential::Renewing(_)))));
        user.token_file = Some(String::new());
        assert!(matches!(plan(&user), Ok(Some(Credential::Fixed(value))) if value == "Bearer abc"));
        user.token = None;
        assert!(matches!(plan(&user), Ok(Some(Credential::Fixed(value))) if value == "Basic amFuZTpwdw=="));
        user.username = None;
        assert!(matches!(plan(&user), Ok(Some(Credential::Renewing(_)))));
        user.exec = None;
        assert!(matches!(plan(&user), Ok(None)));
    }

    #[test]
    fn credentials_in_the_url_come_first() {
        let config =
            Config { auth_info: everything(), ..Config::new("https://me:p%40ss@h".parse().unwrap()) };
        let planned = Credential::plan(&config);
        assert!(matches!(planned, Ok(Some(Credential::Fixed(value))) if value == "Basic bWU6cEBzcw=="));
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let provider = AuthProviderConfig { name: "azure".into(), ..AuthProviderConfig::default() };
        let user = AuthInfo { auth_provider: Some(provider), ..AuthInfo::default() };
        assert!(plan(&user).unwrap_err().to_string().contains("azure"));
        let user = AuthInfo { exec: Some(ExecConfig::default()), ..AuthInfo::default() };
        assert!(matches!(plan(&user), Err(AuthError::MissingCommand)));
    }

    #[test]
    fn the_same_program_is_one_for_all_who_ask() {
        let user = |argument: &str| AuthInfo {
            exec: Some(ExecConfig {
                command: Some("login".into()),
                args: Some(vec![argument.to_owned()]),
                ..ExecConfig::default()
            }),
            ..AuthInfo::default()
        };
        let planned = |argument| match plan(&user(argument)) {
            Ok(Some(Credential::Renewing(renewing))) => renewing,
            other => panic!("{other:?}"),
        };
        let (one, same, other) = (planned("one-for-all"), planned("one-for-all"), planned("another"));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
    }
}
