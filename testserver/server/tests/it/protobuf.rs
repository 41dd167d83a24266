//! Protobuf in both directions, as Go clients send and request it.

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::{Buf, Bytes};
use kube_testserver::{Fault, Match};
use serde_json::Value;

use crate::client::*;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const BOTH: &str = "application/vnd.kubernetes.protobuf,application/json";
const SENT: [(&str, &str); 2] = [("content-type", PROTOBUF), ("accept", PROTOBUF)];
const ASKED: [(&str, &str); 1] = [("accept", PROTOBUF)];

/// A field of bytes, as in any protobuf message.
fn field(number: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

fn object(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let kind = [field(1, api_version), field(2, kind)].concat();
    [b"k8s\0", &*field(1, kind), &field(2, raw)].concat()
}

fn named(name: &str) -> Vec<u8> {
    field(1, field(1, name))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The path of the collection of a recorded object.
fn collection(object: &Value) -> String {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let root = if version.contains('/') { "apis" } else { "api" };
    let plural = match kind {
        "Ingress" => "ingresses".into(),
        "PriorityClass" => "priorityclasses".into(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    match kind {
        "ClusterRole" | "ClusterRoleBinding" | "Namespace" | "PriorityClass" => {
            format!("/{root}/{version}/{plural}")
        }
        _ => format!("/{root}/{version}/namespaces/default/{plural}"),
    }
}

/// What `kubectl create` sends is created; what the server returns is what it reads, so that writing it back changes nothing.
#[tokio::test(start_paused = true)]
async fn every_recorded_object_is_created_read_and_written_back() {
    for line in include_str!("../../src/protobuf/recorded/kubectl.jsonl").lines() {
        let client = TestClient::new();
        let record: Value = serde_json::from_str(line).unwrap();
        let body = BASE64_STANDARD.decode(record["body"].as_str().unwrap()).unwrap();
        let collection = collection(&record["object"]);
        let path = format!("{collection}/{}", record["object"]["metadata"]["name"].as_str().unwrap());
        let (code, media, created) = client.raw("POST", &collection, &SENT, body).await;
        // The generator of quotas does not know that this scope excludes CPU.
        if contains(&created, "unsupported scope applied to resource") {
            assert_eq!((code, &record["object"]["spec"]["scopes"][0]), (422, &"BestEffort".into()));
            continue;
        }
        assert_eq!((code, &*media), (201, PROTOBUF), "{}: {created:?}", record["command"]);
        let shown = client.get(&path).await.ok();
        let (code, media, read) = client.raw("GET", &path, &ASKED, "").await;
        assert_eq!((code, &*media), (200, PROTOBUF));
        assert_eq!(read, created);
        let (code, _, written) = client.raw("PUT", &path, &SENT, read.clone()).await;
        assert_eq!((code, &written), (200, &read), "{}", record["command"]);
        assert_eq!(client.get(&path).await.ok(), shown);
        let (code, _, list) = client.raw("GET", &collection, &ASKED, "").await;
        assert_eq!(code, 200);
        assert!(contains(&list, record["object"]["metadata"]["name"].as_str().unwrap()));
        let (code, media, _) = client.raw("DELETE", &path, &ASKED, "").await;
        assert_eq!((code, &*media), (200, PROTOBUF));
    }
}

#[tokio::test(start_paused = true)]
async fn the_media_type_is_negotiated() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let table = "as=Table;g=meta.k8s.io;v=v1";
    for (accept, code, media) in [
        (PROTOBUF.to_string(), 200, PROTOBUF),
        (BOTH.into(), 200, PROTOBUF),
        (format!("application/json,{PROTOBUF}"), 200, "application/json"),
        (format!("{PROTOBUF};q=0.5,application/json"), 200, "application/json"),
        (format!("{PROTOBUF};stream=watch"), 200, PROTOBUF),
        (format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"), 200, PROTOBUF),
        (format!("{PROTOBUF};{table}"), 406, "application/json"),
    ] {
        let (found, kind, _) = client.raw("GET", &path, &[("accept", &accept)], "").await;
        assert_eq!((found, &*kind), (code, media), "{accept}");
    }
    // Errors have the requested type too, and say what a server offers.
    let (code, media, body) = client.raw("GET", &format!("{CONFIG_MAPS}/none"), &ASKED, "").await;
    assert_eq!((code, &*media), (404, PROTOBUF));
    assert!(body.starts_with(b"k8s\0\n\x0c\n\x02v1\x12\x06Status") && contains(&body, "\"none\" not found"));
    let message = client.get_as("text/html", &path).await.refused(406, "NotAcceptable");
    assert!(message.ends_with("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

#[tokio::test(start_paused = true)]
async fn documents_are_negotiated() {
    let client = TestClient::new();
    for path in ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"] {
        let (code, media, body) = client.raw("GET", path, &ASKED, "").await;
        assert_eq!((code, &*media), (200, PROTOBUF), "{path}");
        assert!(body.starts_with(b"k8s\0"));
    }
    let (code, ..) = client.raw("GET", "/version", &ASKED, "").await;
    assert_eq!(code, 406);
    assert_eq!(client.get_as(BOTH, "/version").await.ok()["major"], "1");
    let aggregated = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let (code, media, body) = client.raw("GET", "/apis", &[("accept", &aggregated)], "").await;
    assert_eq!((code, media), (200, aggregated));
    assert!(contains(&body, "deployments"));
    let openapi = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (code, media, body) = client.raw("GET", "/openapi/v2", &[("accept", openapi)], "").await;
    assert_eq!((code, media), (200, openapi.replace('@', ".")));
    assert!(contains(&body, "io.k8s.api.core.v1.Pod"));
    assert_eq!(client.raw("GET", "/openapi/v2", &ASKED, "").await.0, 406);
}

/// The frames of a stream: four bytes of length, then an event.
fn frames(mut stream: Bytes) -> Vec<Bytes> {
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let length = stream.get_u32();
        frames.push(stream.split_to(usize::try_from(length).unwrap()));
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn events_are_frames_around_the_object() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let (_, _, read) = client.raw("GET", &format!("{CONFIG_MAPS}/a"), &ASKED, "").await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    );
    let (code, media, stream) = client.raw("GET", &path, &ASKED, "").await;
    assert_eq!((code, &*media), (200, "application/vnd.kubernetes.protobuf;stream=watch"));
    let frames = frames(stream);
    assert!(frames[0].starts_with(b"\n\x05ADDED\x12") && frames[0].ends_with(&read));
    assert!(frames[1].starts_with(b"\n\x08BOOKMARK") && contains(&frames[1], "k8s.io/initial-events-end"));
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_watch_are_frames_too() {
    use k8s_openapi::api::core::v1::ConfigMap;
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    for (fault, count) in [(Fault::Expired.after(1), 2), (Fault::Expired, 1)] {
        client.api.fault(Match::watch::<ConfigMap>().nth(1), fault);
        let (.., stream) = client.raw("GET", &format!("{CONFIG_MAPS}?watch=1"), &ASKED, "").await;
        let frames = frames(stream);
        assert_eq!(frames.len(), count);
        assert!(frames[count - 1].starts_with(b"\n\x05ERROR") && contains(&frames[count - 1], "Expired"));
        client.api.clear_faults();
    }
}

#[tokio::test(start_paused = true)]
async fn options_of_a_deletion_are_read() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let other = field(2, field(1, "other"));
    for version in ["v1", "apps/v1", "foo.example.com/v1", ""] {
        let options = object(version, "DeleteOptions", &other);
        let (code, ..) = client.raw("DELETE", &path, &SENT, options).await;
        assert_eq!(code, 409, "{version}");
    }
    let (code, ..) = client.raw("DELETE", &path, &SENT, object("v1", "ConfigMap", &other)).await;
    assert_eq!(code, 400);
    assert_eq!(client.raw("DELETE", &path, &SENT, "{}").await.0, 400);
    let dry_run = object("v1", "DeleteOptions", &field(5, "All"));
    assert_eq!(client.raw("DELETE", &path, &SENT, dry_run).await.0, 200);
    client.get(&path).await.ok();
    let (code, media, body) = client.raw("DELETE", &path, &SENT, object("v1", "DeleteOptions", b"")).await;
    assert_eq!((code, &*media), (200, PROTOBUF));
    assert!(contains(&body, "Success"));
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn subresources_and_reviews_are_read() {
    let client = TestClient::new();
    let pods = "/api/v1/namespaces/default/pods";
    let container = [field(1, "c"), field(2, "i")].concat();
    let pod = [named("p"), field(2, field(2, container))].concat();
    assert_eq!(client.raw("POST", pods, &SENT, object("v1", "Pod", &pod)).await.0, 201);
    let eviction = object("policy/v1", "Eviction", &named("p"));
    assert_eq!(client.raw("POST", &format!("{pods}/p/eviction"), &SENT, eviction).await.0, 201);

    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = object("v1", "ServiceAccount", &named("s"));
    assert_eq!(client.raw("POST", accounts, &SENT, account).await.0, 201);
    let request = object("authentication.k8s.io/v1", "TokenRequest", &field(2, [32, 0xd8, 4]));
    let (code, _, token) = client.raw("POST", &format!("{accounts}/s/token"), &SENT, request).await;
    assert!(code == 201 && contains(&token, "eyJ"), "{code} {token:?}");

    let attributes = [field(2, "get"), field(5, "pods")].concat();
    let review =
        object("authorization.k8s.io/v1", "SelfSubjectAccessReview", &field(2, field(1, attributes)));
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, media, _) = client.raw("POST", reviews, &SENT, review).await;
    assert_eq!((code, &*media), (201, PROTOBUF));
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_text_but_their_metadata_is_not() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{WIDGETS}/a");
    for (method, path) in [("GET", &*path), ("GET", WIDGETS), ("DELETE", &path)] {
        let (code, media, _) = client.raw(method, path, &ASKED, "").await;
        assert_eq!((code, &*media), (406, PROTOBUF), "{method} {path}");
    }
    let (code, media, _) = client.raw("GET", &path, &[("accept", BOTH)], "").await;
    assert_eq!((code, &*media), (200, "application/json"));
    let (code, media, _) = client.raw("GET", &format!("{WIDGETS}/none"), &[("accept", BOTH)], "").await;
    assert_eq!((code, &*media), (404, PROTOBUF));
    let yaml = format!("{PROTOBUF},application/yaml");
    assert_eq!(client.raw("GET", &path, &[("accept", &yaml)], "").await.1, "application/yaml");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let (code, media, _) = client.raw("GET", &path, &[("accept", &metadata)], "").await;
    assert_eq!((code, &*media), (200, PROTOBUF));

    let body = object("rig.test/v1", "Widget", &named("b"));
    // The response cannot be in protobuf either.
    assert_eq!(client.raw("POST", WIDGETS, &SENT, body.clone()).await.0, 406);
    let sent = [("content-type", PROTOBUF)];
    assert_eq!(client.raw("POST", WIDGETS, &sent, body).await.0, 415);
    let options = object("v1", "DeleteOptions", &field(2, field(1, "other")));
    assert_eq!(client.raw("DELETE", &path, &sent, options).await.0, 409);
}

/// Unknown fields of a message are skipped, also where those of a text are refused.
#[tokio::test(start_paused = true)]
async fn unknown_fields_are_skipped() {
    let client = TestClient::new();
    let raw = [named("a"), field(15, "unknown")].concat();
    let strict = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    assert_eq!(client.raw("POST", &strict, &SENT, object("v1", "ConfigMap", &raw)).await.0, 201);
    let refused = |body: Vec<u8>| {
        let client = client.clone();
        async move {
            client
                .send("POST", CONFIG_MAPS, &[("content-type", PROTOBUF)], body)
                .await
                .refused(400, "BadRequest")
        }
    };
    let why = refused(b"k8s\0\xff".to_vec()).await;
    assert_eq!(
        why,
        "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b387300ff)"
    );
    let why = refused(object("v1", "ConfigMap", &[10, 80])).await;
    assert_eq!(why, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF");
    let why = refused(object("v1", "Secret", &named("a"))).await;
    assert!(why.starts_with("Secret in version \"v1\" cannot be handled as a ConfigMap"), "{why}");
}

/// What `helm uninstall` sends.
#[tokio::test(start_paused = true)]
async fn recorded_options_of_helm_are_read() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let options = object("v1", "DeleteOptions", &field(4, "Background"));
    let sent = [("content-type", PROTOBUF), ("accept", BOTH)];
    assert_eq!(client.raw("DELETE", &format!("{CONFIG_MAPS}/a"), &sent, options).await.0, 200);
}
