//! A script of requests.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use super::{
    input::Input,
    kinds::{BELOW, DEFINITION, DOCUMENTS, KINDS, Kind},
    mutate,
    words::{ACCEPTS, HEADERS, KEYS, TYPES, VALUES},
};

/// The largest number of requests.
const LONGEST: usize = 48;

/// The requests of these bytes: first creates, then all kinds. Deterministic.
pub(crate) fn requests(bytes: &[u8]) -> Vec<Request<Full<Bytes>>> {
    let mut input = Input(bytes);
    let mut requests = Vec::new();
    if !input.next().is_multiple_of(4) {
        requests.extend(create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION));
    }
    // Few kinds per script, so that requests meet objects of earlier ones.
    let few = [(); 4].map(|()| input.pick(&KINDS));
    for kind in few.iter().take(input.next() % 6) {
        requests.extend(create(kind.collection, kind.object));
    }
    while !input.0.is_empty() && requests.len() < LONGEST {
        let kind = if input.one_in(8) { input.pick(&KINDS) } else { input.pick(&few) };
        requests.extend(request(&mut input, kind));
    }
    requests
}

/// With the headers of a well-behaved client.
fn create(collection: &str, object: &str) -> Option<Request<Full<Bytes>>> {
    let request = Request::post(collection).header("content-type", "application/json");
    request.body(Full::new(object.to_owned().into())).ok()
}

/// `None` when the bytes do not form a valid HTTP request.
fn request(input: &mut Input<'_>, kind: Kind) -> Option<Request<Full<Bytes>>> {
    let (mut uri, below) = path(input, &kind);
    let method = method(input, &uri, below);
    for i in 0..(input.next() % 8).saturating_sub(3) {
        let glue = if i == 0 { '?' } else { '&' };
        let value = if input.one_in(9) { input.raw() } else { input.pick(&VALUES).replace(' ', "+") };
        uri.push_str(&format!("{glue}{}={value}", input.pick(&KEYS)));
    }
    if method == "GET" && input.one_in(6) {
        uri.push_str(if uri.contains('?') { "&watch=1" } else { "?watch=1" });
    }
    let (content_type, body) = body(input, method, &kind, below);
    let mut request = Request::builder().method(method).uri(uri);
    request =
        request.header("content-type", if input.one_in(12) { input.pick(&TYPES) } else { content_type });
    if input.one_in(3) {
        request = request.header("accept", input.pick(&ACCEPTS));
    }
    for _ in 0..(input.next() % 16).saturating_sub(12) {
        let (name, value) = input.pick(&HEADERS);
        request = request.header(name, value);
    }
    request.body(Full::new(body)).ok()
}

/// A path and its subresource; mostly valid.
fn path(input: &mut Input<'_>, kind: &Kind) -> (String, &'static str) {
    let mut path = match input.next() % 24 {
        0 => return (format!("/{}", input.raw()), ""),
        1 => return (input.pick(&DOCUMENTS).to_string(), ""),
        2 => kind.collection.replace("/namespaces/default", ""),
        3 => kind.collection.replace("/default/", "/nowhere/"),
        4 => kind.collection.replace("/v1/", "/v1beta1/"),
        _ => kind.collection.to_owned(),
    };
    if input.one_in(3) {
        return (path, "");
    }
    path = format!(
        "{path}/{}",
        input.pick(&["a", "a", "a", "b", "things.fuzz.io", "default", "none", "A%2fb", "%00"])
    );
    if kind.below.is_empty() || !input.one_in(3) {
        return (path, "");
    }
    let below = if input.one_in(16) { "nothing" } else { input.pick(kind.below) };
    (format!("{path}/{below}"), below)
}

fn method(input: &mut Input<'_>, path: &str, below: &str) -> &'static str {
    let last = path.rsplit('/').next().unwrap_or_default();
    match below {
        _ if input.one_in(12) => {
            input.pick(&["HEAD", "OPTIONS", "BREW", "TRACE", "CONNECT", "POST", "PUT", "PATCH", "DELETE"])
        }
        "eviction" | "binding" | "token" => "POST",
        "log" | "exec" | "attach" | "portforward" | "proxy" => input.pick(&["GET", "POST"]),
        "" if last.ends_with('s') => input.pick(&["GET", "GET", "POST", "POST", "POST", "DELETE"]),
        _ => input.pick(&["GET", "PUT", "PATCH", "PATCH", "PATCH", "PATCH", "DELETE"]),
    }
}

/// A body and its content type.
fn body(input: &mut Input<'_>, method: &str, kind: &Kind, below: &str) -> (&'static str, Bytes) {
    let wanted = if method == "DELETE" { "delete" } else { below };
    let object = BELOW.iter().find(|(name, _)| *name == wanted).map_or(kind.object, |(_, object)| *object);
    match (method, input.next() % 16) {
        ("GET" | "HEAD", 1..) => ("", Bytes::new()),
        ("DELETE", 0..8) => ("", Bytes::new()),
        (_, 0) => mutate::junk(input),
        ("PATCH", _) => mutate::patch(input, object),
        ("POST", 1) => ("application/vnd.kubernetes.protobuf", mutate::protobuf(input)),
        _ => mutate::object(input, object),
    }
}
