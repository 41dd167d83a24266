use serde_json::json;

use super::World;
use crate::{ids, store::Key};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl World {
    /// The objects that every cluster has from its first second.
    pub(super) fn bootstrap(&mut self) {
        let namespaces = self.registry.by_plural("", "namespaces").map(|endpoint| endpoint.resource.clone());
        let namespaces = namespaces.expect("invariant: namespaces are in the table of built-in kinds");
        for name in NAMESPACES {
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    "uid": ids::uid(),
                    "creationTimestamp": self.now(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            self.put(&namespaces, Key::new(None, name), namespace);
        }
    }
}
