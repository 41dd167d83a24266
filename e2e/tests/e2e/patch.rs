//! The four patch types, and field ownership of server-side apply.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container};
use kube::ResourceExt as _;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::test_env::{Requires, rejection, run};
use crate::widget::{Widget, widget};

#[test]
fn a_merge_patch_changes_and_removes_fields() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("merged", 1);
            object.spec.color = Some("red".into());
            api.create(&PostParams::default(), &object).await?;
            let patch = Patch::Merge(json!({ "spec": { "size": 2, "color": null } }));
            let patched = api.patch("merged", &PatchParams::default(), &patch).await?;
            assert_eq!((patched.spec.size, patched.spec.color), (2, None));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_json_patch_is_atomic() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("jsoned", 1)).await?;
            let patch: json_patch::Patch = serde_json::from_value(json!([
                { "op": "test", "path": "/spec/size", "value": 1 },
                { "op": "add", "path": "/spec/tags", "value": ["a"] },
                { "op": "add", "path": "/spec/tags/-", "value": "b" },
            ]))?;
            let patched = api.patch("jsoned", &PatchParams::default(), &Patch::<()>::Json(patch)).await?;
            assert_eq!(patched.spec.tags, ["a", "b"]);

            let failing: json_patch::Patch = serde_json::from_value(json!([
                { "op": "replace", "path": "/spec/size", "value": 5 },
                { "op": "test", "path": "/spec/size", "value": 1 },
            ]))?;
            let status =
                rejection(api.patch("jsoned", &PatchParams::default(), &Patch::<()>::Json(failing)).await)?;
            assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{status:?}");
            assert_eq!(api.get("jsoned").await?.spec.size, 1);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_strategic_patch_merges_lists_by_their_key() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api = env.api::<Deployment>();
            let deployment: Deployment = serde_json::from_value(json!({
                "metadata": { "name": "web" },
                "spec": {
                    "replicas": 0,
                    "selector": { "matchLabels": { "app": "web" } },
                    "template": {
                        "metadata": { "labels": { "app": "web" } },
                        "spec": { "containers": [{ "name": "a", "image": "a:1" }, { "name": "b", "image": "b:1" }] }
                    }
                }
            }))?;
            api.create(&PostParams::default(), &deployment).await?;
            let patch = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "b", "image": "b:2" }] } } } });
            let patched = api.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await?;
            // Through JSON: k8s-openapi versions differ in which of these fields are optional.
            let containers = serde_json::to_value(&patched)?["spec"]["template"]["spec"]["containers"].take();
            let containers: Vec<Container> = serde_json::from_value(containers)?;
            let images: BTreeMap<_, _> = containers.into_iter().map(|c| (c.name, c.image.unwrap_or_default())).collect();
            assert_eq!(images, [("a".into(), "a:1".into()), ("b".into(), "b:2".into())].into());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_strategic_patch_of_a_custom_resource_is_rejected() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("custom", 1)).await?;
            let patch = Patch::Strategic(json!({ "spec": { "size": 2 } }));
            let status = rejection(api.patch("custom", &PatchParams::default(), &patch).await)?;
            assert_eq!((status.code, status.reason.as_str()), (415, "UnsupportedMediaType"), "{status:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn apply_owns_its_fields_and_removes_those_it_no_longer_sets() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let params = PatchParams::apply("first");
            let mut object = widget("applied", 1);
            object.spec.color = Some("red".into());
            let created = api.patch("applied", &params, &Patch::Apply(&object)).await?;
            let entry = &created.managed_fields()[0];
            assert_eq!(
                (entry.manager.as_deref(), entry.operation.as_deref()),
                (Some("first"), Some("Apply"))
            );

            object.spec.color = None;
            let removed = api.patch("applied", &params, &Patch::Apply(&object)).await?;
            assert_eq!(removed.spec.color, None, "a field without an owner is removed");
            let same = api.patch("applied", &params, &Patch::Apply(&object)).await?;
            assert_eq!(
                same.resource_version(),
                removed.resource_version(),
                "applying the same again changes nothing"
            );
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn two_appliers_conflict_until_one_forces() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.patch("shared", &PatchParams::apply("first"), &Patch::Apply(widget("shared", 1))).await?;
            let second = PatchParams::apply("second");
            let status = rejection(api.patch("shared", &second, &Patch::Apply(widget("shared", 2))).await)?;
            assert!(status.is_conflict(), "{status:?}");
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            assert_eq!(causes.len(), 1);
            assert_eq!(
                (causes[0].reason.as_str(), causes[0].field.as_str()),
                ("FieldManagerConflict", ".spec.size")
            );
            assert!(causes[0].message.starts_with("conflict with \"first\""), "{}", causes[0].message);

            let forced = api.patch("shared", &second.force(), &Patch::Apply(widget("shared", 2))).await?;
            assert_eq!(forced.spec.size, 2);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn appliers_of_different_fields_share_an_object() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api = env.api::<ConfigMap>();
            let part = |key: &str| ConfigMap {
                metadata: ObjectMeta { name: Some("parts".into()), ..ObjectMeta::default() },
                data: Some([(key.to_owned(), "x".to_owned())].into()),
                ..ConfigMap::default()
            };
            api.patch("parts", &PatchParams::apply("first"), &Patch::Apply(part("a"))).await?;
            let both = api.patch("parts", &PatchParams::apply("second"), &Patch::Apply(part("b"))).await?;
            assert_eq!(both.data.unwrap_or_default().into_keys().collect::<Vec<_>>(), ["a", "b"]);
            Ok(())
        }
        .boxed()
    })
}
