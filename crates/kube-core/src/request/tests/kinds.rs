//! The paths of all sorts of kinds, and names in them.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Node, Pod},
    rbac::v1::ClusterRole,
};

use super::show;
use crate::{
    ApiResource, DynamicObject, GroupVersionKind, NotUsed, Object, PartialObjectMeta, Request, Resource,
    params::GetParams,
};

fn get<K: Resource>(dt: &K::DynamicType, namespace: Option<&str>, name: &str) -> String {
    let shown = show(Request::new(K::url_path(dt, namespace)).get(name, &GetParams::default()));
    let (first, headers) = shown.split_once('\n').expect("has headers");
    assert_eq!(headers, "accept: application/json");
    first.to_owned()
}

#[test]
fn core_grouped_and_cluster_wide_kinds() {
    assert_eq!(get::<Pod>(&(), Some("web"), "a"), "GET /api/v1/namespaces/web/pods/a");
    assert_eq!(get::<Pod>(&(), None, "a"), "GET /api/v1/pods/a");
    assert_eq!(get::<Deployment>(&(), Some("web"), "a"), "GET /apis/apps/v1/namespaces/web/deployments/a");
    assert_eq!(get::<Node>(&(), None, "a"), "GET /api/v1/nodes/a");
    assert_eq!(
        get::<PartialObjectMeta<Deployment>>(&(), Some("web"), "a"),
        "GET /apis/apps/v1/namespaces/web/deployments/a"
    );
}

#[test]
fn kinds_known_at_run_time() {
    let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1beta1", "Policy"));
    let expected = "GET /apis/example.com/v1beta1/namespaces/web/policies/a";
    assert_eq!(get::<DynamicObject>(&ar, Some("web"), "a"), expected);
    assert_eq!(get::<Object<NotUsed, NotUsed>>(&ar, Some("web"), "a"), expected);
    assert_eq!(get::<PartialObjectMeta>(&ar, Some("web"), "a"), expected);
    assert_eq!(get::<DynamicObject>(&ar, None, "a"), "GET /apis/example.com/v1beta1/policies/a");
    let core = ApiResource::erase::<Pod>(&());
    assert_eq!(get::<DynamicObject>(&core, Some("web"), "a"), "GET /api/v1/namespaces/web/pods/a");
}

#[test]
fn names_that_need_encoding() {
    let name = |name| get::<ClusterRole>(&(), None, name);
    let base = "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/";
    assert_eq!(name("system:controller:x"), format!("{base}system:controller:x"));
    assert_eq!(name("a b?c#d"), format!("{base}a%20b%3Fc%23d"));
    assert_eq!(name("größe"), format!("{base}gr%C3%B6%C3%9Fe"));
    assert_eq!(name("..."), format!("{base}..."));
    assert_eq!(get::<Pod>(&(), Some("a b"), "x"), "GET /api/v1/namespaces/a%20b/pods/x");
}
