//! Equality, display and conversions of references.

use super::*;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Node},
};

#[test]
fn references_are_equal_by_kind_name_and_namespace_only() {
    let mut one = ObjectRef::<ConfigMap>::new("a").within("x");
    one.extra.resource_version = Some("1".into());
    assert_eq!(one, ObjectRef::new("a").within("x"));
    assert_ne!(one, ObjectRef::new("a").within("y"));
    assert_ne!(one.erase(), ObjectRef::<Deployment>::new("a").within("x").erase());
}

#[test]
fn display_contains_kind_version_group_name_and_namespace() {
    assert_eq!(ObjectRef::<ConfigMap>::new("a").within("x").to_string(), "ConfigMap.v1/a.x");
    assert_eq!(ObjectRef::<Node>::new("n").erase().to_string(), "Node.v1/n");
}

#[test]
fn an_owner_reference_matches_by_group_and_kind_regardless_of_version() {
    let owner = |api_version: &str, kind: &str| OwnerReference {
        api_version: api_version.into(),
        kind: kind.into(),
        name: "web".into(),
        uid: "u".into(),
        ..Default::default()
    };
    let find = |owner| ObjectRef::<Deployment>::from_owner_ref(Some("ns"), &owner, ());
    let web = find(owner("apps/v1beta2", "Deployment")).unwrap();
    assert_eq!(web, ObjectRef::new("web").within("ns"));
    assert_eq!(web.extra.uid.as_deref(), Some("u"));
    assert!(find(owner("apps/v1", "StatefulSet")).is_none());
    assert!(find(owner("extensions/v1", "Deployment")).is_none());
    assert!(find(owner("v1", "Deployment")).is_none());
}
