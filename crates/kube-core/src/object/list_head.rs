//! A list without its items.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Deserialize, Deserializer};

use crate::{
    fields::{self, Fields},
    type_meta::TypeMeta,
};

/// The fields of an [`ObjectList`](super::ObjectList) except its items. For the client, which decodes these one by one.
#[doc(hidden)]
#[derive(Debug)]
pub struct ListHead {
    /// As in an `ObjectList`.
    pub types: TypeMeta,
    /// As in an `ObjectList`.
    pub metadata: ListMeta,
}

impl<'de> Deserialize<'de> for ListHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl ListHead {
    fn read(fields: &Fields<'_>) -> Self {
        fields.require("items");
        if fields.has("items") {
            fields.objects("items");
        }
        let text = |name, any: &str| {
            let text = fields.get::<Option<String>>(name).unwrap_or_default();
            if text.is_empty() { any.to_owned() } else { text }
        };
        Self {
            types: TypeMeta { api_version: text("apiVersion", "v1"), kind: text("kind", "List") },
            metadata: fields.get::<Option<ListMeta>>("metadata").unwrap_or_default(),
        }
    }
}
