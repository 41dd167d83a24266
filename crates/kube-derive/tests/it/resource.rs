//! `#[derive(Resource)]`: a custom type of an existing kind.

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_core::{DynamicObject, NamespaceResourceScope, Resource};

#[derive(kube_derive::Resource, Default)]
#[resource(inherit = ConfigMap, crates(kube_core = kube_core))]
struct Slim {
    metadata: ObjectMeta,
}

#[derive(kube_derive::Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::ConfigMap", crates(kube_core = "kube_core"))]
enum Either<T: Clone> {
    Slim { metadata: ObjectMeta },
    Full { metadata: ObjectMeta, data: T },
}

/// Inherits a kind that is only known at run time.
#[derive(kube_derive::Resource)]
#[resource(inherit = DynamicObject, crates(kube_core = kube_core))]
struct Any {
    metadata: ObjectMeta,
}

#[test]
fn kind_and_scope_are_inherited() {
    fn namespaced<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>() {}
    namespaced::<Slim>();
    assert_eq!(
        (Slim::kind(&()), Slim::version(&()), Slim::group(&())),
        ("ConfigMap".into(), "v1".into(), "".into())
    );
    assert_eq!(Either::<u8>::url_path(&(), Some("ns")), "/api/v1/namespaces/ns/configmaps");
    let secret = kube_core::ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
    assert_eq!(Any::plural(&secret), "secrets");
    assert!(Any { metadata: ObjectMeta::default() }.meta().name.is_none());
}

#[test]
fn metadata_is_that_of_the_type_itself() {
    let mut slim = Slim::default();
    slim.meta_mut().name = Some("a".into());
    assert_eq!(slim.meta().name.as_deref(), Some("a"));
    for mut either in [
        Either::Slim { metadata: ObjectMeta::default() },
        Either::Full { metadata: ObjectMeta::default(), data: 1 },
    ] {
        either.meta_mut().name = Some("b".into());
        assert_eq!(either.meta().name.as_deref(), Some("b"));
        if let Either::Full { data, .. } = either {
            assert_eq!(data, 1);
        }
    }
}
