//! Headers of the configuration that go on every request, impersonation included.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderName, HeaderValue, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tower_layer::Layer;
use tower_service::Service;

use crate::config::Config;

/// Adds the headers of a [`Config`] to each request: its `headers`, and those of impersonation.
#[derive(Clone)]
pub struct ExtraHeadersLayer {
    headers: Arc<[(HeaderName, HeaderValue)]>,
}

impl ExtraHeadersLayer {
    /// # Errors
    /// If the user, uid, group or extra value to impersonate is not a valid header value.
    pub(crate) fn of(config: &Config) -> Result<Self, http::Error> {
        let mut headers = config.headers.clone();
        let user = &config.auth_info;
        if let Some(name) = &user.impersonate {
            headers.push((HeaderName::from_static("impersonate-user"), HeaderValue::from_str(name)?));
        }
        if let Some(uid) = &user.impersonate_uid {
            headers.push((HeaderName::from_static("impersonate-uid"), HeaderValue::from_str(uid)?));
        }
        for group in user.impersonate_groups.iter().flatten() {
            headers.push((HeaderName::from_static("impersonate-group"), HeaderValue::from_str(group)?));
        }
        for (key, values) in user.impersonate_user_extra.iter().flatten() {
            let key = utf8_percent_encode(key, NOT_IN_HEADER_NAMES);
            let name = HeaderName::try_from(format!("impersonate-extra-{key}"))?;
            for value in values {
                headers.push((name.clone(), HeaderValue::from_str(value)?));
            }
        }
        Ok(Self { headers: headers.into() })
    }
}

impl<S> Layer<S> for ExtraHeadersLayer {
    type Service = ExtraHeaders<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ExtraHeaders::new(Arc::clone(&self.headers), inner)
    }
}

/// All characters that a header name cannot have, and `%`: keys of `impersonate-extra-*` such as `example.org/team` are percent-encoded.
const NOT_IN_HEADER_NAMES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The service of [`ExtraHeadersLayer`].
#[derive(Clone)]
pub struct ExtraHeaders<S> {
    headers: Arc<[(HeaderName, HeaderValue)]>,
    inner: S,
}

impl<S> ExtraHeaders<S> {
    fn new(headers: Arc<[(HeaderName, HeaderValue)]>, inner: S) -> Self {
        Self { headers, inner }
    }
}

impl<S, ReqBody> Service<Request<ReqBody>> for ExtraHeaders<S>
where
    S: Service<Request<ReqBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        for (name, value) in self.headers.iter() {
            // Appended, not inserted: several groups are several headers of one name.
            request.headers_mut().append(name, value.clone());
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn impersonation_becomes_headers() {
        let mut config = Config::new("https://h".parse().unwrap());
        config.headers.push((HeaderName::from_static("x-own"), HeaderValue::from_static("1")));
        config.auth_info.impersonate = Some("jane".into());
        config.auth_info.impersonate_uid = Some("7".into());
        config.auth_info.impersonate_groups = Some(vec!["dev".into(), "ops".into()]);
        config.auth_info.impersonate_user_extra =
            Some(HashMap::from([("example.org/te%am".to_owned(), vec!["a".into()])]));
        let layer = ExtraHeadersLayer::of(&config).unwrap();
        let shown: Vec<_> =
            layer.headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [
                "x-own=1",
                "impersonate-user=jane",
                "impersonate-uid=7",
                "impersonate-group=dev",
                "impersonate-group=ops",
                "impersonate-extra-example.org%2fte%25am=a"
            ]
        );
    }

    #[test]
    fn a_user_that_is_not_a_valid_header_value_is_an_error() {
        let mut config = Config::new("https://h".parse().unwrap());
        config.auth_info.impersonate = Some("a\nb".into());
        assert!(ExtraHeadersLayer::of(&config).is_err());
    }
}
