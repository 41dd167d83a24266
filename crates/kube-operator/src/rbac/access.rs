//! From a request to the permissions that API servers require for it.

use http::{HeaderMap, Method, StatusCode, Uri, header};
use std::collections::BTreeSet;

/// A permission: one verb on one resource or path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Resource(ResourceAccess),
    /// A path that is not a resource, such as `/version`.
    Path {
        path: String,
        verb: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResourceAccess {
    /// `None` for cluster-scoped kinds, and for requests to all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) group: String,
    /// With the subresource, such as `deployments/status`.
    pub(super) resource: String,
    /// `None` for verbs on collections.
    pub(super) name: Option<String>,
    pub(super) verb: &'static str,
}

/// What of a request decides about its permissions.
#[derive(Debug, Clone)]
pub(super) struct Target {
    accesses: BTreeSet<Access>,
    /// Needed too if the request creates the object: apply patches and updates can.
    if_created: Option<Access>,
}

impl Target {
    pub(super) fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let segments: Vec<String> =
            uri.path().split('/').filter(|it| !it.is_empty()).map(percent_decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, rest) = match segments[..] {
            ["api", _version, ref rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _version, ref rest @ ..] if !rest.is_empty() => (group, rest),
            _ => {
                let verb = method.as_str().to_ascii_lowercase();
                let path = Access::Path { path: uri.path().to_owned(), verb };
                return Self { accesses: [path].into(), if_created: None };
            }
        };
        let path = ResourcePath::of(rest);
        let name = path.name.map(str::to_owned).or_else(|| selected_name(method, uri));
        let access = |verb, name: &Option<String>| {
            Access::Resource(ResourceAccess {
                namespace: path.namespace.map(str::to_owned),
                group: group.to_owned(),
                resource: path.resource.clone(),
                name: name.clone(),
                verb,
            })
        };
        let verb = verb_of(method, uri, path.name.is_some());
        let mut accesses = BTreeSet::from([access(verb, &name)]);
        if verb == "get" && path.is_connect && is_upgrade(headers) {
            // Since Kubernetes 1.35, websockets need the verb of the requests that they replaced, too.
            accesses.insert(access("create", &name));
        }
        if verb == "watch" && parameter(uri, "sendInitialEvents").as_deref() == Some("true") {
            // A server that does not support streaming lists is asked for a list.
            accesses.insert(access("list", &name));
        }
        let creates = matches!(*method, Method::PATCH | Method::PUT) && !path.resource.contains('/');
        // Unlike that of a POST, the authorization of this creation knows the name.
        Self { accesses, if_created: creates.then(|| access("create", &name)) }
    }

    /// The permissions that were needed before the server responded.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.accesses.iter()
    }

    /// The permissions that a response shows.
    pub(super) fn accesses_of_response(self, status: StatusCode) -> Option<Access> {
        self.if_created.filter(|_| status == StatusCode::CREATED)
    }
}

/// The part of a path behind group and version.
struct ResourcePath<'a> {
    namespace: Option<&'a str>,
    resource: String,
    name: Option<&'a str>,
    /// A subresource that opens a stream.
    is_connect: bool,
}

impl<'a> ResourcePath<'a> {
    fn of(rest: &[&'a str]) -> Self {
        let (namespace, rest) = match *rest {
            // `namespaces/NAME`, `namespaces/NAME/status` and `namespaces/NAME/finalize` are about the Namespace itself.
            ["namespaces", namespace, ref rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (Some(namespace), rest)
            }
            _ => (None, rest),
        };
        let resource = rest.first().copied().unwrap_or_default();
        let subresource = rest.get(2).copied();
        let is_connect = matches!(subresource, Some("exec" | "attach" | "portforward" | "proxy"));
        let resource = match subresource {
            Some(subresource) => format!("{resource}/{subresource}"),
            None => resource.to_owned(),
        };
        Self { namespace, resource, name: rest.get(1).copied(), is_connect }
    }
}

fn verb_of(method: &Method, uri: &Uri, named: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if is_watch(uri) => "watch",
        Method::GET | Method::HEAD => "list",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => "create",
    }
}

fn is_watch(uri: &Uri) -> bool {
    parameter(uri, "watch").is_some_and(|value| matches!(&*value, "" | "1" | "true"))
}

/// The name in the field selector `metadata.name=NAME` of a list or watch: rules with names permit these.
fn selected_name(method: &Method, uri: &Uri) -> Option<String> {
    let selector = parameter(uri, "fieldSelector").filter(|_| *method == Method::GET)?;
    let name = selector.split(',').find_map(|it| it.strip_prefix("metadata.name="))?;
    Some(name.trim_start_matches('=').to_owned())
}

fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let pairs = uri.query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| percent_decoded(value)).next()
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Invalid escapes stay as they are: the server will refuse the request.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let escaped = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        decoded.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(method: &str, uri: &str) -> Vec<String> {
        accesses_with(method, uri, &HeaderMap::new(), StatusCode::OK)
    }

    fn accesses_with(method: &str, uri: &str, headers: &HeaderMap, status: StatusCode) -> Vec<String> {
        let target = Target::of(&method.parse().unwrap(), &uri.parse().unwrap(), headers);
        let requested: Vec<Access> = target.accesses().cloned().collect();
        let text = |access| match access {
            Access::Path { path, verb } => format!("{verb} {path}"),
            Access::Resource(ResourceAccess { namespace, group, resource, name, verb }) => {
                format!(
                    "{verb} {resource}.{group} {} in {}",
                    name.as_deref().unwrap_or("*"),
                    namespace.as_deref().unwrap_or("*")
                )
            }
        };
        requested.into_iter().chain(target.accesses_of_response(status)).map(text).collect()
    }

    #[test]
    fn verbs_follow_method_name_and_watch() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/pods", "list pods. * in *"),
            ("GET", "/api/v1/pods?watch=true&limit=1", "watch pods. * in *"),
            ("GET", "/api/v1/pods?watch=1", "watch pods. * in *"),
            ("GET", "/api/v1/pods?watch=false", "list pods. * in *"),
            ("GET", "/api/v1/namespaces/shop/pods/web", "get pods. web in shop"),
            ("HEAD", "/api/v1/nodes/n1", "get nodes. n1 in *"),
            ("POST", "/apis/apps/v1/namespaces/shop/deployments", "create deployments.apps * in shop"),
            ("PUT", "/apis/apps/v1/namespaces/shop/deployments/web", "update deployments.apps web in shop"),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/shop/deployments/web/status",
                "patch deployments/status.apps web in shop",
            ),
            ("DELETE", "/api/v1/namespaces/shop/pods/web", "delete pods. web in shop"),
            ("DELETE", "/api/v1/namespaces/shop/pods?labelSelector=a", "deletecollection pods. * in shop"),
            ("POST", "/api/v1/namespaces/shop/pods/web/eviction", "create pods/eviction. web in shop"),
            ("GET", "/api/v1/namespaces", "list namespaces. * in *"),
            ("GET", "/api/v1/namespaces/shop", "get namespaces. shop in *"),
            ("PATCH", "/api/v1/namespaces/shop/status", "patch namespaces/status. shop in *"),
            ("PUT", "/api/v1/namespaces/shop/finalize", "update namespaces/finalize. shop in *"),
            ("GET", "/api/v1/namespaces/status", "get namespaces. status in *"),
            ("GET", "/api/v1/pods?watch=true&fieldSelector=metadata.name%3Dweb", "watch pods. web in *"),
            ("GET", "/api/v1/namespaces/shop/configmaps/a%3Ab", "get configmaps. a:b in shop"),
            ("GET", "/api/v1/namespaces/shop/configmaps/a%zz", "get configmaps. a%zz in shop"),
            ("GET", "/version", "get /version"),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
            ("GET", "/api/v1/", "get /api/v1/"),
            ("GET", "/", "get /"),
        ] {
            assert_eq!(accesses(method, uri), [expected], "{method} {uri}");
        }
    }

    #[test]
    fn an_apply_or_update_that_creates_needs_create_too() {
        let uri = "/api/v1/namespaces/shop/configmaps/a";
        let created = |method| accesses_with(method, uri, &HeaderMap::new(), StatusCode::CREATED);
        assert_eq!(created("PATCH"), ["patch configmaps. a in shop", "create configmaps. a in shop"]);
        assert_eq!(created("PUT"), ["update configmaps. a in shop", "create configmaps. a in shop"]);
        assert_eq!(created("DELETE"), ["delete configmaps. a in shop"]);
    }

    #[test]
    fn a_websocket_needs_create_too() {
        let headers = HeaderMap::from_iter([(header::UPGRADE, "websocket".parse().unwrap())]);
        let exec = "/api/v1/namespaces/shop/pods/web/exec?command=ls";
        let expected = ["create pods/exec. web in shop", "get pods/exec. web in shop"];
        assert_eq!(accesses_with("GET", exec, &headers, StatusCode::SWITCHING_PROTOCOLS), expected);
        assert_eq!(accesses("GET", exec), ["get pods/exec. web in shop"]);
    }
}
