//! An object as a store shares it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::{Deserialize, Deserializer};
use std::{borrow::Cow, sync::Arc};

/// A decoded object, or one that a store already has.
#[derive(Clone, Debug)]
pub(super) struct ArcObject<K>(pub(super) Arc<K>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for ArcObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::deserialize(deserializer).map(|object| Self(Arc::new(object)))
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
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        Arc::make_mut(&mut self.0).meta_mut()
    }
}
