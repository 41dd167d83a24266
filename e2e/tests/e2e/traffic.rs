//! What goes over the wire, and how much of it at a time.

use std::sync::{Arc, Mutex};

use futures::future::try_join_all;
use futures::{FutureExt as _, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, Request};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::discovery::{self, Discovery};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

#[test]
fn hundreds_of_watches_leave_room_for_a_burst_of_writes() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let version =
                api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            let params = WatchParams::default().disable_bookmarks();
            // More than the 250 requests that a genuine server takes on one connection.
            let watches = try_join_all((0..300).map(|_| api.watch(&params, &version))).await?;
            let names: Vec<_> = (0..20).map(|number| format!("burst-{number}")).collect();
            try_join_all(names.iter().map(|name| {
                let api = api.clone();
                async move { api.create(&PostParams::default(), &widget(name, 1)).await }
            }))
            .await?;
            let mut all: Vec<_> = names;
            all.sort();
            for watch in watches {
                let added = watch.take(20).map(|event| match event {
                    Ok(WatchEvent::Added(object)) => object.name_any(),
                    other => panic!("expected an object, got {other:?}"),
                });
                let mut seen: Vec<_> = added.collect().await;
                seen.sort();
                assert_eq!(seen, all);
            }
            Ok(())
        }
        .boxed()
    })
}

/// A client that notes these headers of all requests and answers of another one.
fn noting(inner: &Client, requests: HeaderName, answers: HeaderName) -> (Client, Arc<Mutex<Vec<String>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&noted);
    let (client, namespace) = (inner.clone(), inner.default_namespace().to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, notes) = (client.clone(), Arc::clone(&notes));
        let (asked, answered) = (requests.clone(), answers.clone());
        let text = |headers: &HeaderMap, name: &HeaderName| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        async move {
            let sent = text(request.headers(), &asked);
            let response = client.send(request).await?;
            let came = text(response.headers(), &answered);
            notes.lock().expect("nobody panics with it").extend([sent, came]);
            Ok::<_, kube::Error>(response)
        }
    });
    (Client::new(service, namespace), noted)
}

#[test]
fn protobuf_is_never_asked_for_and_never_comes() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let (client, noted) = noting(&world.client, ACCEPT, CONTENT_TYPE);
            let api: Api<Widget> = Api::namespaced(client.clone(), &world.namespace);
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            api.get("a").await?;
            api.get_metadata("a").await?;
            api.list(&ListParams::default()).await?;
            api.list_metadata(&ListParams::default()).await?;
            api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
            api.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(widget("a", 3))).await?;
            drop(api.watch(&WatchParams::default(), "0").await?);
            drop(api.watch_metadata(&WatchParams::default(), "0").await?);
            watcher(api.clone(), watcher::Config::default()).take(2).collect::<Vec<_>>().await;
            client.apiserver_version().await?;
            Discovery::new(client.clone()).run().await?;
            discovery::group(&client, "e2e.example.com").await?;
            api.delete("a", &DeleteParams::default()).await?;
            let noted = noted.lock().expect("nobody panics with it");
            assert!(noted.len() > 25, "{noted:?}");
            assert!(!noted.iter().any(|header| header.contains("protobuf")), "{noted:?}");
            assert!(noted.iter().any(|header| header.contains("application/json")), "{noted:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_accept_header_of_ones_own_is_kept() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let (client, noted) = noting(&world.client, ACCEPT, CONTENT_TYPE);
            let path = Api::<Widget>::namespaced(client.clone(), &world.namespace).resource_url().to_owned();
            let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
            let request = Request::get(path).header(ACCEPT, accept).body(Vec::new())?;
            let table: serde_json::Value = client.request(request).await?;
            assert_eq!(table["kind"], "Table");
            assert_eq!(noted.lock().expect("nobody panics with it")[0], accept);
            Ok(())
        }
        .boxed()
    })
}
