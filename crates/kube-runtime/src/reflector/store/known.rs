//! Finding the objects that a store has already by their JSON, so that a list does not decode them once more.

use super::{shared::ObjectVersion, writer::Writer};
use crate::reflector::Lookup;
use kube_client::client::KnownObjects;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::{fmt, hash::Hash, sync::Arc};

impl<K> Writer<K>
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    /// The visible objects of the store, for the watch that fills it.
    pub(crate) fn known_objects(&self) -> KnownObjects<Arc<K>> {
        KnownObjects::new(self.find_by_json())
    }

    fn find_by_json(&self) -> impl Fn(&[u8]) -> Option<Arc<K>> + Send + Sync + use<K> {
        let shared = Arc::clone(self.shared());
        move |json| {
            if shared.is_empty() {
                return None; // the first list: no object need be looked for
            }
            shared.in_state(&version_of(json)?)
        }
    }
}

/// Reads the version of an object from its JSON, and no further than to the end of its metadata. Servers send the metadata first, and
/// `managedFields`, its largest part, last for built-in kinds; for custom resources before the name.
fn version_of(json: &[u8]) -> Option<ObjectVersion<'_>> {
    let mut found = Found::default();
    // It ends with an error where enough was read.
    let _ = Metadata(&mut found).deserialize(&mut serde_json::Deserializer::from_slice(json));
    let Found { namespace, name, uid, resource_version } = found;
    Some(ObjectVersion { namespace, name: name?, uid, resource_version: resource_version? })
}

#[derive(Default)]
struct Found<'a> {
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    uid: Option<&'a str>,
    resource_version: Option<&'a str>,
}

/// Reads an object up to the end of its metadata.
struct Metadata<'f, 'de>(&'f mut Found<'de>);

/// Reads the metadata, up to the last of the four fields.
struct Fields<'f, 'de>(&'f mut Found<'de>);

impl<'de> DeserializeSeed<'de> for Metadata<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> DeserializeSeed<'de> for Fields<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metadata<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<&str>()? {
            if key == "metadata" {
                return map.next_value_seed(Fields(self.0)).and(Err(enough()));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Fields<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(found) = self;
        while let Some(key) = map.next_key::<&str>()? {
            match key {
                "namespace" => found.namespace = map.next_value()?,
                "name" => found.name = map.next_value()?,
                "uid" => found.uid = map.next_value()?,
                "resourceVersion" => found.resource_version = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            // Servers send the namespace before the uid.
            if found.name.is_some() && found.uid.is_some() && found.resource_version.is_some() {
                return Err(enough());
            }
        }
        Ok(())
    }
}

fn enough<E: Error>() -> E {
    E::custom("the rest need not be read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reflector::{ObjectRef, store::store},
        watcher::{Event, UndecodableObject},
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    fn state(json: &str) -> Option<(Option<&str>, &str, Option<&str>, &str)> {
        let ObjectVersion { namespace, name, uid, resource_version } = version_of(json.as_bytes())?;
        Some((namespace, name, uid, resource_version))
    }

    #[test]
    fn the_state_is_read_from_the_metadata_and_no_further() {
        let built_in = r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"5","labels"#;
        assert_eq!(state(built_in), Some((Some("ns"), "a", Some("u"), "5")));
        let custom = r#"{"apiVersion":"a/v1","kind":"A","metadata":{"managedFields":[{"f:name":{}}],"name":"a",
            "namespace":"ns","resourceVersion":"5","uid":"u"},"spec":{"metadata":{"uid":"other"}}} {"#;
        assert_eq!(state(custom), Some((Some("ns"), "a", Some("u"), "5")));
        let no_uid = r#"{"metadata":{"resourceVersion":"5","uid":null,"name":"a"},"#;
        assert_eq!(state(no_uid), Some((None, "a", None, "5")));
    }

    #[test]
    fn the_visible_object_is_known_in_its_state_unless_a_later_one_exists() {
        let object = |version: &str| -> ConfigMap {
            let metadata = json!({ "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version });
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let (store, mut writer) = store();
        let known = writer.find_by_json();
        let find = |version: &str| known(serde_json::to_string(&object(version)).unwrap().as_bytes());
        assert!(find("1").is_none(), "the store is empty");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        assert!(find("2").is_none());
        let stored = store.get(&ObjectRef::new("a").within("ns")).unwrap();
        assert!(find("1").is_some_and(|found| Arc::ptr_eq(&found, &stored)));
        assert!(
            known(br#"{"metadata":{"name":"a","namespace":"ns","uid":"other","resourceVersion":"1"}}"#)
                .is_none()
        );
        assert!(
            known(br#"{"metadata":{"name":"a","namespace":"else","uid":"u","resourceVersion":"1"}}"#)
                .is_none()
        );
        writer.apply_watcher_event(&Event::Apply(object("")));
        assert!(find("").is_none(), "an empty version identifies no state");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        let later = UndecodableObject {
            namespace: Some("ns".into()),
            name: "a".into(),
            uid: Some("u".into()),
            resource_version: Some("2".into()),
            deleted: false,
            error: "odd".into(),
        };
        writer.undecodable(&later);
        assert!(find("1").is_none(), "a restored storage may have another state with this version");
        writer.apply_watcher_event(&Event::Apply(object("1")));
        assert!(find("1").is_some());
    }

    #[test]
    fn an_object_without_a_readable_state_is_none() {
        for json in [
            "",
            "[]",
            "{}",
            r#"{"metadata":5}"#,
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":7,"resourceVersion":"5"}}"#,
            r#"{"metadata":{"name":"escaped\n","resourceVersion":"5"}}"#,
            r#"{"metadata":{"resourceVersion":"5"}}"#,
        ] {
            assert_eq!(state(json), None, "{json}");
        }
    }
}
