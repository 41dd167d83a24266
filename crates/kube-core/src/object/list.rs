//! Lists of objects as a server returns them.

use std::{fmt, marker::PhantomData, slice, vec};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::DefaultTypes;
use crate::type_meta::TypeMeta;

/// A list as a server returns it, or one page of it if the request has a limit:
/// `{"apiVersion": ..., "kind": "PodList", "metadata": {...}, "items": [...]}`.
///
/// In lists of built-in kinds the items have no `apiVersion` and `kind`. They are filled in if the list's own kind precedes
/// `items`, as servers send it. `items: null` decodes as empty.
///
/// ```
/// use kube_core::{DynamicObject, ObjectList, ResourceExt};
///
/// let mut page: ObjectList<DynamicObject> = serde_json::from_str(
///     r#"{"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "next", "remainingItemCount": 7},
///         "items": [{"metadata": {"name": "front-0"}}]}"#,
/// )?;
/// assert_eq!(page.metadata.continue_.as_deref(), Some("next"));
/// for pod in &page {
///     assert_eq!(pod.name_any(), "front-0");
///     assert_eq!(pod.types.as_ref().map(|types| types.kind.as_str()), Some("Pod"));
/// }
/// page.iter_mut().for_each(|pod| pod.managed_fields_mut().clear());
/// assert!(page.iter().all(|pod| pod.managed_fields().is_empty()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ObjectList<T>
where
    T: Clone,
{
    /// The type of the list, such as `v1` `PodList`; `v1` `List` if the wire had none.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The resourceVersion to start a watch from, the continue token of the next page (absent or empty on the last), and the
    /// number of remaining items.
    pub metadata: ListMeta,
    /// The objects; servers order them by namespace and name.
    pub items: Vec<T>,
}

impl<T: Clone> ObjectList<T> {
    /// Iterates over the objects in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Iterates over the objects in the order of the list, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }
}

impl<T: Clone> IntoIterator for ObjectList<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a ObjectList<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut ObjectList<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

/// The fields of an [`ObjectList`] except its items. For the client, which decodes these one by one.
#[doc(hidden)]
#[derive(Debug, Deserialize)]
#[serde(from = "ObjectList<IgnoredAny>")]
pub struct ListHead {
    /// As in an `ObjectList`.
    pub types: TypeMeta,
    /// As in an `ObjectList`.
    pub metadata: ListMeta,
}

impl From<ObjectList<IgnoredAny>> for ListHead {
    fn from(list: ObjectList<IgnoredAny>) -> Self {
        Self { types: list.types, metadata: list.metadata }
    }
}

impl<'de, T> Deserialize<'de> for ObjectList<T>
where
    T: Clone + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T> Visitor<'de> for ListVisitor<T>
where
    T: Clone + Deserialize<'de>,
{
    type Value = ObjectList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectList<T>, A::Error> {
        let (mut types, mut metadata, mut items) = (TypeMeta::default(), None, None);
        let text = Option::unwrap_or_default;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => types.api_version = map.next_value().map(text)?,
                "kind" => types.kind = map.next_value().map(text)?,
                "metadata" => metadata = map.next_value::<Option<ListMeta>>()?,
                "items" => items = Some(map.next_value_seed(ItemsSeed::<T>::of(&types))?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let items = items.ok_or_else(|| A::Error::missing_field("items"))?;
        for (field, any) in [(&mut types.api_version, "v1"), (&mut types.kind, "List")] {
            if field.is_empty() {
                any.clone_into(field);
            }
        }
        Ok(ObjectList { types, metadata: metadata.unwrap_or_default(), items })
    }
}

/// Decodes the items, with the type that the list implies as default.
struct ItemsSeed<T> {
    defaults: DefaultTypes,
    item: PhantomData<T>,
}

impl<T> ItemsSeed<T> {
    fn of(list: &TypeMeta) -> Self {
        Self { defaults: DefaultTypes::of_list(list), item: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ItemsSeed<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemsSeed<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of Kubernetes objects or null")
    }

    fn visit_none<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        // The hint comes from the input, so it is capped: it must not control how much is allocated.
        let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = seq.next_element_seed(self.defaults.seed())? {
            items.push(item);
        }
        Ok(items)
    }
}
