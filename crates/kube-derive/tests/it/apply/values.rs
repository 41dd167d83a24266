//! The values that fields take.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
};

use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::Deployment,
        authentication::v1::UserInfo,
        core::v1::{
            Affinity, ConfigMap, Container, Event, Pod, PodSpec, PodStatus, Probe, Secret, Service,
            ServiceSpec, Toleration,
        },
        events,
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, ObjectMeta},
        util::intstr::IntOrString,
    },
    jiff::Timestamp,
};
use kube_core::Sparse;
use serde::Serialize;
use serde_json::json;

use super::{error, json};

fn probe(path: &str) -> Sparse<Probe> {
    apply!(Probe { http_get: { path, port: "http" }, period_seconds: 5 })
}

#[test]
fn a_deployment_has_exactly_the_fields_that_are_written() {
    let (name, replicas, debug) = (&String::from("web"), None::<i32>, true);
    let env = [("A", "1".to_owned())];
    let web = apply!(Deployment {
        metadata: { name, labels: { "app": name } },
        spec: {
            replicas,
            selector: { match_labels: { "app": name } },
            template: {
                metadata: { labels: { "app": name } },
                spec: { containers: [{
                    name: "web",
                    image: format!("registry.example.com/{name}"),
                    if debug { args: ["--verbose"] }
                    ports: [{ name: "http", container_port: 8080 }],
                    env: [{ name: "RUST_LOG", value: "info" }, for (name, value) in &env { name, value }],
                    resources: { limits: { "cpu": "500m", "memory": "128Mi" } },
                    readiness_probe: probe("/healthz"),
                }] },
            },
        },
    });
    assert_eq!(
        json(&web),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": "web", "labels": { "app": "web" } },
            "spec": {
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{
                        "name": "web",
                        "image": "registry.example.com/web",
                        "args": ["--verbose"],
                        "ports": [{ "name": "http", "containerPort": 8080 }],
                        "env": [{ "name": "RUST_LOG", "value": "info" }, { "name": "A", "value": "1" }],
                        "resources": { "limits": { "cpu": "500m", "memory": "128Mi" } },
                        "readinessProbe": { "httpGet": { "path": "/healthz", "port": "http" }, "periodSeconds": 5 },
                    }] },
                },
            },
        })
    );
}

#[test]
fn a_type_that_is_no_resource_has_no_kind() {
    assert_eq!(json(&probe("/"))["httpGet"]["path"], "/");
    assert!(json(&probe("/")).get("kind").is_none());
}

#[test]
fn whole_values_references_and_options_are_leaves() {
    let affinity = Some(Affinity::default());
    let tolerations = Some(vec![Toleration { key: Some("k".into()), ..Default::default() }]);
    let node: &Option<String> = &Some("n".into());
    let class: Option<&str> = None;
    let spec = apply!(PodSpec {
        affinity: &affinity,
        tolerations: &tolerations,
        node_name: node,
        priority_class_name: class,
        scheduler_name: None,
        hostname: Cow::Borrowed("h"),
        restart_policy: Some("Never"),
        active_deadline_seconds: Some(3_i32),
        host_pid: true,
        containers: Vec::new(),
    });
    assert_eq!(
        json(&spec),
        json!({
            "affinity": {}, "tolerations": [{ "key": "k" }], "nodeName": "n", "hostname": "h", "restartPolicy": "Never",
            "activeDeadlineSeconds": 3, "hostPID": true, "containers": [],
        })
    );
}

#[test]
fn a_part_is_a_value_by_itself_in_lists_and_in_options() {
    let part = |name: &str| apply!(Container { name, tty: false });
    let spec = apply!(PodSpec {
        containers: [part("a"), &part("b"), ..[part("c")]],
        init_containers: [..vec![part("d")]],
        ephemeral_containers: None,
    });
    let item = |name: &str| json!({ "name": name, "tty": false });
    assert_eq!(
        json(&spec),
        json!({ "containers": [item("a"), item("b"), item("c")], "initContainers": [item("d")] })
    );
    let maybe = Some(apply!(ObjectMeta { name: "x" }));
    assert_eq!(json(&apply!(ConfigMap { metadata: maybe }))["metadata"], json!({ "name": "x" }));
}

#[test]
fn types_of_the_api_have_their_usual_forms() {
    let bytes = vec![1_u8, 2];
    let secret = apply!(Secret { data: { "a": b"xyz", "b": bytes.as_slice(), "c": bytes } });
    let encoded = |bytes: &[u8]| serde_json::to_value(ByteString(bytes.to_vec())).unwrap();
    assert_eq!(
        json(&secret)["data"],
        json!({ "a": encoded(b"xyz"), "b": encoded(&[1, 2]), "c": encoded(&[1, 2]) })
    );

    let port: u16 = 80;
    let spec = apply!(ServiceSpec { ports: [
        { port, target_port: port },
        { port: 81, target_port: 81 },
        { port: 82, target_port: "http" },
        { port: 83, target_port: IntOrString::Int(83) },
    ] });
    let ports = json(&spec)["ports"].clone();
    assert_eq!(ports[0], json!({ "port": 80, "targetPort": 80 }));
    assert_eq!(ports[2], json!({ "port": 82, "targetPort": "http" }));
    assert_eq!(ports[3], json!({ "port": 83, "targetPort": 83 }));

    let quantity = Quantity("1".into());
    let limits =
        apply!(Container { resources: { limits: { "a": &quantity, "b": "2", "c": String::from("3") } } });
    assert_eq!(json(&limits)["resources"]["limits"], json!({ "a": "1", "b": "2", "c": "3" }));

    let status =
        apply!(PodStatus { start_time: Timestamp::UNIX_EPOCH, pod_ip: "1.2.3.4", host_ip: "4.3.2.1" });
    assert_eq!(
        json(&status),
        json!({ "startTime": "1970-01-01T00:00:00Z", "podIP": "1.2.3.4", "hostIP": "4.3.2.1" })
    );
}

#[test]
fn types_without_default_can_be_written_in_braces() {
    let now = Timestamp::UNIX_EPOCH;
    let event = apply!(events::v1::Event { series: { count: 2, last_observed_time: now } });
    assert_eq!(
        json(&event)["series"],
        json!({ "count": 2, "lastObservedTime": "1970-01-01T00:00:00.000000Z" })
    );
    assert_eq!(json(&apply!(Event { series: { count: 2 } }))["series"], json!({ "count": 2 }));
    let condition = apply!(Condition { type_: "Ready", status: "True", last_transition_time: now });
    assert_eq!(
        json(&condition),
        json!({ "type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z" })
    );
    let own = apply!(Own { ready: { status: "False" }, all: [{ type_: "A" }] });
    assert_eq!(json(&own), json!({ "ready": { "status": "False" }, "all": [{ "type": "A" }] }));
}

#[derive(Default, Serialize)]
struct Own {
    ready: Option<Condition>,
    all: Vec<Condition>,
}

#[derive(Default, Serialize)]
struct Collections {
    set: BTreeSet<String>,
    hash_set: HashSet<i32>,
    deque: Option<VecDeque<Inner>>,
    by_number: BTreeMap<u8, Inner>,
    hash_map: HashMap<String, Vec<Inner>>,
    nested: Vec<Vec<i32>>,
    maps: Vec<BTreeMap<String, i32>>,
    map_of_maps: BTreeMap<String, BTreeMap<String, bool>>,
    boxed: Option<Box<Inner>>,
    plain_box: Box<Inner>,
    newtype: Name,
    tuple: (i32, String),
    tree: Option<Box<Collections>>,
}

#[derive(Clone, Default, Serialize)]
struct Inner {
    v: i64,
}

#[derive(Default, Serialize)]
struct Name(String);

#[test]
fn collections_and_pointers_are_written_like_lists_maps_and_structs() {
    let value = apply!(Collections {
        set: ["b", "a"],
        hash_set: [1],
        deque: [{ v: 1 }, { v: 2 }],
        by_number: { 7_u8: { v: 3 } },
        hash_map: { "a": [{ v: 4 }], "b": [] },
        nested: [[1, 2], [], [3]],
        maps: [{ "x": 1 }, { "y": 2 }],
        map_of_maps: { "a": { "b": true } },
        boxed: { v: 5 },
        plain_box: { v: 6 },
        newtype: Name("n".into()),
        tuple: (1, "t".to_owned()),
        tree: { tree: { boxed: { v: 7 } } },
    });
    assert_eq!(
        json(&value),
        json!({
            "set": ["b", "a"],
            "hash_set": [1],
            "deque": [{ "v": 1 }, { "v": 2 }],
            "by_number": { "7": { "v": 3 } },
            "hash_map": { "a": [{ "v": 4 }], "b": [] },
            "nested": [[1, 2], [], [3]],
            "maps": [{ "x": 1 }, { "y": 2 }],
            "map_of_maps": { "a": { "b": true } },
            "boxed": { "v": 5 },
            "plain_box": { "v": 6 },
            "newtype": "n",
            "tuple": [1, "t"],
            "tree": { "tree": { "boxed": { "v": 7 } } },
        })
    );
}

#[test]
fn keys_of_maps_are_texts_or_expressions() {
    const APP: &str = "app";
    let more = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
    let meta = apply!(ObjectMeta { labels: { (APP): "web", ("a".to_owned() + "b"): "c", "n": None::<String>, ..&more } });
    assert_eq!(json(&meta)["labels"], json!({ "app": "web", "ab": "c", "x": "1" }));
    let user = apply!(UserInfo { extra: { "scopes": ["a", "b"] } });
    assert_eq!(json(&user), json!({ "extra": { "scopes": ["a", "b"] } }));
}

#[test]
fn the_fields_of_a_base_are_below_those_that_are_written() {
    let base = apply!(PodSpec { host_pid: true, priority: 1, dns_config: { searches: ["a"] } });
    let spec = apply!(PodSpec { ..&base, priority: 2, dns_config: { nameservers: ["b"] } });
    assert_eq!(json(&spec), json!({ "hostPID": true, "priority": 2, "dnsConfig": { "nameservers": ["b"] } }));
    assert_eq!(spec, apply!(PodSpec { priority: 2, dns_config: { nameservers: ["b"] }, ..base }));
    let none: Option<Sparse<PodSpec>> = None;
    assert_eq!(json(&apply!(Pod { spec: { ..none } }))["spec"], json!({}));
    let merged = apply!(Pod { spec: { priority: 1 } }).merge(apply!(Pod { spec: { host_pid: true } }));
    assert_eq!(json(&merged)["spec"], json!({ "priority": 1, "hostPID": true }));
}

#[test]
fn a_field_that_is_written_twice_has_the_later_value_and_none_changes_nothing() {
    let debug = true;
    let image =
        apply!(Container { image: "a", if debug { image: "b" } image: None::<&str>, name: "x", name: None });
    assert_eq!(json(&image), json!({ "image": "b", "name": "x" }));
    let meta = apply!(Pod { metadata: ObjectMeta { name: Some("a".into()), ..Default::default() }, metadata: { uid: "u" } });
    assert_eq!(json(&meta)["metadata"], json!({ "uid": "u" }));
}

#[test]
fn a_map_is_merged_as_a_whole_and_a_struct_by_field() {
    let labels = |key: &str| apply!(Service { metadata: { labels: { (key): "1" } }, spec: { selector: { (key): "1" } } });
    let merged = labels("a").merge(labels("b"));
    assert_eq!(json(&merged)["metadata"]["labels"], json!({ "b": "1" }));
    assert_eq!(json(&merged)["spec"]["selector"], json!({ "b": "1" }));
}

#[test]
fn an_error_of_a_value_names_its_field() {
    #[derive(Default, Serialize)]
    struct Table {
        rows: Vec<Row>,
    }
    #[derive(Default, Serialize)]
    struct Row {
        cells: BTreeMap<String, BTreeMap<Vec<u8>, i32>>,
    }
    let wrong = BTreeMap::from([(vec![1], 1)]);
    let table = apply!(Table { rows: [{}, { cells: { "a": wrong } }] });
    assert_eq!(error(&table), r#"Table.rows[1].cells["a"]: key must be a string"#);
    assert_eq!(serde_json::to_string(&table).unwrap_err().to_string(), error(&table));
}
