//! `apiVersion` and `kind` of objects on the wire.

use serde::{Deserialize, Serialize};

use crate::resource::Resource;

/// The `apiVersion` and `kind` of an object on the wire. Decoding requires both.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::TypeMeta;
///
/// assert_eq!(TypeMeta::resource::<Pod>().kind, "Pod");
/// assert_eq!(TypeMeta::list::<Pod>().kind, "PodList");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeMeta {
    /// `group/version`, or the version alone in the core group.
    pub api_version: String,
    /// The kind in singular and camel case, such as `ConfigMap`.
    pub kind: String,
}

impl TypeMeta {
    /// The type of a list of `K`, whose kind has the suffix `List`.
    pub fn list<K: Resource<DynamicType = ()>>() -> Self {
        Self { api_version: K::api_version(&()).into_owned(), kind: format!("{}List", K::kind(&())) }
    }

    /// The type of `K` itself.
    pub fn resource<K: Resource<DynamicType = ()>>() -> Self {
        Self { api_version: K::api_version(&()).into_owned(), kind: K::kind(&()).into_owned() }
    }

    /// A type if the wire had both parts.
    pub(crate) fn from_parts(api_version: Option<String>, kind: Option<String>) -> Option<Self> {
        Some(Self { api_version: api_version?, kind: kind? })
    }
}
