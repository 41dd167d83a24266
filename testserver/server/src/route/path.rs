//! Parses a request path into what it addresses.

use super::query::decode;

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Version,
    /// `/healthz`, `/livez`, `/readyz`.
    Health {
        name: String,
    },
    /// `/`.
    Index,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    Group(String),
    /// `/api/v1` or `/apis/{group}/{version}`.
    GroupVersion {
        group: String,
        version: String,
    },
    OpenApiV2,
    OpenApiIndex,
    /// A document below `/openapi/v3/`, by the rest of the path.
    OpenApi(String),
    Resource(ResourcePath),
    Unknown,
}

/// The path of a resource, object or subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Route {
    pub(crate) fn parse(path: &str) -> Self {
        let parts: Option<Vec<String>> =
            path.split('/').filter(|part| !part.is_empty()).map(|p| decode(p, false)).collect();
        let Some(parts) = parts else { return Self::Unknown };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            [] => Self::Index,
            ["version"] => Self::Version,
            [name @ ("healthz" | "livez" | "readyz"), ..] => Self::Health { name: (*name).into() },
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiIndex,
            ["openapi", "v3", rest @ ..] => Self::OpenApi(rest.join("/")),
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["api", version] => Self::GroupVersion { group: String::new(), version: (*version).into() },
            ["apis", group] => Self::Group((*group).into()),
            ["apis", group, version] => {
                Self::GroupVersion { group: (*group).into(), version: (*version).into() }
            }
            ["api", version, rest @ ..] => resource("", version, rest),
            ["apis", group, version, rest @ ..] => resource(group, version, rest),
            _ => Self::Unknown,
        }
    }
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Route {
    // `namespaces/x/status` and `namespaces/x/finalize` are subresources; any other third segment is a resource in the namespace.
    let (namespace, rest) = match rest {
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_string()), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(*name), None),
        [plural, name, subresource] => (plural, Some(*name), Some(*subresource)),
        _ => return Route::Unknown,
    };
    Route::Resource(ResourcePath {
        group: group.into(),
        version: version.into(),
        namespace,
        plural: (*plural).into(),
        name: name.map(Into::into),
        subresource: subresource.map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> ResourcePath {
        match Route::parse(path) {
            Route::Resource(path) => path,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn resource_paths_are_parsed() {
        let pod = path("/api/v1/namespaces/default/pods/a/log");
        assert_eq!((pod.namespace.as_deref(), pod.plural.as_str()), (Some("default"), "pods"));
        assert_eq!((pod.name.as_deref(), pod.subresource.as_deref()), (Some("a"), Some("log")));
        let crd = path("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        assert_eq!((crd.group.as_str(), crd.namespace, crd.name), ("apiextensions.k8s.io", None, None));
        let namespace = path("/api/v1/namespaces/x");
        assert_eq!((namespace.plural.as_str(), namespace.name.as_deref()), ("namespaces", Some("x")));
        let finalize = path("/api/v1/namespaces/x/finalize");
        assert_eq!(
            (finalize.plural.as_str(), finalize.subresource.as_deref()),
            ("namespaces", Some("finalize"))
        );
        assert_eq!(path("/apis/g.x/v1/namespaces/n/things/a%20b").name.as_deref(), Some("a b"));
    }

    #[test]
    fn other_paths_are_known_or_unknown() {
        assert_eq!(Route::parse("/apis/"), Route::Groups);
        assert_eq!(Route::parse("/apis/apps"), Route::Group("apps".into()));
        assert_eq!(Route::parse("/openapi/v3/apis/apps/v1"), Route::OpenApi("apis/apps/v1".into()));
        for unknown in ["/nope", "/api/v1/namespaces/n/pods/a/b/c/d", "/api/v1/pods/%zz", "/openapi"] {
            assert_eq!(Route::parse(unknown), Route::Unknown, "{unknown}");
        }
    }
}
