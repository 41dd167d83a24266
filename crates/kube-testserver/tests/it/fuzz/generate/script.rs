//! A script of requests.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use super::{
    kinds::{BELOW, DEFINITION, DOCUMENTS, KINDS, Kind},
    mutate,
    tape::Tape,
    words::{ACCEPTS, HEADERS, KEYS, TYPES, VALUES},
};

/// No script is longer.
const LONGEST: usize = 48;

/// The requests that these bytes stand for: some that make things, then all sorts. The same bytes always stand for the same
/// requests.
pub(crate) fn requests(bytes: &[u8]) -> Vec<Request<Full<Bytes>>> {
    let mut tape = Tape(bytes);
    let mut requests = Vec::new();
    if !tape.next().is_multiple_of(4) {
        requests.extend(create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION));
    }
    // Few kinds in one script, so that requests meet what earlier ones have left.
    let few = [(); 4].map(|()| tape.pick(&KINDS));
    for kind in few.iter().take(tape.next() % 6) {
        requests.extend(create(kind.collection, kind.object));
    }
    while !tape.0.is_empty() && requests.len() < LONGEST {
        let kind = if tape.one_in(8) { tape.pick(&KINDS) } else { tape.pick(&few) };
        requests.extend(request(&mut tape, kind));
    }
    requests
}

/// As a careful client does it.
fn create(collection: &str, object: &str) -> Option<Request<Full<Bytes>>> {
    let request = Request::post(collection).header("content-type", "application/json");
    request.body(Full::new(object.to_owned().into())).ok()
}

/// `None` when the bytes make no request that could be sent.
fn request(tape: &mut Tape<'_>, kind: Kind) -> Option<Request<Full<Bytes>>> {
    let (mut uri, below) = path(tape, &kind);
    let method = method(tape, &uri, below);
    for i in 0..(tape.next() % 8).saturating_sub(3) {
        let glue = if i == 0 { '?' } else { '&' };
        let value = if tape.one_in(9) { tape.raw() } else { tape.pick(&VALUES).replace(' ', "+") };
        uri.push_str(&format!("{glue}{}={value}", tape.pick(&KEYS)));
    }
    if method == "GET" && tape.one_in(6) {
        uri.push_str(if uri.contains('?') { "&watch=1" } else { "?watch=1" });
    }
    let (content_type, body) = body(tape, method, &kind, below);
    let mut request = Request::builder().method(method).uri(uri);
    request = request.header("content-type", if tape.one_in(12) { tape.pick(&TYPES) } else { content_type });
    if tape.one_in(3) {
        request = request.header("accept", tape.pick(&ACCEPTS));
    }
    for _ in 0..(tape.next() % 16).saturating_sub(12) {
        let (name, value) = tape.pick(&HEADERS);
        request = request.header(name, value);
    }
    request.body(Full::new(body)).ok()
}

/// A path, and what it names below an object; mostly a good one.
fn path(tape: &mut Tape<'_>, kind: &Kind) -> (String, &'static str) {
    let mut path = match tape.next() % 24 {
        0 => return (format!("/{}", tape.raw()), ""),
        1 => return (tape.pick(&DOCUMENTS).to_string(), ""),
        2 => kind.collection.replace("/namespaces/default", ""),
        3 => kind.collection.replace("/default/", "/nowhere/"),
        4 => kind.collection.replace("/v1/", "/v1beta1/"),
        _ => kind.collection.to_owned(),
    };
    if tape.one_in(3) {
        return (path, "");
    }
    path = format!(
        "{path}/{}",
        tape.pick(&["a", "a", "a", "b", "things.fuzz.io", "default", "none", "A%2fb", "%00"])
    );
    if kind.below.is_empty() || !tape.one_in(3) {
        return (path, "");
    }
    let below = if tape.one_in(16) { "nothing" } else { tape.pick(kind.below) };
    (format!("{path}/{below}"), below)
}

fn method(tape: &mut Tape<'_>, path: &str, below: &str) -> &'static str {
    let last = path.rsplit('/').next().unwrap_or_default();
    match below {
        _ if tape.one_in(12) => {
            tape.pick(&["HEAD", "OPTIONS", "BREW", "TRACE", "CONNECT", "POST", "PUT", "PATCH", "DELETE"])
        }
        "eviction" | "binding" | "token" => "POST",
        "log" | "exec" | "attach" | "portforward" | "proxy" => tape.pick(&["GET", "POST"]),
        "" if last.ends_with('s') => tape.pick(&["GET", "GET", "POST", "POST", "POST", "DELETE"]),
        _ => tape.pick(&["GET", "PUT", "PATCH", "PATCH", "PATCH", "PATCH", "DELETE"]),
    }
}

/// A body and the content type that fits it.
fn body(tape: &mut Tape<'_>, method: &str, kind: &Kind, below: &str) -> (&'static str, Bytes) {
    let wanted = if method == "DELETE" { "delete" } else { below };
    let object = BELOW.iter().find(|(name, _)| *name == wanted).map_or(kind.object, |(_, object)| *object);
    match (method, tape.next() % 16) {
        ("GET" | "HEAD", 1..) => ("", Bytes::new()),
        ("DELETE", 0..8) => ("", Bytes::new()),
        (_, 0) => mutate::junk(tape),
        ("PATCH", _) => mutate::patch(tape, object),
        ("POST", 1) => ("application/vnd.kubernetes.protobuf", mutate::protobuf(tape)),
        _ => mutate::object(tape, object),
    }
}
