//! What kind of exchange a request starts: pure.

use http::header::UPGRADE;
use http::{Method, Request};

/// How an answer may be expected to behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// It comes, and it ends.
    Call,
    /// Its head comes at once, and then events; for so many seconds, if that was asked for.
    Watch(Option<u64>),
    /// It goes on as long as somebody writes a log, and may be quiet for any time.
    FollowedLog,
    /// It is what a proxied service makes of it, and may take any time.
    Proxied,
    /// It is the last of HTTP on its connection.
    Upgrade,
}

/// How many bytes of a request's path stand before the API's own, as with a cluster behind `https://host/clusters/one`. An extension of
/// requests that have such a prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPrefix(pub(super) usize);

impl Nature {
    /// Goes by what stands where in the path, as API servers do: namespaces and objects may have any name.
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let prefix = request.extensions().get::<PathPrefix>().map_or(0, |prefix| prefix.0);
        let path = request.uri().path().get(prefix..).unwrap_or_default();
        let query = request.uri().query().unwrap_or_default();
        let (may_follow, may_watch) = match Target::of(path) {
            Target::Proxied => return Self::Proxied,
            Target::Log => (true, false),
            Target::Watched => (false, true),
            Target::Collection => (false, is_set(query, "watch")),
            Target::Object => (false, false),
            // Kubelets have paths of their own.
            Target::Elsewhere => (true, is_set(query, "watch")),
        };
        if request.headers().contains_key(UPGRADE) {
            Self::Upgrade
        } else if request.method() != Method::GET {
            Self::Call
        } else if may_follow && is_set(query, "follow") {
            Self::FollowedLog
        } else if may_watch {
            let seconds = values(query, "timeoutSeconds").find_map(|value| value.parse().ok());
            Self::Watch(seconds.filter(|seconds| *seconds > 0))
        } else {
            Self::Call
        }
    }
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// All objects of a kind.
    Collection,
    /// The same in the old form `/api/v1/watch/pods`, which says that it is a watch.
    Watched,
    /// One object, or a part of it other than these two:
    Object,
    Log,
    Proxied,
    /// Nothing of the API's.
    Elsewhere,
}

impl Target {
    fn of(path: &str) -> Self {
        let mut segments = path.trim_matches('/').split('/');
        // The group and the version.
        let version = match segments.next() {
            Some("api") => segments.next(),
            Some("apis") => segments.nth(1),
            _ => None,
        };
        if version.is_none() {
            return Self::Elsewhere;
        }
        let mut next = || segments.next().filter(|segment| !segment.is_empty());
        let (resource, name, part) = match (next(), next(), next()) {
            (Some("watch"), Some(_), _) => return Self::Watched,
            (Some("proxy"), Some(_), _) => return Self::Proxied,
            (Some("namespaces"), Some(_), Some(resource)) if !matches!(resource, "status" | "finalize") => {
                (Some(resource), next(), next())
            }
            one => one,
        };
        match (resource, name, part) {
            (None, ..) => Self::Elsewhere,
            (Some(_), None, _) => Self::Collection,
            (_, _, Some("log")) => Self::Log,
            (_, _, Some("proxy")) => Self::Proxied,
            _ => Self::Object,
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
    use http::Uri;

    use super::*;

    fn of(uri: &'static str) -> Nature {
        Nature::of(&Request::get(Uri::from_static(uri)).body(()).unwrap())
    }

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
            ("/api/v1/watch/namespaces/a/pods/b", Nature::Watch(None)),
            ("/api/v1/pods?watch=1&timeoutSeconds=99999999999999999999", Nature::Watch(None)),
            ("/api/v1/namespaces/a/pods/b/log?follow=true&tailLines=1", Nature::FollowedLog),
            ("/containerLogs/a/b/c?follow=true", Nature::FollowedLog),
            ("/containerLogs/proxy/watch/log", Nature::Call),
            ("/api/v1/namespaces/a/services/b:80/proxy/slow", Nature::Proxied),
            ("/api/v1/namespaces/a/services/b:80/proxy", Nature::Proxied),
            ("/api/v1/nodes/n/proxy/logs/", Nature::Proxied),
            ("/api/v1/proxy/nodes/n", Nature::Proxied),
            ("/version", Nature::Call),
            ("/api", Nature::Call),
            ("/", Nature::Call),
        ] {
            assert_eq!(of(uri), nature, "{uri}");
        }
        let uri = Uri::from_static("/api/v1/namespaces/a/pods/b/exec?command=ls");
        let exec = Request::get(uri).header(UPGRADE, "websocket").body(()).unwrap();
        assert_eq!(Nature::of(&exec), Nature::Upgrade);
    }

    #[test]
    fn a_name_that_reads_like_a_word_of_the_api_is_a_name() {
        for uri in [
            "/api/v1/namespaces/proxy",
            "/api/v1/namespaces/watch/status",
            "/api/v1/namespaces/proxy/pods",
            "/api/v1/namespaces/watch/configmaps/watch",
            "/api/v1/namespaces/a/configmaps/proxy",
            "/api/v1/namespaces/watch/pods/proxy/log",
            "/apis/proxy/watch/proxy",
            "/apis/watch/v1/namespaces/watch/watch",
            "/apis/example.com/v1/watch",
            "/apis/example.com/v1/proxy",
            "/api/v1/nodes/proxy",
            "/api/v1/nodes/log/status?follow=true",
            "/api/v1/namespaces/a/pods?follow=true",
            "/api/v1/namespaces/a/pods/b?watch=true",
        ] {
            assert_eq!(of(uri), Nature::Call, "{uri}");
        }
        assert_eq!(of("/api/v1/namespaces/proxy/pods?watch=1"), Nature::Watch(None));
        assert_eq!(of("/api/v1/namespaces/watch/pods/proxy/proxy/x"), Nature::Proxied);
    }

    #[test]
    fn only_reads_are_watches_and_what_stands_before_the_api_does_not_count() {
        let delete = Request::delete("/api/v1/namespaces/a/pods?watch=true").body(()).unwrap();
        assert_eq!(Nature::of(&delete), Nature::Call);
        let prefix = "/api/v1/namespaces/x/services/virtual/proxy";
        let mut request = Request::get(format!("{prefix}/api/v1/pods?watch=1")).body(()).unwrap();
        assert_eq!(Nature::of(&request), Nature::Proxied);
        request.extensions_mut().insert(PathPrefix(prefix.len()));
        assert_eq!(Nature::of(&request), Nature::Watch(None));
    }
}
