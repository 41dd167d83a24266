//! The objects of the server, serialized once.

use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::pods::pod;
use crate::case::{Kind, Objects};

pub(super) struct Collection {
    pub(super) list_kind: &'static str,
    /// All objects, each followed by a comma.
    objects: Bytes,
    /// The offset of each object in `objects`, and the end of the last one.
    bounds: Vec<usize>,
    /// All objects as ADDED events, one per line.
    pub(super) events: Bytes,
    /// The number of open connections.
    pub(super) connections: AtomicUsize,
    /// Notified when watches have to fail with 410.
    pub(super) expire: Notify,
}

impl Collection {
    pub(super) fn of(objects: &Objects) -> Self {
        let (kind, list_kind, make): (_, _, fn(usize) -> Value) = match objects.kind {
            Kind::Pods => ("Pod", "PodList", pod),
            Kind::ConfigMaps => ("ConfigMap", "ConfigMapList", config_map),
        };
        let head = format!(r#"{{"type":"ADDED","object":{{"kind":"{kind}","apiVersion":"v1","#);
        let (mut all, mut bounds, mut events) = (Vec::new(), vec![0], Vec::new());
        for index in 0..objects.count {
            let object = make(index).to_string();
            all.extend_from_slice(object.as_bytes());
            all.push(b',');
            bounds.push(all.len());
            events.extend_from_slice(head.as_bytes());
            events.extend_from_slice(&object.as_bytes()[1..]);
            events.extend_from_slice(b"}\n");
        }
        let (connections, expire) = (AtomicUsize::new(0), Notify::new());
        Self { list_kind, objects: all.into(), bounds, events: events.into(), connections, expire }
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The JSON of these objects, separated by commas.
    pub(super) fn range(&self, from: usize, to: usize) -> Bytes {
        let (start, end) = (self.bounds[from], self.bounds[to]);
        self.objects.slice(start..if start == end { end } else { end - 1 })
    }
}

fn config_map(index: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("object-{index}"),
            "namespace": "default",
            "uid": format!("5a1f6c0e-0000-4000-8000-{index:012}"),
            "resourceVersion": (1000 + index).to_string(),
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": format!("i-{}", index % 7)},
        },
        "data": {"key": "value", "text": "x".repeat(600)},
    })
}
