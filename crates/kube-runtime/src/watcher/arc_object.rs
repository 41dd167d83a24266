//! An object as a store shares it.

use super::delivered::{ContentHash, Received};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::{Deserialize, Deserializer};
use std::{borrow::Cow, sync::Arc};

/// A decoded object, or one that a store already has.
#[derive(Clone, Debug)]
pub(super) struct ArcObject<K> {
    pub(super) object: Arc<K>,
    pub(super) content_hash: Option<ContentHash>,
}

impl<K> ArcObject<K> {
    pub(super) fn new(object: Arc<K>) -> Self {
        Self { object, content_hash: None }
    }
}

impl<K: Resource + Clone> Received for ArcObject<K> {
    fn content_hash(&self) -> Option<ContentHash> {
        self.content_hash
    }

    fn set_content_hash(&mut self, hash: ContentHash) {
        self.content_hash = Some(hash);
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for ArcObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::deserialize(deserializer).map(|object| Self::new(Arc::new(object)))
    }
}

/// For the watcher, which looks only at the metadata.
impl<K: Resource + Clone> Resource for ArcObject<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dyntype: &K::DynamicType) -> Cow<'_, str> {
        K::kind(dyntype)
    }

    fn group(dyntype: &K::DynamicType) -> Cow<'_, str> {
        K::group(dyntype)
    }

    fn version(dyntype: &K::DynamicType) -> Cow<'_, str> {
        K::version(dyntype)
    }

    fn plural(dyntype: &K::DynamicType) -> Cow<'_, str> {
        K::plural(dyntype)
    }

    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        Arc::make_mut(&mut self.object).meta_mut()
    }
}
