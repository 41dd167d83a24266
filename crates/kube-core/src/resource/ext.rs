//! Accessors of object metadata.

use std::{collections::BTreeMap, sync::LazyLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference, Time};

use super::Resource;

/// Accessors of the metadata of any [`Resource`]; absent collections are returned as empty.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::ResourceExt;
///
/// let mut cm: ConfigMap = serde_json::from_str(
///     r#"{"metadata": {"name": "settings", "namespace": "web", "uid": "f3a1", "resourceVersion": "12746",
///         "creationTimestamp": "2024-05-06T07:08:09Z", "managedFields": [{"manager": "kubectl"}]}}"#,
/// )?;
/// assert_eq!((cm.name_any(), cm.name_unchecked()), ("settings".into(), "settings".into()));
/// assert_eq!(cm.namespace().as_deref(), Some("web"));
/// assert_eq!((cm.uid().as_deref(), cm.resource_version().as_deref()), (Some("f3a1"), Some("12746")));
/// assert_eq!(cm.creation_timestamp().expect("stored").0.to_string(), "2024-05-06T07:08:09Z");
///
/// cm.labels_mut().insert("app".into(), "web".into());
/// assert_eq!(cm.labels()["app"], "web");
/// assert!(cm.annotations().is_empty());
/// cm.annotations_mut().insert("example.com/seen".into(), "yes".into());
///
/// cm.finalizers_mut().push("example.com/clean-up".into());
/// assert_eq!(cm.finalizers(), ["example.com/clean-up"]);
/// cm.owner_references_mut().retain(|owner| owner.kind != "Shop");
/// assert!(cm.owner_references().is_empty());
///
/// assert_eq!(cm.managed_fields().len(), 1);
/// cm.managed_fields_mut().clear();
///
/// assert_eq!(ConfigMap::default().name_any(), "");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait ResourceExt: Resource {
    /// The object's name.
    ///
    /// # Panics
    ///
    /// If it has none: never for objects from a server, always for objects with `generateName` that are not created yet.
    /// [`name_any`](Self::name_any) does not panic.
    fn name_unchecked(&self) -> String;

    /// The object's name, or its `generateName` prefix, or the empty string.
    fn name_any(&self) -> String;

    /// The namespace, `None` for cluster-scoped objects.
    fn namespace(&self) -> Option<String>;

    /// The resourceVersion, which the server sets at each change; `None` before the object is stored. Treat it as opaque:
    /// Kubernetes guarantees an increasing number only since 1.35.
    fn resource_version(&self) -> Option<String>;

    /// The uid: a later object of the same name has another one. `None` before the object is stored.
    fn uid(&self) -> Option<String>;

    /// The time of creation by the server's clock, in whole seconds; `None` before the object is stored.
    fn creation_timestamp(&self) -> Option<Time>;

    /// Labels: short values that selectors match.
    fn labels(&self) -> &BTreeMap<String, String>;

    /// Labels, to change them; an absent map is created.
    fn labels_mut(&mut self) -> &mut BTreeMap<String, String>;

    /// Annotations: arbitrary values, at most 256 KiB in total, not selectable.
    fn annotations(&self) -> &BTreeMap<String, String>;

    /// Annotations, to change them; an absent map is created.
    fn annotations_mut(&mut self) -> &mut BTreeMap<String, String>;

    /// References to the owners: the object is garbage collected when all of them are gone.
    fn owner_references(&self) -> &[OwnerReference];

    /// Owner references, to change them; an absent list is created.
    fn owner_references_mut(&mut self) -> &mut Vec<OwnerReference>;

    /// Finalizers: a deleted object remains until all of them are removed.
    fn finalizers(&self) -> &[String];

    /// Finalizers, to change them; an absent list is created.
    fn finalizers_mut(&mut self) -> &mut Vec<String>;

    /// The field ownership that the server records for server-side apply, usually the largest part of the metadata.
    fn managed_fields(&self) -> &[ManagedFieldsEntry];

    /// Managed fields, to change them; an absent list is created.
    ///
    /// Clearing them before caching objects saves much memory. In an update, an empty list leaves the server's record
    /// unchanged; in an apply patch the field must be `None`.
    fn managed_fields_mut(&mut self) -> &mut Vec<ManagedFieldsEntry>;
}

static EMPTY: LazyLock<BTreeMap<String, String>> = LazyLock::new(BTreeMap::new);

impl<K: Resource> ResourceExt for K {
    fn name_unchecked(&self) -> String {
        self.meta().name.clone().expect("the object has a name: it is from a server or has a name set")
    }

    fn name_any(&self) -> String {
        let meta = self.meta();
        meta.name.as_ref().or(meta.generate_name.as_ref()).cloned().unwrap_or_default()
    }

    fn namespace(&self) -> Option<String> {
        self.meta().namespace.clone()
    }

    fn resource_version(&self) -> Option<String> {
        self.meta().resource_version.clone()
    }

    fn uid(&self) -> Option<String> {
        self.meta().uid.clone()
    }

    fn creation_timestamp(&self) -> Option<Time> {
        self.meta().creation_timestamp.clone()
    }

    fn labels(&self) -> &BTreeMap<String, String> {
        self.meta().labels.as_ref().unwrap_or(&EMPTY)
    }

    fn labels_mut(&mut self) -> &mut BTreeMap<String, String> {
        self.meta_mut().labels.get_or_insert_default()
    }

    fn annotations(&self) -> &BTreeMap<String, String> {
        self.meta().annotations.as_ref().unwrap_or(&EMPTY)
    }

    fn annotations_mut(&mut self) -> &mut BTreeMap<String, String> {
        self.meta_mut().annotations.get_or_insert_default()
    }

    fn owner_references(&self) -> &[OwnerReference] {
        self.meta().owner_references.as_deref().unwrap_or_default()
    }

    fn owner_references_mut(&mut self) -> &mut Vec<OwnerReference> {
        self.meta_mut().owner_references.get_or_insert_default()
    }

    fn finalizers(&self) -> &[String] {
        self.meta().finalizers.as_deref().unwrap_or_default()
    }

    fn finalizers_mut(&mut self) -> &mut Vec<String> {
        self.meta_mut().finalizers.get_or_insert_default()
    }

    fn managed_fields(&self) -> &[ManagedFieldsEntry] {
        self.meta().managed_fields.as_deref().unwrap_or_default()
    }

    fn managed_fields_mut(&mut self) -> &mut Vec<ManagedFieldsEntry> {
        self.meta_mut().managed_fields.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, Pod};

    use super::ResourceExt;
    use crate::Resource;

    #[test]
    fn absent_collections_are_empty_and_created_on_change() {
        let mut pod = Pod::default();
        assert!(pod.labels().is_empty() && pod.annotations().is_empty() && pod.managed_fields().is_empty());
        assert!(pod.finalizers().is_empty() && pod.owner_references().is_empty());
        assert_eq!((pod.namespace(), pod.uid(), pod.resource_version()), (None, None, None));
        assert!(pod.creation_timestamp().is_none());
        pod.annotations_mut().insert("k".into(), "v".into());
        pod.finalizers_mut().push("f".into());
        pod.managed_fields_mut().push(Default::default());
        let owner = Namespace::default();
        pod.owner_references_mut().extend(owner.owner_ref(&()));
        assert_eq!((pod.annotations().len(), pod.finalizers().len(), pod.managed_fields().len()), (1, 1, 1));
        assert!(pod.owner_references().is_empty(), "an owner without a uid is none");
    }

    #[test]
    fn name_any_falls_back_to_generate_name() {
        let mut pod = Pod::default();
        pod.meta_mut().generate_name = Some("web-".into());
        assert_eq!(pod.name_any(), "web-");
        pod.meta_mut().name = Some("web-x".into());
        assert_eq!((pod.name_any(), pod.name_unchecked()), ("web-x".into(), "web-x".into()));
    }

    #[test]
    #[should_panic(expected = "the object has a name")]
    fn name_unchecked_panics_without_a_name() {
        Pod::default().name_unchecked();
    }
}
