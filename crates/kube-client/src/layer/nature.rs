//! What kind of exchange a request starts: pure.

use http::header::UPGRADE;
use http::{HeaderMap, Uri};

/// How an answer may be expected to behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// It comes, and it ends.
    Call,
    /// Its head comes at once, and then events; for so many seconds, if that was asked for.
    Watch(Option<u64>),
    /// It may take any time: a log that is followed, or what a proxied service makes of it.
    Open,
    /// It is the last of HTTP on its connection.
    Upgrade,
}

impl Nature {
    pub(super) fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let query = uri.query().unwrap_or_default();
        let has_segment = |name| uri.path().split('/').any(|segment| segment == name);
        if is_set(query, "follow") || has_segment("proxy") {
            Self::Open
        } else if headers.contains_key(UPGRADE) {
            Self::Upgrade
        } else if is_set(query, "watch") || has_segment("watch") {
            let seconds = values(query, "timeoutSeconds").find_map(|value| value.parse().ok());
            Self::Watch(seconds.filter(|seconds| *seconds > 0))
        } else {
            Self::Call
        }
    }
}

/// API servers take anything but these two for yes.
fn is_set(query: &str, name: &str) -> bool {
    values(query, name).any(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

fn values<'a>(query: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    query.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn requests_are_told_apart_by_path_query_and_upgrade() {
        for (uri, nature) in [
            ("https://h/api/v1/pods", Nature::Call),
            ("/api/v1/pods?limit=5&watch=false", Nature::Call),
            ("/api/v1/namespaces/a/pods/b/log", Nature::Call),
            ("/api/v1/namespaces/a/pods/b/log?follow=0", Nature::Call),
            ("/apis/apps/v1/deployments?labelSelector=watch%3Dtrue", Nature::Call),
            ("/api/v1/pods?watch=true&timeoutSeconds=290", Nature::Watch(Some(290))),
            ("/api/v1/pods?&watch=1", Nature::Watch(None)),
            ("/api/v1/pods?watch", Nature::Watch(None)),
            ("/api/v1/watch/pods?timeoutSeconds=0", Nature::Watch(None)),
            ("/api/v1/pods?watch=1&timeoutSeconds=99999999999999999999", Nature::Watch(None)),
            ("/api/v1/namespaces/a/pods/b/log?follow=true&tailLines=1", Nature::Open),
            ("/containerLogs/a/b/c?follow=true", Nature::Open),
            ("/api/v1/namespaces/a/services/b:80/proxy/slow", Nature::Open),
        ] {
            assert_eq!(Nature::of(&Uri::from_static(uri), &HeaderMap::new()), nature, "{uri}");
        }
        let upgrade = HeaderMap::from_iter([(UPGRADE, HeaderValue::from_static("websocket"))]);
        let uri = Uri::from_static("/api/v1/namespaces/a/pods/b/exec?command=ls");
        assert_eq!(Nature::of(&uri, &upgrade), Nature::Upgrade);
    }
}
