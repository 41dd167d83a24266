//! The finalizer helper: adds its finalizer before `apply`, removes it after `cleanup`, keeps those of other controllers.

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::{Api, ResourceExt as _};

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const FINALIZER: &str = "e2e.example.com/cleanup";

/// One reconcile through `finalizer`; returns the events that it received.
async fn reconcile(api: &Api<Widget>, name: &str) -> anyhow::Result<Vec<&'static str>> {
    let seen = Mutex::new(Vec::new());
    let object = Arc::new(api.get(name).await?);
    finalizer(api, FINALIZER, object, |event| {
        seen.lock().expect("no holder panics").push(match event {
            Event::Apply(_) => "apply",
            Event::Cleanup(_) => "cleanup",
        });
        async { Ok::<_, std::io::Error>(Action::await_change()) }
    })
    .await?;
    Ok(seen.into_inner().expect("no holder panics"))
}

#[test]
fn a_finalizer_is_added_applied_cleaned_up_and_removed() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("f", 1);
            object.finalizers_mut().push("e2e.example.com/other".into());
            api.create(&PostParams::default(), &object).await?;

            assert!(reconcile(&api, "f").await?.is_empty(), "the first reconcile only adds the finalizer");
            assert_eq!(api.get("f").await?.finalizers(), ["e2e.example.com/other", FINALIZER]);
            assert_eq!(reconcile(&api, "f").await?, ["apply"]);

            api.delete("f", &DeleteParams::default()).await?;
            assert_eq!(reconcile(&api, "f").await?, ["cleanup"]);
            assert_eq!(
                api.get("f").await?.finalizers(),
                ["e2e.example.com/other"],
                "other finalizers are kept"
            );
            assert!(reconcile(&api, "f").await?.is_empty(), "without our finalizer nothing is left to do");

            let mut last = api.get("f").await?;
            last.finalizers_mut().clear();
            api.replace("f", &PostParams::default(), &last).await?;
            assert!(api.get_opt("f").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}
