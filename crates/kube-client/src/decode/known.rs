//! Objects that need not be decoded, because a cache has them.

use std::fmt;
use std::sync::Arc;

use super::read::catch_panic;
use super::split::ObjectVersion;

/// Finds the objects that a cache has already, by what identifies them, so that they are not decoded once more. By default none.
///
/// An object is taken from the cache if its uid and resourceVersion are the same. This holds within one history of the server's storage:
/// a watcher that sees the history rewound has to go on without this lookup.
pub struct KnownObjects<K> {
    find: Option<Arc<Find<K>>>,
}

type Find<K> = dyn Fn(&ObjectVersion<'_>) -> Option<K> + Send + Sync;

impl<K> KnownObjects<K> {
    /// `find` is called on any thread. It returns the object if the cache has it in this version. If it panics, the object is decoded.
    pub fn new(find: impl Fn(&ObjectVersion<'_>) -> Option<K> + Send + Sync + 'static) -> Self {
        Self { find: Some(Arc::new(find)) }
    }

    /// The same objects, as `convert` returns them.
    pub fn map<T>(self, convert: impl Fn(K) -> T + Send + Sync + 'static) -> KnownObjects<T>
    where
        K: 'static,
    {
        KnownObjects {
            find: self
                .find
                .map(|find| Arc::new(move |version: &ObjectVersion<'_>| find(version).map(&convert)) as _),
        }
    }

    /// Whether there is anything to look for.
    pub(super) fn any(&self) -> bool {
        self.find.is_some()
    }

    pub(super) fn find(&self, version: &ObjectVersion<'_>) -> Option<K> {
        let find = self.find.as_ref()?;
        catch_panic(|| Ok(find(version))).ok()?
    }
}

impl<K> Clone for KnownObjects<K> {
    fn clone(&self) -> Self {
        Self { find: self.find.clone() }
    }
}

impl<K> Default for KnownObjects<K> {
    fn default() -> Self {
        Self { find: None }
    }
}

impl<K> fmt::Debug for KnownObjects<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownObjects").field("any", &self.any()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str) -> ObjectVersion<'_> {
        ObjectVersion { namespace: None, name, uid: None, resource_version: "5" }
    }

    #[test]
    fn objects_are_found_by_their_version() {
        let known = KnownObjects::new(|version| (version.name == "a").then_some(1));
        assert_eq!((known.find(&version("a")), known.find(&version("b"))), (Some(1), None));
        assert_eq!(known.map(|one| one + 1).find(&version("a")), Some(2));
        assert_eq!(KnownObjects::<u8>::default().find(&version("a")), None);
    }

    #[test]
    fn an_object_is_unknown_if_its_lookup_panics() {
        assert_eq!(KnownObjects::<u8>::new(|_| panic!("of a test")).find(&version("a")), None);
    }
}
