//! Expired resourceVersions (410), in each form in which servers report them.
//!
//! Genuine servers respond to a watch from a version that is too old with 200 and an `ERROR` event, and to a list with HTTP status 410.
//! Caching proxies and some aggregated API servers reject the watch itself with status 410.

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, pin_mut};
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams};
use kube::core::Status;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Error, ResourceExt as _};
use kube_testserver::{Fault, FaultResponse, Match};
use serde_json::json;

use crate::test_env::{Requires, TestEnv, rejection, run, skip};
use crate::widget::{Widget, widget};

/// A resourceVersion that every server has compacted.
const OLD: &str = "1";

/// Writes an object, then compacts the history where the server allows it.
async fn compact_history(env: &TestEnv) -> anyhow::Result<()> {
    let api = env.api::<Widget>();
    api.create(&PostParams::default(), &widget("a", 1)).await?;
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
    if let Some(server) = &env.server {
        server.api().compact();
    }
    Ok(())
}

fn assert_expired(status: &Status) {
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"), "{status:?}");
}

#[test]
fn a_watch_from_an_expired_version_gets_an_error_event() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            compact_history(env).await?;
            let events = env.api::<Widget>().watch(&WatchParams::default(), OLD).await?;
            pin_mut!(events);
            match events.try_next().await? {
                Some(WatchEvent::Error(status)) => assert_expired(&status),
                other => anyhow::bail!("expected an error event, got {other:?}"),
            }
            Ok(())
        }
        .boxed()
    })
}

/// The token of a first page, as a client has it that took too long: its version is one that the server has compacted.
fn expired_token(token: &str) -> anyhow::Result<String> {
    let mut json: serde_json::Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(token)?)?;
    json["rv"] = json!(OLD.parse::<u64>()?);
    Ok(BASE64_URL_SAFE_NO_PAD.encode(json.to_string()))
}

#[test]
fn a_stream_of_a_list_goes_on_after_its_token_has_expired() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            compact_history(env).await?;
            let api = env.api::<Widget>();
            for name in ["b", "c", "d"] {
                api.create(&PostParams::default(), &widget(name, 1)).await?;
            }
            let page = ListParams::default().limit(1);
            let token = match &env.server {
                None => expired_token(&api.list(&page).await?.metadata.continue_.context("no token")?)?,
                Some(server) => {
                    let token = api.list(&page).await?.metadata.continue_.context("no token")?;
                    api.create(&PostParams::default(), &widget("e", 1)).await?;
                    server.api().compact();
                    token
                }
            };
            let refused = api.list(&page.clone().continue_token(&token)).await;
            if env.server.is_none() && refused.is_ok() {
                return skip(
                    "a server that has run for less than five minutes has not compacted its history",
                );
            }
            assert!(rejection(refused)?.is_expired());
            api.delete("c", &Default::default()).await?;
            let names = api.list_stream(&page.continue_token(&token)).map_ok(|widget| widget.name_any());
            let names: Vec<_> = names.try_collect().await?;
            assert!(names == ["b", "d"] || names == ["b", "d", "e"], "{names:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_list_at_an_expired_version_is_status_410() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            compact_history(env).await?;
            let exact = ListParams::default().at(OLD).matching(VersionMatch::Exact);
            let listed = env.api::<Widget>().list(&exact).await;
            if env.server.is_none() && listed.is_ok() {
                return skip(
                    "a server that has run for less than five minutes has not compacted its history",
                );
            }
            assert_expired(&rejection(listed)?);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watch_rejected_with_410_fails_to_start() -> anyhow::Result<()> {
    run(Requires::EmbeddedServer, |env| {
        async move {
            let server = env.server.as_ref().context("the scenario requires the embedded server")?;
            server.api().fault(Match::watch::<Widget>(), FaultResponse::status(410, "Expired"));
            assert_expired(&rejection(
                env.api::<Widget>().watch(&WatchParams::default(), OLD).await.map(drop),
            )?);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watcher_relists_after_either_form_of_410() -> anyhow::Result<()> {
    run(Requires::EmbeddedServer, |env| {
        async move {
            let server = env.server.as_ref().context("the scenario requires the embedded server")?;
            let api = env.api::<Widget>();
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
