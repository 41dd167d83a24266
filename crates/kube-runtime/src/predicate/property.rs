//! The [`Predicate`] trait and its combinators.

use super::predicates::hash;

/// Hashes the property of an object whose changes matter.
///
/// Any `Fn(&K) -> Option<u64>` is a predicate, such as those in [`predicates`](super::predicates). `None` means that the
/// object does not have the property: such objects always pass a filter.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_runtime::{Predicate, predicates};
///
/// let spec_or_finalizers = predicates::generation.combine(predicates::finalizers);
/// assert!(spec_or_finalizers.hash_property(&Pod::default()).is_some());
/// ```
pub trait Predicate<K> {
    /// A hash of the property; `None` if the object does not have it.
    fn hash_property(&self, obj: &K) -> Option<u64>;

    /// Hashes both properties: an object passes when either has changed.
    fn combine<F: Predicate<K>>(self, f: F) -> Combine<Self, F>
    where
        Self: Sized,
    {
        Combine(self, f)
    }

    /// Hashes this property, or that of `f` for objects without this one.
    fn fallback<F: Predicate<K>>(self, f: F) -> Fallback<Self, F>
    where
        Self: Sized,
    {
        Fallback(self, f)
    }
}

impl<K, F: Fn(&K) -> Option<u64>> Predicate<K> for F {
    fn hash_property(&self, obj: &K) -> Option<u64> {
        self(obj)
    }
}

/// The combination of two properties: see [`Predicate::combine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combine<A, B>(A, B);

impl<A: Predicate<K>, B: Predicate<K>, K> Predicate<K> for Combine<A, B> {
    fn hash_property(&self, obj: &K) -> Option<u64> {
        match (self.0.hash_property(obj), self.1.hash_property(obj)) {
            (None, None) => None,
            both => Some(hash(both)),
        }
    }
}

/// The first property that the object has: see [`Predicate::fallback`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback<A, B>(A, B);

impl<A: Predicate<K>, B: Predicate<K>, K> Predicate<K> for Fallback<A, B> {
    fn hash_property(&self, obj: &K) -> Option<u64> {
        self.0.hash_property(obj).or_else(|| self.1.hash_property(obj))
    }
}
