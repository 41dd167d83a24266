//! What a server does not support for a kind, as its responses have shown: it is asked once, not with every request.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Client;

/// What a client asks of a server, and can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Optional {
    /// Lists as watches that first send the existing objects.
    StreamingLists,
    /// Other media types than JSON, and parameters of media types.
    MediaTypes,
}

/// What is known not to work. Clones are the same. One entry for each kind at most, as long as the client lives: what is done instead works
/// with every server, so a server that is upgraded meanwhile costs only the advantage.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsupported(Arc<Mutex<HashSet<(Optional, String)>>>);

impl Client {
    /// Whether the server does not support this for the kind of the collection at this path. For the watcher of `kube-runtime`.
    #[doc(hidden)]
    pub fn is_unsupported(&self, what: Optional, path: &str) -> bool {
        let unsupported = self.unsupported.0.lock();
        !unsupported.is_empty() && unsupported.contains(&(what, without_namespace(path)))
    }

    /// The server does not support this. For the watcher of `kube-runtime`.
    #[doc(hidden)]
    pub fn note_unsupported(&self, what: Optional, path: &str) {
        self.unsupported.0.lock().insert((what, without_namespace(path)));
    }
}

/// The path of the collection of all namespaces.
fn without_namespace(path: &str) -> String {
    let mut segments: Vec<&str> = path.split('/').collect();
    let namespaces = segments.iter().position(|segment| *segment == "namespaces");
    // Otherwise it is the collection of namespaces itself.
    if let Some(at) = namespaces.filter(|at| segments.len() > at + 2) {
        segments.drain(at..at + 2);
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};

    use super::*;
    use crate::body::Body;

    #[test]
    fn it_is_known_for_a_kind_in_all_namespaces_and_for_all_clones() {
        let server = tower::service_fn(|_: Request<Body>| async {
            Ok::<_, std::io::Error>(Response::new(Body::empty()))
        });
        let client = Client::new(server, "default");
        let clone = client.clone();
        clone.note_unsupported(Optional::StreamingLists, "/apis/example.org/v1/namespaces/web/pages");
        for (path, unsupported) in [
            ("/apis/example.org/v1/pages", true),
            ("/apis/example.org/v1/namespaces/shop/pages", true),
            ("/apis/example.org/v2/pages", false),
            ("/apis/example.org/v1/books", false),
            ("/api/v1/namespaces", false),
        ] {
            assert_eq!(client.is_unsupported(Optional::StreamingLists, path), unsupported, "{path}");
            assert!(!client.is_unsupported(Optional::MediaTypes, path));
        }
        client.note_unsupported(Optional::MediaTypes, "/api/v1/namespaces");
        assert!(clone.is_unsupported(Optional::MediaTypes, "/api/v1/namespaces"));
        assert!(
            !Client::new(
                tower::service_fn(|_: Request<Body>| async {
                    Ok::<_, std::io::Error>(Response::new(Body::empty()))
                }),
                "default"
            )
            .is_unsupported(Optional::MediaTypes, "/api/v1/namespaces")
        );
    }
}
