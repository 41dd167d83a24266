//! Without the feature `compact-cache`: all objects are kept decoded.

use crate::{
    controller::source::{namespaces::Apis, own::OwnSource},
    watcher,
};
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash};

impl<K> OwnSource<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Watches that fill a new store of the configured kind.
    pub(crate) fn configured(apis: Apis<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        Self::watches(apis, config, dyntype)
    }
}
