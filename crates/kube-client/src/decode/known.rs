//! Objects that need not be decoded, because a cache has them.

use std::fmt;
use std::sync::Arc;

use kube_core::{DeserializeGuard, WatchEvent};

use super::read::catch_panic;
use super::split::ObjectVersion;

/// Finds the objects that a cache has already, by what identifies them, so that they are not decoded once more. By default none.
///
/// An object is taken from the cache if its uid and resourceVersion are the same, and [what was received](Self::if_same): a restored
/// storage uses versions again.
pub struct KnownObjects<K> {
    find: Option<Arc<Find<K>>>,
    note: Option<Arc<Note<K>>>,
}

type Find<K> = dyn Fn(&ObjectVersion<'_>, &[u8]) -> Option<K> + Send + Sync;
type Note<K> = dyn Fn(&mut K, &[u8]) + Send + Sync;

impl<K> KnownObjects<K> {
    /// `find` is called on any thread. It returns the object if the cache has it in this version. If it panics, the object is decoded.
    pub fn new(find: impl Fn(&ObjectVersion<'_>) -> Option<K> + Send + Sync + 'static) -> Self {
        Self { find: Some(Arc::new(move |version, _| find(version))), note: None }
    }

    /// The same objects, as `convert` returns them.
    pub fn map<T>(self, convert: impl Fn(K) -> T + Send + Sync + 'static) -> KnownObjects<T>
    where
        K: 'static,
    {
        let find = self.find.map(|find| {
            Arc::new(move |version: &ObjectVersion<'_>, content: &[u8]| find(version, content).map(&convert))
                as _
        });
        KnownObjects { find, note: None }
    }

    /// Only those of which `same` says that they were received with this content: the JSON without the type, which a list may leave out.
    #[must_use]
    pub fn if_same(self, same: impl Fn(&ObjectVersion<'_>, &[u8]) -> bool + Send + Sync + 'static) -> Self
    where
        K: 'static,
    {
        let find = self.find.map(|find| {
            Arc::new(move |version: &ObjectVersion<'_>, content: &[u8]| {
                find(version, content).filter(|_| same(version, content))
            }) as _
        });
        Self { find, ..self }
    }

    /// Tells each object the content with which it was received, in the sense of [`if_same`](Self::if_same). Not that of a deletion.
    #[must_use]
    pub fn noting(self, note: impl Fn(&mut K, &[u8]) + Send + Sync + 'static) -> Self {
        Self { note: Some(Arc::new(note)), ..self }
    }

    /// Finds nothing.
    #[must_use]
    pub fn only_noting(self) -> Self {
        Self { find: None, ..self }
    }

    /// Whether there is anything to look for.
    pub(super) fn any(&self) -> bool {
        self.find.is_some()
    }

    /// `json` is the object.
    pub(super) fn find(&self, version: &ObjectVersion<'_>, json: &[u8]) -> Option<K> {
        let find = self.find.as_ref()?;
        catch_panic(|| Ok(find(version, content(json)))).ok()?
    }

    /// Notes how an object was received.
    pub(super) fn note(&self, json: &[u8], object: &mut DeserializeGuard<K>) {
        if let (Some(note), Ok(object)) = (&self.note, &mut object.0) {
            note(object, content(json));
        }
    }

    /// Notes how the object of an event was received. Not of one that has another form than servers send.
    pub(super) fn note_event(&self, line: &[u8], event: &mut WatchEvent<DeserializeGuard<K>>) {
        if self.note.is_some()
            && let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
            && let Some(json) = object_of(line)
        {
            self.note(json, object);
        }
    }
}

/// The object of an event of the form that servers send, which adds it or changes it.
pub(super) fn object_of(line: &[u8]) -> Option<&[u8]> {
    const BEGINS: [&[u8]; 2] = [br#"{"type":"ADDED","object":"#, br#"{"type":"MODIFIED","object":"#];
    let object = BEGINS.iter().find_map(|begin| line.strip_prefix(*begin))?;
    object.trim_ascii_end().strip_suffix(b"}")
}

/// The fields of an object without its type if that comes first: lists of built-in kinds leave it out.
fn content(json: &[u8]) -> &[u8] {
    let mut fields = json.strip_prefix(b"{").unwrap_or(json);
    while let Some(rest) = without_type_field(fields) {
        fields = rest;
    }
    fields
}

fn without_type_field(fields: &[u8]) -> Option<&[u8]> {
    let value = fields.strip_prefix(br#""kind":""#).or_else(|| fields.strip_prefix(br#""apiVersion":""#))?;
    let end = memchr::memchr(b'"', value)?;
    value[end + 1..].strip_prefix(b",")
}

impl<K> Clone for KnownObjects<K> {
    fn clone(&self) -> Self {
        Self { find: self.find.clone(), note: self.note.clone() }
    }
}

impl<K> Default for KnownObjects<K> {
    fn default() -> Self {
        Self { find: None, note: None }
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
        assert_eq!((known.find(&version("a"), b""), known.find(&version("b"), b"")), (Some(1), None));
        assert_eq!(known.map(|one| one + 1).find(&version("a"), b""), Some(2));
        assert_eq!(KnownObjects::<u8>::default().find(&version("a"), b""), None);
    }

    #[test]
    fn an_object_is_unknown_if_its_lookup_panics() {
        assert_eq!(KnownObjects::<u8>::new(|_| panic!("of a test")).find(&version("a"), b""), None);
    }

    #[test]
    fn an_object_is_known_only_with_the_same_content() {
        let known = KnownObjects::new(|_| Some(1)).if_same(|_, content| content == br#""a":1}"#);
        let find = |json: &str| known.find(&version("a"), json.as_bytes());
        assert_eq!((find(r#"{"a":1}"#), find(r#"{"a":2}"#)), (Some(1), None));
        assert_eq!(find(r#"{"kind":"A","apiVersion":"v1","a":1}"#), Some(1), "a list leaves it out");
        assert_eq!(find(r#"{"apiVersion":"v1","kind":"A","a":1}"#), Some(1));
        assert_eq!(find(r#"{"name":"A","a":1}"#), None);
        assert_eq!(known.clone().only_noting().find(&version("a"), br#"{"a":1}"#), None);
    }

    #[test]
    fn objects_are_told_their_content_unless_they_are_deleted_or_in_another_form() {
        let known = KnownObjects::<String>::default()
            .noting(|object, content| *object = String::from_utf8_lossy(content).into_owned());
        let noted =
            |line: &str, event: fn(DeserializeGuard<String>) -> WatchEvent<DeserializeGuard<String>>| {
                let mut event = event(DeserializeGuard(Ok(String::new())));
                known.note_event(line.as_bytes(), &mut event);
                match event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => object.0.unwrap(),
                    other => panic!("{other:?}"),
                }
            };
        let object = r#"{"kind":"A","a":1}"#;
        let line = |kind: &str| format!(r#"{{"type":"{kind}","object":{object}}}"#);
        assert_eq!(noted(&line("ADDED"), WatchEvent::Added), r#""a":1}"#);
        assert_eq!(noted(&line("MODIFIED"), WatchEvent::Modified), r#""a":1}"#);
        assert_eq!(noted(&line("DELETED"), WatchEvent::Deleted), "");
        assert_eq!(noted(&format!(r#"{{"object":{object},"type":"ADDED"}}"#), WatchEvent::Added), "");
    }
}
