//! Custom resource definitions: what the server refuses, prunes and validates.

use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, CustomResourceExt as _};
use serde_json::json;

use crate::widget::Widget;
use crate::world::{Need, answer, run};

#[test]
fn applying_the_same_crd_again_changes_nothing() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            use kube::api::{Patch, PatchParams};
            let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
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
fn a_crd_under_the_wrong_name_is_refused_by_field() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
            let mut crd = Widget::crd();
            crd.metadata.name = Some("gadgets.e2e.example.com".into());
            let status = answer(crds.create(&PostParams::default(), &crd).await)?;
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
fn an_object_that_breaks_its_schema_is_refused_by_field() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api: Api<DynamicObject> =
                Api::namespaced_with(world.client.clone(), &world.namespace, &Widget::api_resource());
            let item = if world.before(25) { "spec.tags" } else { "spec.tags[0]" };
            for (spec, field) in [
                (json!({ "size": "big" }), "spec.size"),
                (json!({}), "spec.size"),
                (json!({ "size": 1, "tags": [1] }), item),
            ] {
                let object =
                    DynamicObject::new("broken", &Widget::api_resource()).data(json!({ "spec": spec }));
                let status = answer(api.create(&PostParams::default(), &object).await)?;
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
    run(Need::Nothing, |world| {
        async move {
            let resource: ApiResource = Widget::api_resource();
            let api: Api<DynamicObject> =
                Api::namespaced_with(world.client.clone(), &world.namespace, &resource);
            let object = DynamicObject::new("pruned", &resource)
                .data(json!({ "spec": { "size": 1, "surplus": true }, "extra": 1 }));
            let made = api.create(&PostParams::default(), &object).await?;
            assert_eq!(made.data, json!({ "spec": { "size": 1 } }));
            Ok(())
        }
        .boxed()
    })
}
