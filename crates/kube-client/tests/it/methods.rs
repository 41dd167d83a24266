//! Every method of `Api` and `Client`, and the request that it sends.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use futures::{AsyncReadExt, TryStreamExt};
use http::Request;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube_client::Api;
use kube_client::api::{
    DeleteParams, EvictParams, GetParams, ListParams, LogParams, Patch, PatchParams, PostParams, WatchParams,
};
use kube_client::client::Body;
use serde_json::{Value, json};

use crate::recorder::Recorder;

const META: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Of lists and watches: in JSON, the answer is the same.
const METAS: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                     application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const META_EVENTS: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                           application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

#[tokio::test(start_paused = true)]
async fn the_time_of_a_restart_moves_with_paused_time() {
    let (client, _server) = crate::server::in_process();
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let text = r#"{"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template":
        {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}}}"#;
    let web: Deployment = serde_json::from_str(text).unwrap();
    deployments.create(&PostParams::default(), &web).await.unwrap();
    let restart = async || -> k8s_openapi::jiff::Timestamp {
        let template = deployments.restart("web").await.unwrap().spec.template;
        template.metadata.unwrap().annotations.unwrap()["kubectl.kubernetes.io/restartedAt"].parse().unwrap()
    };
    let before = restart().await;
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    let passed = restart().await.duration_since(before).as_secs();
    assert!((3599..=3601).contains(&passed), "{passed}");
}

#[tokio::test]
async fn reads() {
    let recorder = Recorder::new();
    let pods: Api<Pod> = Api::default_namespaced(recorder.client.clone());
    let at = "/api/v1/namespaces/ns/pods";
    let any_version = GetParams::any();
    recorder.expect(pods.get("a"), &format!("GET {at}/a")).await;
    recorder.expect(pods.get_opt("a"), &format!("GET {at}/a")).await;
    recorder.expect(pods.get_with("a", &any_version), &format!("GET {at}/a?&resourceVersion=0")).await;
    recorder.expect(pods.get_metadata("a"), &format!("GET {at}/a [{META}]")).await;
    recorder.expect(pods.get_metadata_opt("a"), &format!("GET {at}/a [{META}]")).await;
    recorder
        .expect(pods.get_metadata_with("a", &any_version), &format!("GET {at}/a?&resourceVersion=0 [{META}]"))
        .await;
    recorder
        .expect(
            pods.get_metadata_opt_with("a", &any_version),
            &format!("GET {at}/a?&resourceVersion=0 [{META}]"),
        )
        .await;
    let some = ListParams::default().labels("a=b").fields("c=d").limit(5);
    let query = "?&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=5";
    recorder.expect(pods.list(&some), &format!("GET {at}{query}")).await;
    recorder.expect(pods.list_guarded(&some), &format!("GET {at}{query}")).await;
    recorder.expect(pods.list_metadata(&some), &format!("GET {at}{query} [{METAS}]")).await;
    recorder.expect(pods.pages(&some).try_collect::<Vec<_>>(), &format!("GET {at}{query}")).await;
    let some = WatchParams::default().timeout(10);
    let query = "?&watch=true&timeoutSeconds=10&allowWatchBookmarks=true&resourceVersion=7";
    recorder.expect(pods.watch(&some, "7"), &format!("GET {at}{query}")).await;
    recorder.expect(pods.watch_guarded(&some, "7"), &format!("GET {at}{query}")).await;
    recorder.expect(pods.watch_metadata(&some, "7"), &format!("GET {at}{query} [{META_EVENTS}]")).await;
}

#[tokio::test]
async fn writes() {
    let recorder = Recorder::new();
    let pods: Api<Pod> = Api::default_namespaced(recorder.client.clone());
    let at = "/api/v1/namespaces/ns/pods";
    let pp = PostParams::default();
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
    let pod: Pod = serde_json::from_value(object.clone()).unwrap();
    recorder.expect(pods.create(&pp, &pod), &format!("POST {at}? {object}")).await;
    let dry = PostParams { dry_run: true, field_manager: Some("me".into()) };
    recorder
        .expect(pods.replace("a", &dry, &pod), &format!("PUT {at}/a?&dryRun=All&fieldManager=me {object}"))
        .await;
    let change = json!({"metadata": {"labels": {"x": "y"}}});
    let manager = PatchParams::apply("me").force();
    let plain = PatchParams::default();
    recorder
        .expect(
            pods.patch("a", &manager, &Patch::Apply(&object)),
            &format!("PATCH {at}/a?&force=true&fieldManager=me [application/apply-patch+yaml] {object}"),
        )
        .await;
    recorder
        .expect(
            pods.patch("a", &plain, &Patch::Merge(&change)),
            &format!("PATCH {at}/a? [application/merge-patch+json] {change}"),
        )
        .await;
    recorder
        .expect(
            pods.patch("a", &plain, &Patch::Strategic(&change)),
            &format!("PATCH {at}/a? [application/strategic-merge-patch+json] {change}"),
        )
        .await;
    recorder
        .expect(
            pods.patch_metadata("a", &plain, &Patch::Merge(&change)),
            &format!("PATCH {at}/a? [{META}] [application/merge-patch+json] {change}"),
        )
        .await;
    recorder
        .expect(
            pods.delete("a", &DeleteParams::foreground()),
            &format!("DELETE {at}/a? {}", json!({"propagationPolicy": "Foreground"})),
        )
        .await;
    recorder
        .expect(
            pods.delete_collection(&DeleteParams::default(), &ListParams::default().labels("a=b")),
            &format!("DELETE {at}?&labelSelector=a%3Db {{}}"),
        )
        .await;
}

#[tokio::test]
async fn subresources_of_any_kind() {
    let recorder = Recorder::new();
    let api: Api<Deployment> = Api::namespaced(recorder.client.clone(), "web");
    let at = "/apis/apps/v1/namespaces/web/deployments/a";
    let (pp, plain) = (PostParams::default(), PatchParams::default());
    let change = Patch::Merge(json!({"spec": {"replicas": 3}}));
    let patched = |sub: &str| {
        format!("PATCH {at}/{sub}? [application/merge-patch+json] {}", json!({"spec": {"replicas": 3}}))
    };
    let deployment = api.get("a").await.unwrap();
    let stored = serde_json::to_value(&deployment).unwrap();
    let scale = Scale::default();
    let scaled = serde_json::to_value(&scale).unwrap();
    recorder.requests.lock().unwrap().clear();
    recorder.expect(api.get_scale("a"), &format!("GET {at}/scale")).await;
    recorder.expect(api.patch_scale("a", &plain, &change), &patched("scale")).await;
    recorder.expect(api.replace_scale("a", &pp, &scale), &format!("PUT {at}/scale? {scaled}")).await;
    recorder.expect(api.get_status("a"), &format!("GET {at}/status")).await;
    recorder.expect(api.patch_status("a", &plain, &change), &patched("status")).await;
    recorder.expect(api.replace_status("a", &pp, &deployment), &format!("PUT {at}/status? {stored}")).await;
    recorder.expect(api.get_subresource("thing", "a"), &format!("GET {at}/thing")).await;
    recorder.expect(api.patch_subresource("thing", "a", &plain, &change), &patched("thing")).await;
    recorder
        .expect(api.replace_subresource("thing", "a", &pp, &scale), &format!("PUT {at}/thing? {scaled}"))
        .await;
    let created = api.create_subresource::<_, Value>("thing", "a", &pp, &scale);
    recorder.expect(created, &format!("POST {at}/thing? {scaled}")).await;
    api.restart("a").await.unwrap();
    let seen = recorder.requests.lock().unwrap().pop().unwrap();
    assert!(seen.starts_with(&format!("PATCH {at}? ")), "{seen}");
    assert!(seen.contains("kubectl.kubernetes.io/restartedAt") || seen.contains("restartedAt"), "{seen}");
}

#[tokio::test]
async fn subresources_of_pods() {
    let recorder = Recorder::new();
    let pods: Api<Pod> = Api::default_namespaced(recorder.client.clone());
    let at = "/api/v1/namespaces/ns/pods/a";
    let (pp, plain) = (PostParams::default(), PatchParams::default());
    let pod = pods.get("a").await.unwrap();
    let stored = serde_json::to_value(&pod).unwrap();
    recorder.requests.lock().unwrap().clear();
    let change = json!({"spec": {}});
    recorder.expect(pods.get_resize("a"), &format!("GET {at}/resize")).await;
    recorder.expect(pods.replace_resize("a", &pp, &pod), &format!("PUT {at}/resize? {stored}")).await;
    recorder
        .expect(
            pods.patch_resize("a", &plain, &Patch::Strategic(&change)),
            &format!("PATCH {at}/resize? [application/strategic-merge-patch+json] {change}"),
        )
        .await;
    recorder.expect(pods.logs("a", &LogParams::default()), &format!("GET {at}/log? [*/*]")).await;
    let follow =
        LogParams { follow: true, tail_lines: Some(3), container: Some("c".into()), ..LogParams::default() };
    recorder
        .expect(
            pods.log_stream("a", &follow),
            &format!("GET {at}/log?&container=c&follow=true&tailLines=3 [*/*]"),
        )
        .await;
    pods.evict("a", &EvictParams::default()).await.unwrap();
    let seen = recorder.requests.lock().unwrap().pop().unwrap();
    assert!(seen.starts_with(&format!("POST {at}/eviction?")) && seen.contains(r#""name":"a""#), "{seen}");
}

#[cfg(feature = "ws")]
#[tokio::test]
async fn subresources_of_pods_by_websocket() {
    use kube_client::api::AttachParams;

    let recorder = Recorder::new();
    let pods: Api<Pod> = Api::default_namespaced(recorder.client.clone());
    let at = "/api/v1/namespaces/ns/pods/a";
    let (pp, plain) = (PostParams::default(), PatchParams::default());
    let pod = pods.get("a").await.unwrap();
    let stored = serde_json::to_value(&pod).unwrap();
    recorder.requests.lock().unwrap().clear();
    recorder.expect(pods.get_ephemeral_containers("a"), &format!("GET {at}/ephemeralcontainers")).await;
    recorder
        .expect(
            pods.replace_ephemeral_containers("a", &pp, &pod),
            &format!("PUT {at}/ephemeralcontainers? {stored}"),
        )
        .await;
    recorder
        .expect(
            pods.patch_ephemeral_containers("a", &plain, &Patch::Strategic(json!({"spec": {}}))),
            &format!(
                "PATCH {at}/ephemeralcontainers? [application/strategic-merge-patch+json] {{\"spec\":{{}}}}"
            ),
        )
        .await;
    let params = AttachParams::default().container("c");
    recorder
        .expect(
            pods.exec("a", ["sh", "-c", "a b"], &params),
            &format!(
                "GET {at}/exec?&stdout=true&stderr=true&container=c&command=sh&command=-c&command=a+b upgrade"
            ),
        )
        .await;
    let terminal = AttachParams::interactive_tty();
    recorder
        .expect(
            pods.attach("a", &terminal),
            &format!("GET {at}/attach?&stdin=true&stdout=true&tty=true upgrade"),
        )
        .await;
    recorder
        .expect(pods.portforward("a", &[80, 81]), &format!("GET {at}/portforward?&ports=80%2C81 upgrade"))
        .await;
}

#[tokio::test]
async fn nodes_accounts_and_certificates() {
    let recorder = Recorder::new();
    let nodes: Api<Node> = Api::all(recorder.client.clone());
    for (on, call) in [(true, 0), (false, 1)] {
        let change = json!({"spec": {"unschedulable": on}});
        let expected = format!("PATCH /api/v1/nodes/a? [application/merge-patch+json] {change}");
        match call {
            0 => recorder.expect(nodes.cordon("a"), &expected).await,
            _ => recorder.expect(nodes.uncordon("a"), &expected).await,
        }
    }
    let accounts: Api<ServiceAccount> = Api::default_namespaced(recorder.client.clone());
    let request = TokenRequest::default();
    let sent = serde_json::to_value(&request).unwrap();
    recorder
        .expect(
            accounts.create_token_request("a", &PostParams::default(), &request),
            &format!("POST /api/v1/namespaces/ns/serviceaccounts/a/token? {sent}"),
        )
        .await;
    let certificates: Api<CertificateSigningRequest> = Api::all(recorder.client.clone());
    let at = "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval";
    recorder.expect(certificates.get_approval("a"), &format!("GET {at}")).await;
    recorder
        .expect(
            certificates.patch_approval("a", &PatchParams::default(), &Patch::Merge(json!({"status": {}}))),
            &format!("PATCH {at}? [application/merge-patch+json] {{\"status\":{{}}}}"),
        )
        .await;
}

#[tokio::test]
async fn requests_through_the_client() {
    let recorder = Recorder::new();
    let client = &recorder.client;
    let get = || Request::get("/x?a=b").body(Vec::new()).unwrap();
    let expected = "GET /x?a=b";
    recorder.expect(client.request::<Value>(get()), expected).await;
    recorder.expect(client.request_text(get()), expected).await;
    recorder.expect(client.request_status::<Value>(get()), expected).await;
    recorder.expect(client.request_list::<Pod>(get()), expected).await;
    recorder.expect(client.request_list_guarded::<Pod>(get()), expected).await;
    recorder.expect(client.send(get().map(Body::from)), expected).await;
    recorder
        .expect(
            async {
                let mut text = String::new();
                Box::pin(client.request_stream(get()).await?).read_to_string(&mut text).await.unwrap();
                assert_eq!(text, r#"{"metadata":{"name":"a"},"items":[]}"#);
                Ok(())
            },
            expected,
        )
        .await;
    recorder
        .expect(
            async {
                // A last line without a line break that is not an event is ignored: it may be incomplete.
                let events = client.request_events::<Pod>(get()).await?;
                assert!(events.try_collect::<Vec<_>>().await.is_ok_and(|events| events.is_empty()));
                Ok(())
            },
            expected,
        )
        .await;
    recorder.expect(client.apiserver_version(), "GET /version").await;
    recorder.expect(client.list_api_groups(), "GET /apis").await;
    recorder.expect(client.list_api_group_resources("apps/v1"), "GET /apis/apps/v1").await;
    recorder.expect(client.list_core_api_versions(), "GET /api").await;
    recorder.expect(client.list_core_api_resources("v1"), "GET /api/v1").await;
}
