//! How server-side apply merges lists, maps and structs.

use serde::{Deserialize, Serialize};

/// How appliers share a list: `x-kubernetes-list-type`. Without it a list is atomic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListMerge {
    /// One applier owns the whole list; an apply replaces it.
    Atomic,
    /// A list of scalars without duplicates; each item has its own owners.
    Set,
    /// A list of objects with the given key fields (at least one, required or with a default; `x-kubernetes-list-map-keys`).
    Map(Vec<String>),
}

/// How appliers share a map: `x-kubernetes-map-type`. Without it a map is granular.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapMerge {
    /// One applier owns the whole map; an apply replaces it.
    Atomic,
    /// Each entry has its own owners.
    Granular,
}

/// How appliers share a struct: `x-kubernetes-struct-type`. A CRD has one key for maps and structs, so
/// `StructuralSchemaRewriter` writes `x-kubernetes-map-type` there. Without it a struct is granular.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StructMerge {
    /// One applier owns the whole struct; an apply replaces it.
    Atomic,
    /// Each field has its own owners.
    Granular,
}

/// How appliers share a part of an object, by the type of that part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MergeStrategy {
    /// A list.
    #[serde(rename = "x-kubernetes-list-type")]
    ListType(ListMerge),
    /// A map.
    #[serde(rename = "x-kubernetes-map-type")]
    MapType(MapMerge),
    /// A struct.
    #[serde(rename = "x-kubernetes-struct-type")]
    StructType(StructMerge),
}

impl From<ListMerge> for MergeStrategy {
    fn from(merge: ListMerge) -> Self {
        Self::ListType(merge)
    }
}

impl From<MapMerge> for MergeStrategy {
    fn from(merge: MapMerge) -> Self {
        Self::MapType(merge)
    }
}

impl From<StructMerge> for MergeStrategy {
    fn from(merge: StructMerge) -> Self {
        Self::StructType(merge)
    }
}
