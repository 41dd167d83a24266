//! Many concurrent requests, and the content types of requests and responses.

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

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

#[test]
fn hundreds_of_watches_do_not_block_writes() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let version =
                api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            let params = WatchParams::default().disable_bookmarks();
            // More than the 250 concurrent streams that a genuine server allows on one connection.
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

/// A client that records one header of each request and one of each response.
fn recording_client(
    inner: &Client,
    request_header: HeaderName,
    response_header: HeaderName,
) -> (Client, Arc<Mutex<Vec<String>>>) {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let headers = Arc::clone(&recorded);
    let (client, namespace) = (inner.clone(), inner.default_namespace().to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, headers) = (client.clone(), Arc::clone(&headers));
        let (request_header, response_header) = (request_header.clone(), response_header.clone());
        let text = |headers: &HeaderMap, name: &HeaderName| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        async move {
            let sent = text(request.headers(), &request_header);
            let response = client.send(request).await?;
            let received = text(response.headers(), &response_header);
            headers.lock().expect("no holder panics").extend([sent, received]);
            Ok::<_, kube::Error>(response)
        }
    });
    (Client::new(service, namespace), recorded)
}

#[test]
fn protobuf_is_for_metadata_alone() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let (client, recorded) = recording_client(&env.client, ACCEPT, CONTENT_TYPE);
            let api: Api<Widget> = Api::namespaced(client.clone(), &env.namespace);
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            api.get("a").await?;
            api.get_metadata("a").await?;
            api.list(&ListParams::default()).await?;
            api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
            api.patch("a", &PatchParams::apply("me").force(), &Patch::Apply(widget("a", 3))).await?;
            drop(api.watch(&WatchParams::default(), "0").await?);
            watcher(api.clone(), watcher::Config::default()).take(2).collect::<Vec<_>>().await;
            client.apiserver_version().await?;
            Discovery::new(client.clone()).run().await?;
            discovery::group(&client, "e2e.example.com").await?;
            api.delete("a", &DeleteParams::default()).await?;
            let whole = std::mem::take(&mut *recorded.lock().expect("no holder panics"));
            assert!(whole.len() > 20, "{whole:?}");
            assert!(!whole.iter().any(|header| header.contains("protobuf")), "{whole:?}");
            assert!(whole.iter().any(|header| header.contains("application/json")), "{whole:?}");
            api.list_metadata(&ListParams::default()).await?;
            drop(api.watch_metadata(&WatchParams::default(), "0").await?);
            let metadata = recorded.lock().expect("no holder panics");
            // Requests and responses.
            assert!(metadata.iter().all(|header| header.contains("protobuf")), "{metadata:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_custom_accept_header_is_kept() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let (client, recorded) = recording_client(&env.client, ACCEPT, CONTENT_TYPE);
            let path = Api::<Widget>::namespaced(client.clone(), &env.namespace).resource_url().to_owned();
            let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
            let request = Request::get(path).header(ACCEPT, accept).body(Vec::new())?;
            let table: serde_json::Value = client.request(request).await?;
            assert_eq!(table["kind"], "Table");
            assert_eq!(recorded.lock().expect("no holder panics")[0], accept);
            Ok(())
        }
        .boxed()
    })
}
