//! What the path of a request names: a resource, and an object of it.

use percent_encoding::percent_decode_str;

/// The path of a request on a resource, by position, as API servers read it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResourcePath<'a> {
    /// Empty for the core group.
    pub(super) group: &'a str,
    pub(super) namespace: Option<&'a str>,
    pub(super) plural: &'a str,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<&'a str>,
}

impl<'a> ResourcePath<'a> {
    /// `None` for a path that is not one of a resource.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match *segments.as_slice() {
            ["api", _version, ref rest @ ..] => ("", rest),
            ["apis", group, _version, ref rest @ ..] => (group, rest),
            _ => return None,
        };
        let (namespace, rest) = match *rest {
            // `namespaces/NAME`, `namespaces/NAME/status` and `namespaces/NAME/finalize` are about the Namespace itself.
            ["namespaces", namespace, ref rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (Some(namespace), rest)
            }
            _ => (None, rest),
        };
        let (plural, rest) = rest.split_first()?;
        let name = rest.first().map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned());
        Some(Self { group, namespace, plural, name, subresource: rest.get(1).copied() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_by_position() {
        let text = |path: &str| {
            ResourcePath::of(path).map(|it| {
                let ResourcePath { group, namespace, plural, name, subresource } = it;
                format!("{group}|{namespace:?}|{plural}|{name:?}|{subresource:?}").replace('"', "")
            })
        };
        for (path, expected) in [
            ("/api/v1/nodes", "|None|nodes|None|None"),
            ("/api/v1/namespaces/a", "|None|namespaces|Some(a)|None"),
            ("/api/v1/namespaces/a/status", "|None|namespaces|Some(a)|Some(status)"),
            ("/api/v1/namespaces/a/pods", "|Some(a)|pods|None|None"),
            (
                "/apis/apps/v1/namespaces/a/deployments/b%3Ac/scale",
                "apps|Some(a)|deployments|Some(b:c)|Some(scale)",
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:x",
                "rbac.authorization.k8s.io|None|clusterroles|Some(system:x)|None",
            ),
        ] {
            assert_eq!(text(path).as_deref(), Some(expected), "{path}");
        }
        for other in ["/", "/version", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz/ping"] {
            assert_eq!(text(other), None, "{other}");
        }
    }
}
