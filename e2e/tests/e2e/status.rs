//! The status subresource: spec and status are written separately.

use futures::FutureExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, WidgetStatus, widget};

#[test]
fn spec_and_status_are_written_separately() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("two", 1);
            object.status = Some(WidgetStatus { phase: "Ignored".into() });
            let created = api.create(&PostParams::default(), &object).await?;
            assert_eq!(created.status, None, "a create does not set the status");

            let patch = Patch::Merge(json!({ "spec": { "size": 9 }, "status": { "phase": "Ready" } }));
            let updated = api.patch_status("two", &PatchParams::default(), &patch).await?;
            assert_eq!(updated.status, Some(WidgetStatus { phase: "Ready".into() }));
            assert_eq!(updated.spec.size, 1, "a status write does not change the spec");
            assert_eq!(updated.metadata.generation, Some(1), "nor the generation");

            let patched = api.patch("two", &PatchParams::default(), &patch).await?;
            assert_eq!((patched.spec.size, patched.metadata.generation), (9, Some(2)));

            let mut whole = api.get_status("two").await?;
            whole.status = Some(WidgetStatus { phase: "Done".into() });
            let replaced = api.replace_status("two", &PostParams::default(), &whole).await?;
            assert_eq!(replaced.status, Some(WidgetStatus { phase: "Done".into() }));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_status_apply_has_its_own_managed_fields_entry() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.patch("both", &PatchParams::apply("spec-writer"), &Patch::Apply(widget("both", 1))).await?;
            let status = json!({ "apiVersion": "e2e.example.com/v1", "kind": "Widget", "status": { "phase": "Ready" } });
            let params = PatchParams::apply("status-writer");
            let object = api.patch_status("both", &params, &Patch::Apply(&status)).await?;
            assert_eq!(object.status, Some(WidgetStatus { phase: "Ready".into() }));
            let managers = object.metadata.managed_fields.unwrap_or_default();
            let entry = managers.iter().find(|entry| entry.manager.as_deref() == Some("status-writer"));
            let subresource = entry.and_then(|entry| entry.subresource.as_deref());
            assert_eq!(subresource, if env.older_than(22) { None } else { Some("status") }, "{managers:?}");
            Ok(())
        }
        .boxed()
    })
}
