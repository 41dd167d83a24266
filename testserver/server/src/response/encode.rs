//! Encodes objects whole, as metadata, or as rows of a table.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Include, View, table::Columns};
use crate::{
    schema::golang,
    scheme::Endpoint,
    status_error::StatusError,
    storage::{EventType, Stored},
};

/// Encodes the objects of an endpoint, converted to its version, in one representation.
pub(crate) struct Encoder {
    view: View,
    endpoint: Endpoint,
    api_version: String,
    columns: Option<Columns>,
    /// The column definitions have been sent: a watch sends them once.
    columns_sent: bool,
}

impl Encoder {
    pub(crate) fn new(view: View, endpoint: Endpoint) -> Self {
        let columns = matches!(view, View::Table(_)).then(|| Columns::of(&endpoint)).flatten();
        Self { view, api_version: endpoint.api_version(), columns, endpoint, columns_sent: false }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Continues with a changed definition of the resource. The columns of a table stay those that were sent.
    pub(crate) fn set_endpoint(&mut self, endpoint: Endpoint) {
        self.endpoint = endpoint;
    }

    /// Whether the encoding depends on the time.
    pub(crate) fn shows_ages(&self) -> bool {
        self.columns.is_some()
    }

    /// Refuses to show an object as a list.
    pub(crate) fn check_object(&self) -> Result<(), StatusError> {
        match self.view {
            View::MetadataList if self.endpoint.resource.custom => {
                let why = "content is not a list";
                Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))
            }
            View::MetadataList => Err(no_list(golang::package(self.endpoint.group()), self.endpoint.kind())),
            _ => Ok(()),
        }
    }

    /// Refuses to show a list as an object.
    pub(crate) fn check_list(&self) -> Result<(), StatusError> {
        if self.view != View::Metadata {
            return Ok(());
        }
        let (package, kind) = match &self.endpoint.resource {
            resource if resource.custom => ("unstructured", "UnstructuredList"),
            resource => (golang::package(self.endpoint.group()), resource.list_kind.as_str()),
        };
        let why = "you requested PartialObjectMetadata, but the requested object is a list";
        Err(StatusError::not_acceptable(format!("{why} (*{package}.{kind})")))
    }

    /// Whether a watch has nothing to show: an event is no list.
    pub(crate) fn shows_no_event(&self) -> bool {
        self.view == View::MetadataList
    }

    /// Encodes an object that is not stored. `Status` is shown as it is.
    pub(crate) fn document(&self, document: Value) -> Result<Bytes, StatusError> {
        let text = |field: &str| document[field].as_str().unwrap_or_default();
        let representation = match self.view {
            View::Metadata if document["kind"] != "Status" => metadata_only(&document),
            View::MetadataList if document["kind"] != "Status" => {
                let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
                let package = if self.endpoint.resource.custom { "v1" } else { golang::package(group) };
                return Err(no_list(package, text("kind")));
            }
            _ => document,
        };
        Ok(representation.to_string().into())
    }

    /// Encodes an object. `now` is the reference of ages in tables.
    pub(crate) fn object(&self, object: &Stored, now: &str) -> Bytes {
        match self.view {
            View::Object => object.bytes(),
            View::Metadata | View::MetadataList => metadata_only(&object.value()).to_string().into(),
            View::Table(_) => {
                self.table([object], &object.revision.to_string(), Map::new(), now).to_string().into()
            }
        }
    }

    /// Encodes a list; `more` holds `continue` and `remainingItemCount`.
    pub(crate) fn list<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a Stored>,
        revision: &str,
        mut more: Map<String, Value>,
        now: &str,
    ) -> Bytes {
        if self.view != View::Object {
            // Custom resources have it, their transformed lists do not.
            more.retain(|_, value| value != "");
        }
        if let View::Table(_) = self.view {
            return self.table(objects, revision, more, now).to_string().into();
        }
        let (kind, api_version) = match self.view {
            View::Metadata | View::MetadataList => ("PartialObjectMetadataList", "meta.k8s.io/v1"),
            _ => (self.endpoint.resource.list_kind.as_str(), self.api_version.as_str()),
        };
        let mut objects = objects.into_iter().peekable();
        let mut out = Vec::with_capacity(1024);
        let head =
            json!({"kind": kind, "apiVersion": api_version, "metadata": list_metadata(revision, more)})
                .to_string();
        out.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
        if self.view == View::MetadataList && objects.peek().is_none() {
            out.extend_from_slice(b",\"items\":null}\n");
            return out.into();
        }
        out.extend_from_slice(b",\"items\":[");
        for (i, object) in objects.enumerate() {
            if i > 0 {
                out.push(b',');
            }
            self.item(object, &mut out);
        }
        out.extend_from_slice(b"]}\n");
        out.into()
    }

    /// Encodes a watch line, sharing the stored bytes where possible.
    pub(crate) fn event(&mut self, event: EventType, object: &Stored, now: &str) -> Bytes {
        if self.view == View::Object && event == object.event {
            return object.line();
        }
        let mut out = format!("{{\"type\":\"{}\",\"object\":", event.name()).into_bytes();
        out.extend_from_slice(&self.object(object, now));
        out.extend_from_slice(b"}\n");
        self.columns_sent = true;
        out.into()
    }

    /// Encodes a bookmark; the end of the initial events is annotated.
    pub(crate) fn bookmark(&mut self, revision: u64, ends_initial_events: bool) -> Bytes {
        let definitions = self.definitions();
        self.columns_sent = true;
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.view {
            View::Object => {
                json!({"kind": self.endpoint.kind(), "apiVersion": self.api_version, "metadata": metadata})
            }
            View::Metadata | View::MetadataList => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            View::Table(_) => {
                let row = json!({"cells": [], "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}});
                let metadata = json!({"resourceVersion": revision.to_string()});
                json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "columnDefinitions": definitions, "rows": [row]})
            }
        };
        format!("{}\n", json!({"type": "BOOKMARK", "object": object})).into()
    }

    fn item(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.view {
            View::Metadata | View::MetadataList => {
                out.extend_from_slice(metadata_only(&object.value()).to_string().as_bytes())
            }
            // Items of built-in lists have no type, those of custom resources do.
            _ if !self.endpoint.resource.custom => {
                out.push(b'{');
                out.extend_from_slice(&object.tail()[1..]);
            }
            _ => out.extend_from_slice(&object.bytes()),
        }
    }

    fn table<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a Stored>,
        revision: &str,
        more: Map<String, Value>,
        now: &str,
    ) -> Value {
        let rows: Vec<Value> = objects.into_iter().map(|object| self.row(object, now)).collect();
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": list_metadata(revision, more),
            "columnDefinitions": self.definitions(),
            "rows": rows,
        })
    }

    fn row(&self, object: &Stored, now: &str) -> Value {
        let value = object.value();
        let cells = self.columns.as_ref().map(|columns| columns.cells(&value, now)).unwrap_or_default();
        let mut row = json!({"cells": cells});
        match self.view {
            View::Table(Include::Metadata) => row["object"] = metadata_only(&value),
            View::Table(Include::Object) => row["object"] = value,
            _ => {}
        }
        row
    }

    fn definitions(&self) -> Value {
        let columns = self.columns.as_ref().filter(|_| !self.columns_sent);
        columns.map_or(Value::Null, |columns| columns.definitions().clone())
    }
}

fn no_list(package: &str, kind: &str) -> StatusError {
    let why = "you requested PartialObjectMetadataList, but the requested object is not a list";
    StatusError::not_acceptable(format!("{why} (*{package}.{kind})"))
}

fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn list_metadata(revision: &str, mut more: Map<String, Value>) -> Value {
    more.insert("resourceVersion".into(), revision.into());
    Value::Object(more)
}
