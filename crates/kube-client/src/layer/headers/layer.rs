use std::fmt::Write;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use tower_layer::Layer;

use super::ExtraHeaders;
use crate::config::Config;

/// Adds the headers of a [`Config`] to each request: its `headers`, and those that say whom to act as.
#[derive(Clone)]
pub struct ExtraHeadersLayer {
    headers: Arc<[(HeaderName, HeaderValue)]>,
}

impl ExtraHeadersLayer {
    /// Fails if a name to act as cannot stand in a header.
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
            let name = HeaderName::try_from(format!("impersonate-extra-{}", escape(key)))?;
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

/// Keys such as `example.org/team` are percent-escaped wherever a header's name cannot hold a character; the server undoes it.
fn escape(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => escaped.push(char::from(byte)),
            b'!' | b'#' | b'$' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|'
            | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => write!(escaped, "%{byte:02X}").expect("invariant: a String takes any text"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn whom_to_act_as_becomes_headers() {
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
    fn a_name_that_no_header_can_hold_is_refused() {
        let mut config = Config::new("https://h".parse().unwrap());
        config.auth_info.impersonate = Some("a\nb".into());
        assert!(ExtraHeadersLayer::of(&config).is_err());
    }
}
