//! The finalizer helper against a server: added before work, removed after cleanup, never another's.

use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::{Api, ResourceExt as _};

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

const NAME: &str = "e2e.example.com/cleanup";

async fn step(api: &Api<Widget>, name: &str) -> anyhow::Result<Vec<&'static str>> {
    let seen = Mutex::new(Vec::new());
    let object = Arc::new(api.get(name).await?);
    finalizer(api, NAME, object, |event| {
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
fn the_four_states_in_order() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let mut object = widget("f", 1);
            object.finalizers_mut().push("e2e.example.com/other".into());
            api.create(&PostParams::default(), &object).await?;

            assert!(step(&api, "f").await?.is_empty(), "first the finalizer is added");
            assert_eq!(api.get("f").await?.finalizers(), ["e2e.example.com/other", NAME]);
            assert_eq!(step(&api, "f").await?, ["apply"]);

            api.delete("f", &DeleteParams::default()).await?;
            assert_eq!(step(&api, "f").await?, ["cleanup"]);
            assert_eq!(
                api.get("f").await?.finalizers(),
                ["e2e.example.com/other"],
                "another's finalizer stays"
            );
            assert!(step(&api, "f").await?.is_empty(), "with our part done there is nothing left to do");

            let mut last = api.get("f").await?;
            last.finalizers_mut().clear();
            api.replace("f", &PostParams::default(), &last).await?;
            assert!(api.get_opt("f").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}
