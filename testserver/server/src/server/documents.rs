//! Non-resource paths: version, health, discovery, OpenAPI.

use http::{HeaderValue, Response, StatusCode, header, request::Parts};
use serde_json::json;

use crate::{
    cluster::ClusterState,
    protobuf,
    response::{self, Body, Media, respond},
    route::{Query, Route},
    scheme::{Scheme, discovery, openapi, openapi_index, openapi_v2},
    status_error::StatusError,
    storage::WriteError,
};

pub(super) fn respond(cluster: &mut ClusterState, route: &Route, parts: &Parts) -> Response<Body> {
    if let Route::Health { name } = route {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        return health(name, &query, cluster.check_journal());
    }
    let scheme = cluster.scheme();
    let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let document = match route {
        Route::Version if !response::wants_json(accept) => {
            return respond::status_error(&StatusError::accepts_only("application/json"));
        }
        Route::Version => Some(version()),
        Route::Index => Some(
            json!({"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]}),
        ),
        Route::CoreVersions | Route::Groups => {
            let core = *route == Route::CoreVersions;
            if let Some((form, media)) = response::discovery_form(accept) {
                return aggregated(cluster, core, form, media);
            }
            if !response::wants_document(accept) {
                return respond::status_error(&StatusError::accepts_only(response::OFFERED));
            }
            Some(if core { discovery::core_versions(address(parts)) } else { discovery::groups(scheme) })
        }
        Route::Group(_) | Route::GroupVersion { .. } if !response::wants_document(accept) => {
            return respond::status_error(&StatusError::accepts_only(response::OFFERED));
        }
        Route::Group(group) => discovery::group(scheme, group),
        Route::GroupVersion { group, version } => match discovery::version(scheme, group, version) {
            None => return unknown_resource(cluster, group, version),
            document => document,
        },
        Route::OpenApiIndex => Some(openapi_index::index(scheme)),
        Route::OpenApi(name) => return openapi_v3(scheme, name, query.get("hash"), parts),
        Route::OpenApiV2 => match response::openapi_v2_media(accept) {
            Some(media) => return openapi_v2(scheme, media, parts),
            None => return respond::empty(StatusCode::NOT_ACCEPTABLE),
        },
        Route::Health { .. } | Route::Resource(_) | Route::Unknown => None,
    };
    match document {
        Some(document) => respond::document(StatusCode::OK, &document),
        None => not_found(),
    }
}

/// The address at which the client found the server; none in the process.
fn address(parts: &Parts) -> &str {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    parts.uri.authority().map_or(host.unwrap_or_default(), |authority| authority.as_str())
}

/// A server that responds is healthy, unless its data directory refuses writes. As on a genuine server, a failed check is always listed.
fn health(name: &str, query: &Query, storage: Result<(), WriteError>) -> Response<Body> {
    if let Err(why) = storage {
        let text = format!("[+]ping ok\n[+]log ok\n[-]etcd failed: {why}\n{name} check failed\n");
        return respond::text(StatusCode::INTERNAL_SERVER_ERROR, text);
    }
    if query.has("verbose") {
        respond::text(StatusCode::OK, format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{name} check passed\n"))
    } else {
        respond::text(StatusCode::OK, "ok")
    }
}

/// A document of OpenAPI v3. An outdated hash leads to the current one.
fn openapi_v3(scheme: &Scheme, name: &str, requested_hash: Option<&str>, parts: &Parts) -> Response<Body> {
    let Some(hash) = openapi_index::hash_of(scheme, name) else { return not_found() };
    if requested_hash.is_some_and(|requested| requested != hash) {
        let mut response = respond::empty(StatusCode::MOVED_PERMANENTLY);
        if let Ok(url) = HeaderValue::from_str(&openapi_index::url(name, &hash)) {
            response.headers_mut().insert(header::LOCATION, url);
        }
        return response;
    }
    let document = || openapi::document(scheme, name);
    let mut response = unless_known(&hash, parts, || match document() {
        Some(document) => respond::document(StatusCode::OK, &document),
        None => not_found(),
    });
    if requested_hash.is_some() {
        // The address contains a hash of the content, so the response never changes.
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    response
}

fn openapi_v2(scheme: &Scheme, media: Media, parts: &Parts) -> Response<Body> {
    unless_known(&openapi_index::hash_of_all(scheme), parts, || {
        let document = openapi_v2::document(scheme);
        match media {
            Media::Protobuf => openapi_in_protobuf(&document),
            _ => respond::document(StatusCode::OK, &document),
        }
    })
}

/// 304 for a client that has the document with this hash.
fn unless_known(hash: &str, parts: &Parts, respond: impl FnOnce() -> Response<Body>) -> Response<Body> {
    let tag = format!("\"{hash}\"");
    let if_none_match = parts.headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = if_none_match
        .is_some_and(|tags| tags.split(',').any(|etag| [tag.as_str(), "*"].contains(&etag.trim())));
    let mut response = if is_known { respond::empty(StatusCode::NOT_MODIFIED) } else { respond() };
    let headers = response.headers_mut();
    if is_known {
        headers.remove(header::CONTENT_TYPE);
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

pub(super) fn not_found() -> Response<Body> {
    respond::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

fn aggregated(cluster: &ClusterState, core: bool, form: &str, media: Media) -> Response<Body> {
    let document = discovery::aggregated(cluster.scheme(), core, form);
    let (name, encoded) = match media {
        Media::Protobuf => ("vnd.kubernetes.protobuf", protobuf::encode(&document)),
        _ => ("json", Ok(document.to_string().into())),
    };
    encoded_as(
        encoded,
        &format!("application/{name};g=apidiscovery.k8s.io;v={form};as=APIGroupDiscoveryList"),
    )
}

fn openapi_in_protobuf(document: &serde_json::Value) -> Response<Body> {
    encoded_as(
        protobuf::openapi_document(document),
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    )
}

/// A document that depends on `Accept`.
fn encoded_as(encoded: Result<Vec<u8>, String>, media: &str) -> Response<Body> {
    let body = match encoded {
        Ok(body) => body,
        Err(why) => return respond::status_error(&StatusError::internal(why)),
    };
    let mut response = respond::json(StatusCode::OK, body, &[]);
    if let Ok(media) = HeaderValue::from_str(media) {
        response.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// With the numbers of this crate's version; not its build metadata, because a version has one `+`.
const GIT_VERSION: &str = concat!(
    "v1.37.2+kube-testserver.",
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR"),
    ".",
    env!("CARGO_PKG_VERSION_PATCH"),
);

/// The Kubernetes version that the server implements.
fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": "37",
        "emulationMajor": "1",
        "emulationMinor": "37",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "36",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The 404 for an unknown resource or version: a `Status` if there is the built-in group, or the version of the custom resource, else text.
pub(super) fn unknown_resource(cluster: &ClusterState, group: &str, version: &str) -> Response<Body> {
    let mut endpoints = cluster.scheme().group(group);
    if endpoints.any(|endpoint| !endpoint.resource.custom || endpoint.version().name == version) {
        respond::status_error(&StatusError::no_such_path())
    } else {
        not_found()
    }
}
