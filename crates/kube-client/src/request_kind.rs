//! [`RequestKind`]: the kind of a request, by its path, query and headers.

use http::header::UPGRADE;
use http::{Method, Request};

/// The kinds of requests that differ in how long their response may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A short-running request, as opposed to the API server's long-running requests: its response ends by itself.
    Short,
    /// A watch, with its `timeoutSeconds`, if set: the head arrives at once, then events.
    Watch(Option<u64>),
    /// A log with `follow`: may be silent for any time.
    FollowedLog,
    /// Through the `proxy` subresource of a service, pod or node: may take any time.
    Proxied,
    /// Turns its connection into another protocol, such as a websocket.
    Upgrade,
}

/// Extension of a request: how many bytes of its path come from the cluster's URL, as in `https://host/clusters/one`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathPrefix(pub(crate) usize);

impl RequestKind {
    /// Parses the path by position, as API servers do: namespaces and objects may be named `watch` or `proxy`.
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let prefix = request.extensions().get::<PathPrefix>().map_or(0, |prefix| prefix.0);
        let path = request.uri().path().get(prefix..).unwrap_or_default();
        let query = request.uri().query().unwrap_or_default();
        let (may_follow, may_watch) = match Target::of(path) {
            Target::Proxied => return Self::Proxied,
            Target::Log => (true, false),
            Target::Watched => (false, true),
            Target::Collection => (false, is_set(query, "watch")),
            Target::Object => (false, false),
            // Such as the paths of a kubelet.
            Target::Other => (true, is_set(query, "watch")),
        };
        if request.headers().contains_key(UPGRADE) {
            Self::Upgrade
        } else if request.method() != Method::GET {
            Self::Short
        } else if may_follow && is_set(query, "follow") {
            Self::FollowedLog
        } else if may_watch {
            let seconds = values(query, "timeoutSeconds").find_map(|value| value.parse().ok());
            Self::Watch(seconds.filter(|seconds| *seconds > 0))
        } else {
            Self::Short
        }
    }
}

/// What a path refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// All objects of a kind.
    Collection,
    /// The deprecated form of a watch, `/api/v1/watch/pods`.
    Watched,
    /// One object, or a subresource of it other than `log` and `proxy`.
    Object,
    Log,
    Proxied,
    /// Not a path of the resource API.
    Other,
}

impl Target {
    fn of(path: &str) -> Self {
        // Bytes: to search a text for a character costs more than to pass the few bytes of a segment, and each request is asked twice.
        let segments = path.as_bytes().split(|byte| *byte == b'/');
        let mut segments = segments.skip_while(|segment| segment.is_empty());
        // The group and the version.
        let version = match segments.next() {
            Some(b"api") => segments.next(),
            Some(b"apis") => segments.nth(1),
            _ => None,
        };
        if version.is_none() {
            return Self::Other;
        }
        let mut next = || segments.next().filter(|segment| !segment.is_empty());
        let (resource, name, subresource) = match (next(), next(), next()) {
            (Some(b"watch"), Some(_), _) => return Self::Watched,
            (Some(b"proxy"), Some(_), _) => return Self::Proxied,
            (Some(b"namespaces"), Some(_), Some(resource))
                if !matches!(resource, b"status" | b"finalize") =>
            {
                (Some(resource), next(), next())
            }
            other => other,
        };
        match (resource, name, subresource) {
            (None, ..) => Self::Other,
            (Some(_), None, _) => Self::Collection,
            (_, _, Some(b"log")) => Self::Log,
            (_, _, Some(b"proxy")) => Self::Proxied,
            _ => Self::Object,
        }
    }
}

/// API servers treat every value but `0` and `false` as true.
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

    fn of(uri: &'static str) -> RequestKind {
        RequestKind::of(&Request::get(Uri::from_static(uri)).body(()).unwrap())
    }

    #[test]
    fn the_kind_follows_from_path_query_and_upgrade_header() {
        for (uri, kind) in [
            ("https://h/api/v1/pods", RequestKind::Short),
            ("/api/v1/pods?limit=5&watch=false", RequestKind::Short),
            ("/api/v1/namespaces/a/pods/b/log", RequestKind::Short),
            ("/api/v1/namespaces/a/pods/b/log?follow=0", RequestKind::Short),
            ("/apis/apps/v1/deployments?labelSelector=watch%3Dtrue", RequestKind::Short),
            ("/api/v1/pods?watch=true&timeoutSeconds=290", RequestKind::Watch(Some(290))),
            ("/api/v1/pods?&watch=1", RequestKind::Watch(None)),
            ("/api/v1/pods?watch", RequestKind::Watch(None)),
            ("//api/v1/pods/?watch=1", RequestKind::Watch(None)),
            ("/api/v1/watch/pods?timeoutSeconds=0", RequestKind::Watch(None)),
            ("/api/v1/watch/namespaces/a/pods/b", RequestKind::Watch(None)),
            ("/api/v1/pods?watch=1&timeoutSeconds=99999999999999999999", RequestKind::Watch(None)),
            ("/api/v1/namespaces/a/pods/b/log?follow=true&tailLines=1", RequestKind::FollowedLog),
            ("/containerLogs/a/b/c?follow=true", RequestKind::FollowedLog),
            ("/containerLogs/proxy/watch/log", RequestKind::Short),
            ("/api/v1/namespaces/a/services/b:80/proxy/slow", RequestKind::Proxied),
            ("/api/v1/namespaces/a/services/b:80/proxy", RequestKind::Proxied),
            ("/api/v1/nodes/n/proxy/logs/", RequestKind::Proxied),
            ("/api/v1/proxy/nodes/n", RequestKind::Proxied),
            ("/version", RequestKind::Short),
            ("/api", RequestKind::Short),
            ("/", RequestKind::Short),
        ] {
            assert_eq!(of(uri), kind, "{uri}");
        }
        let uri = Uri::from_static("/api/v1/namespaces/a/pods/b/exec?command=ls");
        let exec = Request::get(uri).header(UPGRADE, "websocket").body(()).unwrap();
        assert_eq!(RequestKind::of(&exec), RequestKind::Upgrade);
    }

    #[test]
    fn namespaces_and_objects_may_be_named_watch_or_proxy() {
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
            assert_eq!(of(uri), RequestKind::Short, "{uri}");
        }
        assert_eq!(of("/api/v1/namespaces/proxy/pods?watch=1"), RequestKind::Watch(None));
        assert_eq!(of("/api/v1/namespaces/watch/pods/proxy/proxy/x"), RequestKind::Proxied);
    }

    #[test]
    fn only_get_requests_are_watches_and_the_path_prefix_is_ignored() {
        let delete = Request::delete("/api/v1/namespaces/a/pods?watch=true").body(()).unwrap();
        assert_eq!(RequestKind::of(&delete), RequestKind::Short);
        let prefix = "/api/v1/namespaces/x/services/virtual/proxy";
        let mut request = Request::get(format!("{prefix}/api/v1/pods?watch=1")).body(()).unwrap();
        assert_eq!(RequestKind::of(&request), RequestKind::Proxied);
        request.extensions_mut().insert(PathPrefix(prefix.len()));
        assert_eq!(RequestKind::of(&request), RequestKind::Watch(None));
    }
}
