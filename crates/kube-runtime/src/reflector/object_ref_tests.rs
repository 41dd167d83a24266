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
    assert_eq!(ObjectRef::<ConfigMap>::new("a").within("x").to_string(), "ConfigMap.v1./a.x");
    assert_eq!(ObjectRef::<Node>::new("n").erase().to_string(), "Node.v1./n");
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

#[test]
fn a_resource_is_looked_up_under_its_own_names() {
    assert_eq!(<Deployment as Lookup>::plural(&()), "deployments");
    assert_eq!(<Deployment as Lookup>::api_version(&()), "apps/v1");
    assert_eq!(<Node as Lookup>::api_version(&()), "v1");
}

/// A type of a user: only the group is described at run time.
struct Small;

impl Lookup for Small {
    type DynamicType = &'static str;

    fn kind(_: &&'static str) -> Cow<'static, str> {
        "Small".into()
    }

    fn group(group: &&'static str) -> Cow<'static, str> {
        (*group).into()
    }

    fn version(_: &&'static str) -> Cow<'static, str> {
        "v2".into()
    }

    fn plural(_: &&'static str) -> Cow<'static, str> {
        "smalls".into()
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        None
    }

    fn namespace(&self) -> Option<Cow<'_, str>> {
        None
    }

    fn resource_version(&self) -> Option<Cow<'_, str>> {
        None
    }

    fn uid(&self) -> Option<Cow<'_, str>> {
        None
    }
}

#[test]
fn the_api_version_joins_group_and_version() {
    assert_eq!(Small::api_version(&"x.y"), "x.y/v2");
    assert_eq!(Small::api_version(&""), "v2");
}

#[test]
fn an_object_reference_has_everything_that_is_known() {
    let mut web = ObjectRef::<Deployment>::new("web").within("ns");
    web.extra.resource_version = Some("7".into());
    web.extra.uid = Some("u".into());
    let reference = ObjectReference {
        api_version: Some("apps/v1".into()),
        kind: Some("Deployment".into()),
        field_path: None,
        name: Some("web".into()),
        namespace: Some("ns".into()),
        resource_version: Some("7".into()),
        uid: Some("u".into()),
    };
    assert_eq!(ObjectReference::from(web), reference);
}

#[test]
fn hash_and_debug_follow_the_identity() {
    let hash = |name: &str| {
        let mut hasher = std::hash::DefaultHasher::new();
        ObjectRef::<ConfigMap>::new(name).hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash("a"), hash("a"));
    assert_ne!(hash("a"), hash("b"));
    let shown = format!("{:?}", ObjectRef::<ConfigMap>::new("a").within("x"));
    assert!(shown.contains(r#"name: "a""#) && shown.contains(r#"namespace: Some("x")"#), "{shown}");
}
