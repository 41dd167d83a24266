//! What a server does not support for a kind, as its responses have shown: it is asked once, not with every request.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// What a client asks of a server, and can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Optional {
    /// Lists as watches that first send the existing objects.
    StreamingLists,
    /// Other media types than JSON, and parameters of media types.
    MediaTypes,
}

/// What is known not to work. Clones are the same. One entry for each kind at most, as long as the client leads to one cluster: what is
/// done instead works with every server, so a server that is upgraded meanwhile costs only the advantage.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsupported(Arc<Mutex<InCluster>>);

#[derive(Debug, Default)]
struct InCluster {
    /// The number of the cluster that this is known of.
    cluster: u64,
    unsupported: HashSet<(Optional, String)>,
}

impl Unsupported {
    /// Whether the server of this cluster does not support this for the kind of the collection at this path.
    pub(super) fn has(&self, cluster: u64, what: Optional, path: &str) -> bool {
        let known = self.0.lock();
        known.cluster == cluster
            && !known.unsupported.is_empty()
            && known.unsupported.contains(&(what, without_namespace(path)))
    }

    pub(super) fn note(&self, cluster: u64, what: Optional, path: &str) {
        let mut known = self.0.lock();
        if known.cluster != cluster {
            *known = InCluster { cluster, ..InCluster::default() };
        }
        known.unsupported.insert((what, without_namespace(path)));
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
    use super::*;

    #[test]
    fn it_is_known_for_a_kind_in_all_namespaces_and_for_all_clones() {
        let unsupported = Unsupported::default();
        let clone = unsupported.clone();
        clone.note(0, Optional::StreamingLists, "/apis/example.org/v1/namespaces/web/pages");
        for (path, expected) in [
            ("/apis/example.org/v1/pages", true),
            ("/apis/example.org/v1/namespaces/shop/pages", true),
            ("/apis/example.org/v2/pages", false),
            ("/apis/example.org/v1/books", false),
            ("/api/v1/namespaces", false),
        ] {
            assert_eq!(unsupported.has(0, Optional::StreamingLists, path), expected, "{path}");
            assert!(!unsupported.has(0, Optional::MediaTypes, path));
        }
        unsupported.note(0, Optional::MediaTypes, "/api/v1/namespaces");
        assert!(clone.has(0, Optional::MediaTypes, "/api/v1/namespaces"));
        assert!(!clone.has(1, Optional::MediaTypes, "/api/v1/namespaces"), "another cluster");
        clone.note(1, Optional::MediaTypes, "/api/v1/pods");
        assert!(!clone.has(0, Optional::MediaTypes, "/api/v1/namespaces"));
    }
}
