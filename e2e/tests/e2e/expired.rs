//! History that is gone, code 410, on each of the paths on which it comes.
//!
//! Genuine servers answer a watch from too old a version with 200 and an `ERROR` event, and a list with the status 410. A watch that is
//! refused with the status at its start comes from what stands before them: proxies that cache, aggregated servers of other make.

use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, pin_mut};
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams};
use kube::core::Status;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Error, ResourceExt as _};
use kube_testserver::{Fault, FaultResponse, Match};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, answer, run, skip};

/// From before the kind was registered: no server remembers it.
const OLD: &str = "1";

async fn forget(world: &World) -> anyhow::Result<()> {
    let api = world.api::<Widget>();
    api.create(&PostParams::default(), &widget("a", 1)).await?;
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
    if let Some(server) = &world.server {
        server.api().compact();
    }
    Ok(())
}

fn is_expired(status: &Status) {
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"), "{status:?}");
}

#[test]
fn a_watch_from_it_is_told_by_an_event() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            forget(world).await?;
            let events = world.api::<Widget>().watch(&WatchParams::default(), OLD).await?;
            pin_mut!(events);
            match events.try_next().await? {
                Some(WatchEvent::Error(status)) => is_expired(&status),
                other => anyhow::bail!("expected an error event, got {other:?}"),
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_list_of_it_is_told_by_the_status() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            forget(world).await?;
            let exact = ListParams::default().at(OLD).matching(VersionMatch::Exact);
            let listed = world.api::<Widget>().list(&exact).await;
            if world.server.is_none() && listed.is_ok() {
                return skip("a server that is up for less than five minutes has forgotten nothing");
            }
            is_expired(&answer(listed)?);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watch_that_is_refused_with_it_fails_at_its_start() -> anyhow::Result<()> {
    run(Need::Embedded, |world| {
        async move {
            let server = world.server.as_ref().context("the scenario needs the embedded server")?;
            server.api().fault(Match::watch::<Widget>(), FaultResponse::status(410, "Expired"));
            is_expired(&answer(world.api::<Widget>().watch(&WatchParams::default(), OLD).await.map(drop))?);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watcher_lists_again_on_either_path() -> anyhow::Result<()> {
    run(Need::Embedded, |world| {
        async move {
            let server = world.server.as_ref().context("the scenario needs the embedded server")?;
            let api = world.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            for fault in [Fault::Expired, FaultResponse::status(410, "Expired").into()] {
                let rule = server.api().fault(Match::watch::<Widget>().times(1), fault);
                let stream = watcher(api.clone(), watcher::Config::default());
                pin_mut!(stream);
                let mut seen = Vec::new();
                while seen.len() < 7 {
                    seen.push(match stream.next().await.context("a watcher does not end")? {
                        Ok(Event::Init) => "init".to_owned(),
                        Ok(Event::InitApply(object)) => object.name_any(),
                        Ok(Event::InitDone) => "done".to_owned(),
                        Ok(other) => anyhow::bail!("nothing changes here, got {other:?}"),
                        Err(watcher::Error::WatchError(status)) => status.code.to_string(),
                        Err(watcher::Error::WatchStartFailed(Error::Api(status))) => status.code.to_string(),
                        Err(other) => return Err(other.into()),
                    });
                }
                assert_eq!(seen, ["init", "a", "done", "410", "init", "a", "done"]);
                rule.remove();
            }
            Ok(())
        }
        .boxed()
    })
}
