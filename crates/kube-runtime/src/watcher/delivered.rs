//! What a watch has delivered of each object, as hashes of the received bytes. No I/O.
//!
//! A uid and a resourceVersion tell the state of an object within one history of the storage only, and after a restore nothing may show
//! that the history is another one. Equal bytes mean equal objects.

use super::CollectionEvent;
use crate::capacity::release;
use hashbrown::{DefaultHashBuilder, HashMap};
use kube_core::Resource;
use parking_lot::Mutex;
use std::hash::BuildHasher;

/// A hash of an object as received. Only hashes of one [`Delivered`] can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentHash(u64);

/// An object of which the watch knows how it was received.
pub(super) trait Received: Resource {
    /// `None` if it was received in an unusual form.
    fn content_hash(&self) -> Option<ContentHash>;

    fn set_content_hash(&mut self, hash: ContentHash);
}

/// The content of the objects that the consumer of a watch has, by uid: 16 bytes for each.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    hasher: DefaultHashBuilder,
    contents: Mutex<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    visible: HashMap<u64, ContentHash>,
    /// Those of the running list. They become visible when it is complete, as in a store.
    listed: Option<HashMap<u64, ContentHash>>,
}

impl Delivered {
    pub(super) fn hash(&self, content: &[u8]) -> ContentHash {
        ContentHash(self.hasher.hash_one(content))
    }

    /// Whether the consumer has the object of this uid with this content.
    pub(super) fn has(&self, uid: Option<&str>, content: &[u8]) -> bool {
        let Some(uid) = uid else { return false };
        let delivered = self.contents.lock().visible.get(&self.hasher.hash_one(uid)).copied();
        delivered.is_some_and(|delivered| delivered == self.hash(content))
    }

    /// Notes an event that the consumer gets.
    pub(super) fn observe<K: Received>(&self, event: &CollectionEvent<K>) {
        let key = |uid: Option<&str>| uid.map(|uid| self.hasher.hash_one(uid));
        let of = |object: &K| (key(object.meta().uid.as_deref()), object.content_hash());
        let mut contents = self.contents.lock();
        match event {
            CollectionEvent::Init => contents.listed = Some(HashMap::new()),
            CollectionEvent::InitApply(object) | CollectionEvent::Apply(object) => {
                let (key, hash) = of(object);
                let in_list = matches!(event, CollectionEvent::InitApply(_));
                contents.set(key, hash, in_list);
            }
            CollectionEvent::Synced { .. } => {
                if let Some(listed) = contents.listed.take() {
                    contents.visible = listed;
                }
            }
            CollectionEvent::Delete(object) => contents.remove(of(object).0),
            // Its last readable state stays, and is not its present one.
            CollectionEvent::Undecodable(object) => contents.remove(key(object.uid.as_deref())),
            CollectionEvent::Progress { .. } | CollectionEvent::Closed => {}
        }
    }
}

impl Contents {
    fn set(&mut self, key: Option<u64>, hash: Option<ContentHash>, in_list: bool) {
        let Self { visible, listed } = self;
        for table in listed.iter_mut().chain((!in_list).then_some(visible)) {
            match (key, hash) {
                (Some(key), Some(hash)) => {
                    table.insert(key, hash);
                }
                (Some(key), None) => {
                    table.remove(&key);
                }
                (None, _) => {}
            }
        }
    }

    fn remove(&mut self, key: Option<u64>) {
        let Some(key) = key else { return };
        for table in self.listed.iter_mut().chain([&mut self.visible]) {
            table.remove(&key);
            release(table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{UndecodableObject, arc_object::ArcObject},
        *,
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::sync::Arc;

    type Event = CollectionEvent<ArcObject<ConfigMap>>;

    fn object(delivered: &Delivered, uid: &str, content: &str) -> ArcObject<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.uid = Some(uid.into());
        let mut object = ArcObject::new(Arc::new(map));
        object.set_content_hash(delivered.hash(content.as_bytes()));
        object
    }

    fn synced() -> Event {
        CollectionEvent::Synced { resource_version: "5".into() }
    }

    #[test]
    fn the_consumer_has_what_was_delivered_last() {
        let delivered = Delivered::default();
        let has = |uid, content: &str| delivered.has(Some(uid), content.as_bytes());
        let listed = |uid, content| CollectionEvent::InitApply(object(&delivered, uid, content));
        for event in [CollectionEvent::Init, listed("a", "1"), listed("b", "1"), synced()] {
            assert!(!has("a", "1"), "the list is not complete");
            delivered.observe(&event);
        }
        assert!(has("a", "1") && has("b", "1") && !has("a", "2") && !has("c", "1"));
        assert!(!delivered.has(None, b"1"));
        delivered.observe(&CollectionEvent::Apply(object(&delivered, "a", "2")));
        assert!(has("a", "2") && !has("a", "1"));
        delivered.observe(&CollectionEvent::Delete(object(&delivered, "a", "2")));
        assert!(!has("a", "2") && has("b", "1"));
        let unread =
            UndecodableObject { uid: Some("b".into()), ..UndecodableObject::named(None, "b", "odd") };
        delivered.observe(&Event::Undecodable(unread));
        assert!(!has("b", "1"));
    }

    #[test]
    fn a_list_that_breaks_off_changes_nothing_and_a_complete_one_replaces_all() {
        let delivered = Delivered::default();
        let has = |uid, content: &str| delivered.has(Some(uid), content.as_bytes());
        let listed = |uid, content| CollectionEvent::InitApply(object(&delivered, uid, content));
        for event in [CollectionEvent::Init, listed("a", "1"), listed("b", "1"), synced()] {
            delivered.observe(&event);
        }
        for event in [CollectionEvent::Init, listed("a", "2"), CollectionEvent::Init] {
            delivered.observe(&event);
            assert!(has("a", "1") && has("b", "1") && !has("a", "2"));
        }
        delivered.observe(&listed("b", "1"));
        delivered.observe(&synced());
        assert!(!has("a", "1") && !has("a", "2") && has("b", "1"));
        assert_eq!(delivered.contents.lock().visible.len(), 1);
    }

    #[test]
    fn an_object_of_unusual_form_is_not_known() {
        let delivered = Delivered::default();
        delivered.observe(&CollectionEvent::Apply(object(&delivered, "a", "1")));
        let unusual = ArcObject { content_hash: None, ..object(&delivered, "a", "1") };
        delivered.observe(&CollectionEvent::Apply(unusual));
        assert!(!delivered.has(Some("a"), b"1"));
    }
}
