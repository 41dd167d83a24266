//! Objects that need not be decoded, because the caller has them.

use std::fmt;
use std::sync::Arc;

use super::catch_panic::catch_panic;

/// Finds objects that the caller has already, by their JSON, so that they are not decoded once more. By default none.
pub struct KnownObjects<K> {
    find: Option<Arc<Find<K>>>,
}

type Find<K> = dyn Fn(&[u8]) -> Option<K> + Send + Sync;

impl<K> KnownObjects<K> {
    /// `find` is called, on any thread, with text that begins with the JSON of an object; more may follow. It returns the object if it
    /// has it in this state. If it panics, the object is decoded.
    pub fn new(find: impl Fn(&[u8]) -> Option<K> + Send + Sync + 'static) -> Self {
        Self { find: Some(Arc::new(find)) }
    }

    /// The same objects, as `convert` returns them.
    pub fn map<T>(self, convert: impl Fn(K) -> T + Send + Sync + 'static) -> KnownObjects<T>
    where
        K: 'static,
    {
        KnownObjects {
            find: self.find.map(|find| Arc::new(move |json: &[u8]| find(json).map(&convert)) as _),
        }
    }

    pub(super) fn find(&self, json: &[u8]) -> Option<K> {
        let find = self.find.as_ref()?;
        catch_panic(|| Ok(find(json))).ok()?
    }

    /// The same for the line of a watch event. Only events that begin as servers send them are looked at.
    pub(super) fn find_added(&self, line: &[u8]) -> Option<K> {
        self.find(line.strip_prefix(br#"{"type":"ADDED","object":"#)?)
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
        f.debug_struct("KnownObjects").field("any", &self.find.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_their_json_alone_and_in_events() {
        let known = KnownObjects::new(|json| (json.starts_with(b"{\"a\"")).then_some(1));
        assert_eq!((known.find(b"{\"a\":1}"), known.find(b"{}")), (Some(1), None));
        assert_eq!(known.find_added(br#"{"type":"ADDED","object":{"a":1}}"#), Some(1));
        for other in [r#"{"type":"DELETED","object":{"a":1}}"#, r#"{"object":{"a":1},"type":"ADDED"}"#, ""] {
            assert_eq!(known.find_added(other.as_bytes()), None, "{other}");
        }
        assert_eq!(known.map(|one| one + 1).find(b"{\"a\":1}"), Some(2));
        assert_eq!(KnownObjects::<u8>::default().find(b"{\"a\":1}"), None);
    }

    #[test]
    fn an_object_is_unknown_if_its_lookup_panics() {
        assert_eq!(KnownObjects::<u8>::new(|_| panic!("of a test")).find(b"{}"), None);
    }
}
