//! A client for making manifests: it has a namespace and reaches nothing.

use http::{Request, Response};
use kube_client::{Client, client::Body};
use tower::service_fn;

/// A client without a server, for making a [`Manager`](crate::manager::Manager) of which only the manifests are written. `namespace` is
/// where the program is to run. Every request fails.
#[must_use]
pub fn offline_client(namespace: &str) -> Client {
    let refuse = service_fn(|request: Request<Body>| {
        let path = request.uri().path().to_owned();
        std::future::ready(Err::<Response<Body>, _>(Offline(path)))
    });
    Client::new(refuse, namespace)
}

#[derive(Debug, thiserror::Error)]
#[error("{0} was requested by a client that is only for making manifests")]
struct Offline(String);
