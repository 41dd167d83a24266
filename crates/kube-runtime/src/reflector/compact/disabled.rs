//! Without the feature `compact-cache`: no store is compact. What reads one compiles, and is never called.

use crate::reflector::{
    Index, Lookup,
    store::{Shared, Undecodable},
};
use kube_core::Selector;
use std::{
    borrow::{Borrow, Cow},
    hash::Hash,
    marker::PhantomData,
    sync::Arc,
};

/// An object as a compact cache keeps it. There is none.
#[derive(Clone, Debug)]
pub(crate) enum CompactObject {}

impl Lookup for CompactObject {
    type DynamicType = ();

    fn kind((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        match *self {}
    }

    fn namespace(&self) -> Option<Cow<'_, str>> {
        match *self {}
    }

    fn resource_version(&self) -> Option<Cow<'_, str>> {
        match *self {}
    }

    fn uid(&self) -> Option<Cow<'_, str>> {
        match *self {}
    }
}

/// The objects of a compact cache. There is none.
pub(crate) struct CompactCache<K> {
    pub(in crate::reflector) shared: Arc<Shared<CompactObject>>,
    never: CompactObject,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for CompactCache<K> {
    fn clone(&self) -> Self {
        match self.never {}
    }
}

impl<K: Lookup + 'static> CompactCache<K> {
    pub(in crate::reflector) fn dyntype(&self) -> &K::DynamicType {
        match self.never {}
    }

    pub(crate) fn decode(&self, object: &CompactObject) -> Result<Arc<K>, Undecodable> {
        match *object {}
    }

    pub(in crate::reflector) fn decode_found(
        &self,
        _object: Option<Arc<CompactObject>>,
    ) -> Result<Option<Arc<K>>, Undecodable> {
        match self.never {}
    }

    pub(in crate::reflector) fn decode_all(
        &self,
        _objects: Vec<Arc<CompactObject>>,
    ) -> std::iter::Empty<Arc<K>> {
        match self.never {}
    }

    pub(in crate::reflector) fn selected_by(&self, _selector: &Selector) -> Vec<Arc<K>> {
        match self.never {}
    }

    pub(in crate::reflector) fn by_index<T, Q>(&self, _index: &Index<K, T>, _key: &Q) -> Vec<Arc<K>>
    where
        T: Borrow<Q> + Eq + Hash + 'static,
        Q: Eq + Hash + ?Sized,
    {
        match self.never {}
    }

    pub(in crate::reflector) fn add_index<T: 'static>(&self, _index: &Index<K, T>) {
        match self.never {}
    }
}

/// What compact caches of several clusters share: nothing, because there are none.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    _private: (),
}

impl Dictionaries {
    /// A cluster.
    #[must_use]
    pub fn contributor(&self) -> Contributor {
        Contributor
    }

    /// There is none.
    #[must_use]
    pub fn may_have_text(&self, _text: &str) -> bool {
        false
    }

    /// Never ends.
    pub async fn keep_renewed(&self) {
        std::future::pending().await
    }
}

/// A cluster that has no compact caches.
#[derive(Clone, Debug)]
pub struct Contributor;

impl Contributor {
    /// Calls it.
    pub fn scope<T>(&self, make: impl FnOnce() -> T) -> T {
        make()
    }

    /// Does nothing.
    pub fn renew(&self) {}

    /// Does nothing.
    pub fn leave(&self) {}
}
