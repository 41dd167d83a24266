//! Identifiers of kinds and resources: group, version, and kind or resource name.

use std::str::FromStr;

use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
use serde::{Deserialize, Serialize};

use crate::{resource::api_version_from_group_version, type_meta::TypeMeta};

/// The text, which is the field, is no `apiVersion`. No text causes it at present: as in kube 5.0, parsing splits at the first slash, and
/// whether there is such a group and version is for the server to say.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse group version: {0}")]
pub struct ParseGroupVersionError(pub String);

/// Group, version and kind: `{"group": ..., "version": ..., "kind": ...}` on the wire.
///
/// Converts from [`TypeMeta`] and from owner and object references.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::{GroupVersionKind, TypeMeta};
///
/// let gvk = GroupVersionKind::gvk("apps", "v1", "Deployment");
/// assert_eq!(gvk.api_version(), "apps/v1");
/// assert_eq!(GroupVersionKind::try_from(TypeMeta::resource::<Deployment>())?, gvk);
/// assert_eq!(GroupVersionKind::gvk("", "v1", "Pod").api_version(), "v1");
/// # Ok::<(), kube_core::gvk::ParseGroupVersionError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// API group, empty for the core group.
    pub group: String,
    /// Version inside the group.
    pub version: String,
    /// Kind in singular and camel case.
    pub kind: String,
}

impl GroupVersionKind {
    /// From its three parts, which are not checked; the core group is the empty string.
    pub fn gvk(group_: &str, version_: &str, kind_: &str) -> Self {
        Self { group: group_.into(), version: version_.into(), kind: kind_.into() }
    }

    /// The `apiVersion` of objects of this kind: `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        join(&self.group, &self.version)
    }
}

/// An API group and version: the two parts of an `apiVersion`.
///
/// ```
/// use kube_core::GroupVersion;
/// let gv: GroupVersion = "apps/v1".parse()?;
/// assert_eq!(gv, GroupVersion::gv("apps", "v1"));
/// assert_eq!((gv.group.as_str(), gv.version.as_str()), ("apps", "v1"));
/// assert_eq!("v1".parse::<GroupVersion>()?.group, "");
/// assert_eq!(gv.api_version(), "apps/v1");
/// assert_eq!(gv.with_kind("Deployment").kind, "Deployment");
/// # Ok::<(), kube_core::gvk::ParseGroupVersionError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
pub struct GroupVersion {
    /// API group, empty for the core group.
    pub group: String,
    /// Version inside the group.
    pub version: String,
}

impl GroupVersion {
    /// From its two parts, which are not checked; the core group is the empty string.
    pub fn gv(group_: &str, version_: &str) -> Self {
        Self { group: group_.into(), version: version_.into() }
    }

    /// Adds a kind, such as `Deployment`.
    pub fn with_kind(self, kind: &str) -> GroupVersionKind {
        GroupVersionKind { group: self.group, version: self.version, kind: kind.into() }
    }

    /// The `apiVersion`: `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        join(&self.group, &self.version)
    }
}

impl FromStr for GroupVersion {
    type Err = ParseGroupVersionError;

    /// Splits `group/version` at the first slash; text without one is a version of the core group. Nothing is refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        Ok(Self::gv(group, version))
    }
}

/// Group, version and resource name: `{"group": ..., "version": ..., "resource": ...}` on the wire.
///
/// ```
/// use kube_core::GroupVersionResource;
/// let gvr = GroupVersionResource::gvr("apps", "v1", "deployments");
/// assert_eq!(serde_json::to_string(&gvr)?, r#"{"group":"apps","version":"v1","resource":"deployments"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
pub struct GroupVersionResource {
    /// API group, empty for the core group.
    pub group: String,
    /// Version inside the group.
    pub version: String,
    /// Resource name: lower case and plural.
    pub resource: String,
}

impl GroupVersionResource {
    /// From its three parts, which are not checked; the core group is the empty string.
    pub fn gvr(group_: &str, version_: &str, resource_: &str) -> Self {
        Self { group: group_.into(), version: version_.into(), resource: resource_.into() }
    }
}

impl TryFrom<&TypeMeta> for GroupVersionKind {
    type Error = ParseGroupVersionError;

    fn try_from(types: &TypeMeta) -> Result<Self, Self::Error> {
        Ok(types.api_version.parse::<GroupVersion>()?.with_kind(&types.kind))
    }
}

impl TryFrom<TypeMeta> for GroupVersionKind {
    type Error = ParseGroupVersionError;

    fn try_from(types: TypeMeta) -> Result<Self, Self::Error> {
        Self::try_from(&types)
    }
}

impl From<OwnerReference> for GroupVersionKind {
    fn from(owner: OwnerReference) -> Self {
        from_reference(&owner.api_version, owner.kind)
    }
}

impl From<ObjectReference> for GroupVersionKind {
    /// Absent parts of the reference become empty.
    fn from(object: ObjectReference) -> Self {
        from_reference(object.api_version.as_deref().unwrap_or_default(), object.kind.unwrap_or_default())
    }
}

fn from_reference(api_version: &str, kind: String) -> GroupVersionKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    GroupVersionKind { group: group.into(), version: version.into(), kind }
}

fn join(group: &str, version: &str) -> String {
    api_version_from_group_version(group.into(), version.into()).into_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
    use proptest::prelude::*;

    use super::{GroupVersion, GroupVersionKind, GroupVersionResource};
    use crate::type_meta::TypeMeta;

    /// As in kube 5.0; client-go refuses the last two.
    #[test]
    fn any_text_is_split_at_its_first_slash() {
        for (text, group, version) in [
            ("", "", ""),
            ("v1", "", "v1"),
            ("/v1", "", "v1"),
            ("apps/", "apps", ""),
            ("a/b/c", "a", "b/c"),
            ("a//c", "a", "/c"),
        ] {
            let gv: GroupVersion = text.parse().expect("never refused");
            assert_eq!((gv.group.as_str(), gv.version.as_str()), (group, version), "{text}");
        }
    }

    #[test]
    fn converts_from_types_and_references() {
        let expected = GroupVersionKind::gvk("apps", "v1", "Deployment");
        let types = TypeMeta { api_version: "apps/v1".into(), kind: "Deployment".into() };
        assert_eq!(GroupVersionKind::try_from(&types).expect("valid"), expected);
        assert_eq!(GroupVersionKind::try_from(types).expect("valid"), expected);
        assert_eq!(
            GroupVersionKind::try_from(TypeMeta::default()).expect("valid"),
            GroupVersionKind::gvk("", "", "")
        );
        let (api_version, kind) = ("apps/v1".to_owned(), "Deployment".to_owned());
        let owner = OwnerReference {
            api_version: api_version.clone(),
            kind: kind.clone(),
            ..OwnerReference::default()
        };
        assert_eq!(GroupVersionKind::from(owner), expected);
        let object = ObjectReference {
            api_version: Some(api_version),
            kind: Some(kind),
            ..ObjectReference::default()
        };
        assert_eq!(GroupVersionKind::from(object), expected);
        let core = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            ..Default::default()
        };
        assert_eq!(GroupVersionKind::from(core), GroupVersionKind::gvk("", "v1", "Pod"));
        assert_eq!(GroupVersionKind::from(ObjectReference::default()), GroupVersionKind::gvk("", "", ""));
    }

    #[test]
    fn resources_round_trip_through_json() {
        let gvr = GroupVersionResource::gvr("apps", "v1", "deployments");
        let json = serde_json::to_value(&gvr).expect("valid");
        assert_eq!(json, serde_json::json!({"group": "apps", "version": "v1", "resource": "deployments"}));
        assert_eq!(serde_json::from_value::<GroupVersionResource>(json).expect("valid"), gvr);
    }

    proptest! {
        #[test]
        fn api_versions_round_trip(group in "[a-z.]{0,8}", version in "[a-z0-9]{1,8}") {
            let gv = GroupVersion::gv(&group, &version);
            prop_assert_eq!(gv.api_version().parse::<GroupVersion>().expect("printed"), gv.clone());
            prop_assert_eq!(gv.clone().with_kind("K").api_version(), gv.api_version());
        }

        #[test]
        fn a_parsed_api_version_prints_as_its_text(text in "[a-z/]{0,6}|\\PC{0,6}") {
            let gv: GroupVersion = text.parse().expect("never refused");
            prop_assert_eq!(gv.api_version(), text.strip_prefix('/').unwrap_or(&text));
        }
    }
}
