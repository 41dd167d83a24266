//! Which of a user's credentials is used.

use std::sync::{Arc, Weak};

use http::HeaderValue;
use parking_lot::Mutex;
use secrecy::ExposeSecret;

use super::AuthError;
use super::exec::{self, ExecPlugin};
use super::gcp::Gcp;
use super::header::{basic, bearer};
use super::refreshing::{RefreshingCredential, Source};
use super::token_file::TokenFile;
use crate::config::{AuthProviderConfig, Config, credentials_of, sorted};
use crate::tls::IdentityProvider;

/// The credential of each request. Clones share its refreshes.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// A constant `Authorization` header.
    Fixed(HeaderValue),
    /// Refreshed from a file, an exec plugin or an auth provider.
    Refreshing(Arc<RefreshingCredential>),
}

impl Credential {
    /// The same order as kubectl: the URL, the token file (the token, while the file cannot be read), the token, user name and password,
    /// the exec plugin, the auth provider. `None` if the user has none of these; a client certificate needs no header.
    ///
    /// Exec plugins and auth providers with the same settings are shared by the whole process, so that none runs twice.
    pub(crate) fn from_config(config: &Config) -> Result<Option<Self>, AuthError> {
        let user = &config.auth_info;
        let file = user.token_file.as_deref().filter(|path| !path.is_empty());
        let token = user.token.as_ref().map(ExposeSecret::expose_secret).filter(|token| !token.is_empty());
        let name = user.username.as_deref().filter(|name| !name.is_empty());
        if let Some((name, password)) = credentials_of(&config.cluster_url) {
            return basic(&name, &password).map(Self::Fixed).map(Some);
        }
        if let Some(path) = file {
            let fallback = token.map(bearer).transpose()?;
            let refreshing = RefreshingCredential::new(Source::File(TokenFile::new(path.into(), fallback)));
            return Ok(Some(Self::Refreshing(Arc::new(refreshing))));
        }
        if let Some(token) = token {
            return bearer(token).map(Self::Fixed).map(Some);
        }
        if let Some(name) = name {
            let password = user.password.as_ref().map_or("", ExposeSecret::expose_secret);
            return basic(name, password).map(Self::Fixed).map(Some);
        }
        if let Some(exec) = &user.exec {
            let settings = exec::settings_key(exec, config.exec_timeout)?;
            let source = || Ok(Source::Exec(Box::new(ExecPlugin::new(exec, config.exec_timeout)?)));
            return shared(settings, source).map(Some);
        }
        user.auth_provider.as_ref().map(|provider| from_provider(provider, config)).transpose()
    }

    /// The source of client certificates, if the credential may have one.
    pub(crate) fn identity_provider(&self) -> Option<Arc<dyn IdentityProvider>> {
        match self {
            Self::Fixed(_) => None,
            Self::Refreshing(refreshing) => Some(Arc::clone(refreshing) as _),
        }
    }
}

fn from_provider(provider: &AuthProviderConfig, config: &Config) -> Result<Credential, AuthError> {
    let settings = sorted(&provider.config);
    let settings =
        format!("{} {settings:?} {:?} {:?}", provider.name, config.exec_timeout, config.user_origin);
    shared(settings, || match provider.name.as_str() {
        "oidc" => oidc(provider, config),
        "gcp" => Ok(Source::Gcp(Box::new(Gcp::new(&provider.config, config.exec_timeout)?))),
        name => Err(AuthError::AuthExec(format!(
            "the user's auth-provider {name:?} is not supported (oidc and gcp are): use an `exec` plugin instead"
        ))),
    })
}

/// The credential with `settings`: the existing one if it is still in use, else a new one.
///
/// A process often has several stacks of one configuration: several clients, or a connector and a layer of a custom stack. They share the
/// credential, so that an interactive plugin prompts once, a single-use refresh token is used once, and the connector gets the client
/// certificate that the layer has obtained.
fn shared(
    settings: String,
    make_source: impl FnOnce() -> Result<Source, AuthError>,
) -> Result<Credential, AuthError> {
    static IN_USE: Mutex<Vec<(String, Weak<RefreshingCredential>)>> = Mutex::new(Vec::new());
    let mut in_use = IN_USE.lock();
    in_use.retain(|(_, refreshing)| refreshing.strong_count() > 0);
    let existing = in_use.iter().find(|(known, _)| *known == settings);
    if let Some(refreshing) = existing.and_then(|(_, refreshing)| refreshing.upgrade()) {
        return Ok(Credential::Refreshing(refreshing));
    }
    let refreshing = Arc::new(RefreshingCredential::new(make_source()?));
    in_use.push((settings, Arc::downgrade(&refreshing)));
    Ok(Credential::Refreshing(refreshing))
}

#[cfg(feature = "oidc")]
fn oidc(provider: &AuthProviderConfig, config: &Config) -> Result<Source, AuthError> {
    let oidc = super::oidc::Oidc::new(&provider.config, config.user_origin.clone())?;
    Ok(Source::Oidc(Box::new(oidc)))
}

#[cfg(not(feature = "oidc"))]
fn oidc(_: &AuthProviderConfig, _: &Config) -> Result<Source, AuthError> {
    Err(AuthError::needs_feature("oidc", "oidc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AuthInfo, ExecConfig};

    fn credential(user: &AuthInfo) -> Result<Option<Credential>, AuthError> {
        let config = Config { auth_info: user.clone(), ..Config::new("https://h".parse().unwrap()) };
        Credential::from_config(&config)
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
    fn a_token_file_precedes_token_password_and_exec_plugin() {
        let mut user = everything();
        assert!(matches!(credential(&user), Ok(Some(Credential::Refreshing(_)))));
        user.token_file = Some(String::new());
        assert!(matches!(credential(&user), Ok(Some(Credential::Fixed(value))) if value == "Bearer abc"));
        user.token = None;
        assert!(
            matches!(credential(&user), Ok(Some(Credential::Fixed(value))) if value == "Basic amFuZTpwdw==")
        );
        user.username = None;
        assert!(matches!(credential(&user), Ok(Some(Credential::Refreshing(_)))));
        user.exec = None;
        assert!(matches!(credential(&user), Ok(None)));
    }

    #[test]
    fn credentials_in_the_url_precede_all_others() {
        let config =
            Config { auth_info: everything(), ..Config::new("https://me:p%40ss@h".parse().unwrap()) };
        let credential = Credential::from_config(&config);
        assert!(matches!(credential, Ok(Some(Credential::Fixed(value))) if value == "Basic bWU6cEBzcw=="));
    }

    #[test]
    fn unusable_credentials_are_an_error() {
        let provider = AuthProviderConfig { name: "azure".into(), ..AuthProviderConfig::default() };
        let user = AuthInfo { auth_provider: Some(provider), ..AuthInfo::default() };
        assert!(credential(&user).unwrap_err().to_string().contains("azure"));
        let user = AuthInfo { exec: Some(ExecConfig::default()), ..AuthInfo::default() };
        assert!(matches!(credential(&user), Err(AuthError::MissingCommand)));
    }

    #[test]
    fn exec_plugins_with_the_same_settings_are_shared() {
        let user = |argument: &str| AuthInfo {
            exec: Some(ExecConfig {
                command: Some("login".into()),
                args: Some(vec![argument.to_owned()]),
                ..ExecConfig::default()
            }),
            ..AuthInfo::default()
        };
        let credential_of = |argument| match credential(&user(argument)) {
            Ok(Some(Credential::Refreshing(refreshing))) => refreshing,
            other => panic!("{other:?}"),
        };
        let (one, same, other) = (credential_of("same"), credential_of("same"), credential_of("other"));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
    }
}
