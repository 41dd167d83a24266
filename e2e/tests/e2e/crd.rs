//! Custom resource definitions: what the server rejects, prunes and validates.

use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, CustomResourceExt as _};
use serde_json::json;

use crate::test_env::{Requires, rejection, run};
use crate::widget::Widget;

#[test]
fn applying_the_same_crd_again_changes_nothing() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            use kube::api::{Patch, PatchParams};
            let crds: Api<CustomResourceDefinition> = Api::all(env.client.clone());
            let before = crds.get(Widget::crd_name()).await?;
            let params = PatchParams::apply("e2e").force();
            let after = crds.patch(Widget::crd_name(), &params, &Patch::Apply(Widget::crd())).await?;
            assert_eq!(after.metadata.generation, before.metadata.generation);
            assert_eq!(after.spec, before.spec);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_crd_with_a_wrong_name_is_rejected_with_the_field() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let crds: Api<CustomResourceDefinition> = Api::all(env.client.clone());
            let mut crd = Widget::crd();
            crd.metadata.name = Some("gadgets.e2e.example.com".into());
            let status = rejection(crds.create(&PostParams::default(), &crd).await)?;
            assert!(status.is_invalid() && status.code == 422, "{status:?}");
            let fields: Vec<_> =
                status.details.iter().flat_map(|d| &d.causes).map(|cause| cause.field.as_str()).collect();
            assert!(fields.contains(&"metadata.name"), "{fields:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_object_that_violates_its_schema_is_rejected_with_the_field() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api: Api<DynamicObject> =
                Api::namespaced_with(env.client.clone(), &env.namespace, &Widget::api_resource());
            let item = if env.older_than(25) { "spec.tags" } else { "spec.tags[0]" };
            for (spec, field) in [
                (json!({ "size": "big" }), "spec.size"),
                (json!({}), "spec.size"),
                (json!({ "size": 1, "tags": [1] }), item),
            ] {
                let object =
                    DynamicObject::new("broken", &Widget::api_resource()).data(json!({ "spec": spec }));
                let status = rejection(api.create(&PostParams::default(), &object).await)?;
                assert!(status.is_invalid() && status.code == 422, "{status:?}");
                let fields: Vec<_> =
                    status.details.iter().flat_map(|d| &d.causes).map(|cause| cause.field.as_str()).collect();
                assert!(fields.contains(&field), "expected {field} among {fields:?}: {}", status.message);
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn unknown_fields_are_pruned() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let resource: ApiResource = Widget::api_resource();
            let api: Api<DynamicObject> = Api::namespaced_with(env.client.clone(), &env.namespace, &resource);
            let object = DynamicObject::new("pruned", &resource)
                .data(json!({ "spec": { "size": 1, "surplus": true }, "extra": 1 }));
            let created = api.create(&PostParams::default(), &object).await?;
            assert_eq!(created.data, json!({ "spec": { "size": 1 } }));
            Ok(())
        }
        .boxed()
    })
}
