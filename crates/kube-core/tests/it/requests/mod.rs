//! The requests of every verb and subresource, and the parameters that are rejected.

mod every;
mod rejected;
mod verbs;

use kube_core::request::Error;

/// A request as text: method and target, sorted headers, and the body.
pub(super) fn show(request: Result<http::Request<Vec<u8>>, Error>) -> String {
    let request = request.expect("the parameters are valid");
    let mut lines = vec![format!("{} {}", request.method(), request.uri())];
    let mut headers: Vec<_> =
        request.headers().iter().map(|(k, v)| format!("{k}: {}", v.to_str().expect("ASCII"))).collect();
    headers.sort();
    lines.append(&mut headers);
    if !request.body().is_empty() {
        lines.push(String::from_utf8(request.body().clone()).expect("UTF-8"));
    }
    lines.join("\n")
}

/// The reason why a request is rejected.
pub(super) fn rejection(request: Result<http::Request<Vec<u8>>, Error>) -> String {
    match request.expect_err("the parameters are not valid") {
        Error::Validation(why) => why,
        other => panic!("another error: {other:?}"),
    }
}
