//! The tokens and client certificates of users.

use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, header};

use super::{User, certificate_user::user_of};

/// The credentials that the server accepts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    tokens: HashMap<String, Arc<User>>,
    /// Keyed by the DER certificate.
    certificates: HashMap<Vec<u8>, Arc<User>>,
    /// Whether the subject of any certificate that the listener has verified is a user.
    subjects: bool,
}

impl Credentials {
    pub(crate) fn add_token(&mut self, token: impl Into<String>, user: User) {
        self.tokens.insert(token.into(), Arc::new(user.with_implicit_group()));
    }

    pub(crate) fn add_certificate(&mut self, certificate: Vec<u8>, user: User) {
        self.certificates.insert(certificate, Arc::new(user.with_implicit_group()));
    }

    /// From now on the subject of every verified certificate is a user.
    pub(crate) fn trust_subjects(&mut self) {
        self.subjects = true;
    }

    /// The user of a certificate that the listener has verified.
    pub(crate) fn by_certificate(&self, certificate: &[u8]) -> Option<Arc<User>> {
        let registered = || self.certificates.get(certificate).cloned();
        let named = || Some(Arc::new(user_of(certificate)?.with_implicit_group()));
        registered().or_else(|| self.subjects.then(named).flatten())
    }

    /// The user of a token.
    pub(crate) fn token(&self, token: &str) -> Option<Arc<User>> {
        self.tokens.get(token).cloned()
    }
}

/// The bearer token of a request.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse::<http::HeaderName>().unwrap(), v.parse().unwrap())).collect()
    }

    #[test]
    fn tokens_are_looked_up() {
        let mut credentials = Credentials::default();
        credentials.add_token("secret", User::new("ann"));
        let bearer = |value| bearer_token(&headers(&[("authorization", value)])).map(str::to_owned);
        assert_eq!(bearer("Bearer secret"), Some("secret".into()));
        assert_eq!(
            (bearer("bearer other"), bearer("Basic secret"), bearer("Bearer ")),
            (Some("other".into()), None, None)
        );
        assert_eq!(credentials.token("secret").map(|user| user.name.clone()), Some("ann".into()));
        assert!(credentials.token("other").is_none());
    }
}
