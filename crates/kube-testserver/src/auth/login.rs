use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, header};

use super::User;

/// The credentials that a server knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    tokens: HashMap<String, Arc<User>>,
    /// By the certificate itself.
    certificates: HashMap<Vec<u8>, Arc<User>>,
}

impl Login {
    pub(crate) fn add_token(&mut self, token: impl Into<String>, user: User) {
        self.tokens.insert(token.into(), Arc::new(user.with_standing()));
    }

    pub(crate) fn add_certificate(&mut self, certificate: Vec<u8>, user: User) {
        self.certificates.insert(certificate, Arc::new(user.with_standing()));
    }

    pub(crate) fn by_certificate(&self, certificate: &[u8]) -> Option<Arc<User>> {
        self.certificates.get(certificate).cloned()
    }

    /// Whose token it is.
    pub(crate) fn token(&self, token: &str) -> Option<Arc<User>> {
        self.tokens.get(token).cloned()
    }

    /// `None` when there is no bearer token; `Some(None)` when it is one that nobody has.
    pub(crate) fn by_token(&self, headers: &HeaderMap) -> Option<Option<Arc<User>>> {
        let token = bearer(headers)?;
        Some(self.token(token))
    }
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
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
    fn tokens_are_known_or_not() {
        let mut login = Login::default();
        login.add_token("secret", User::new("ann"));
        let by = |value| {
            login.by_token(&headers(&[("authorization", value)])).map(|user| user.map(|u| u.name.clone()))
        };
        assert_eq!(by("Bearer secret"), Some(Some("ann".into())));
        assert_eq!((by("bearer other"), by("Basic secret"), by("Bearer ")), (Some(None), None, None));
    }
}
