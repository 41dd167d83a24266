//! The status subresource: wish and report are written apart.

use futures::FutureExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::widget::{Widget, WidgetStatus, widget};
use crate::world::{Need, run};

#[test]
fn spec_and_status_are_written_apart() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let mut object = widget("two", 1);
            object.status = Some(WidgetStatus { phase: "Sneaky".into() });
            let made = api.create(&PostParams::default(), &object).await?;
            assert_eq!(made.status, None, "a create does not set the status");

            let patch = Patch::Merge(json!({ "spec": { "size": 9 }, "status": { "phase": "Ready" } }));
            let reported = api.patch_status("two", &PatchParams::default(), &patch).await?;
            assert_eq!(reported.status, Some(WidgetStatus { phase: "Ready".into() }));
            assert_eq!(reported.spec.size, 1, "a status write does not change the spec");
            assert_eq!(reported.metadata.generation, Some(1), "nor the generation");

            let wished = api.patch("two", &PatchParams::default(), &patch).await?;
            assert_eq!((wished.spec.size, wished.metadata.generation), (9, Some(2)));

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
fn a_status_is_applied_under_its_own_manager() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            api.patch("both", &PatchParams::apply("wisher"), &Patch::Apply(widget("both", 1))).await?;
            let report = json!({ "apiVersion": "e2e.example.com/v1", "kind": "Widget", "status": { "phase": "Ready" } });
            let params = PatchParams::apply("reporter");
            let object = api.patch_status("both", &params, &Patch::Apply(&report)).await?;
            assert_eq!(object.status, Some(WidgetStatus { phase: "Ready".into() }));
            let managers = object.metadata.managed_fields.unwrap_or_default();
            let reporter = managers.iter().find(|entry| entry.manager.as_deref() == Some("reporter"));
            let subresource = reporter.and_then(|entry| entry.subresource.as_deref());
            assert_eq!(subresource, if world.before(22) { None } else { Some("status") }, "{managers:?}");
            Ok(())
        }
        .boxed()
    })
}
