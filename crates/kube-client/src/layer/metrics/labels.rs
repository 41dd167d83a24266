use http::{Method, Request};
use metrics::SharedString;

/// What all metrics of a request have in common.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    pub(super) verb: SharedString,
    pub(super) host: SharedString,
}

impl Labels {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let host = uri.host().unwrap_or_default();
        let host = match uri.port_u16() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Self { verb: verb(request.method()), host: host.into() }
    }
}

fn verb(method: &Method) -> SharedString {
    for (known, name) in [
        (Method::GET, "GET"),
        (Method::POST, "POST"),
        (Method::PUT, "PUT"),
        (Method::PATCH, "PATCH"),
        (Method::DELETE, "DELETE"),
    ] {
        if *method == known {
            return name.into();
        }
    }
    method.as_str().to_owned().into()
}
