//! Endpoints and EndpointSlices of services.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const CORE: &str = "/api/v1/namespaces/default";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Endpoints);
    TestClient { api: builder.service().unwrap() }
}

fn service(name: &str, spec: Value) -> Value {
    json!({"metadata": {"name": name, "labels": {"team": "x"}}, "spec": spec})
}

async fn start_pod(client: &TestClient, name: &str, app: &str, port: u16) {
    let ports = json!([{"name": "http", "containerPort": port}]);
    let pod = json!({"metadata": {"name": name, "labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i", "ports": ports}]}});
    client.post(&format!("{CORE}/pods"), pod).await.ok();
}

async fn slices(client: &TestClient, service: &str) -> Vec<Value> {
    let path = format!("{SLICES}?labelSelector=kubernetes.io/service-name={service}");
    client.get(&path).await.ok()["items"].as_array().unwrap().clone()
}

/// The names of the pods in the slices of a service, with their conditions.
async fn listed(client: &TestClient, service: &str) -> Vec<(String, bool, bool)> {
    let mut listed = Vec::new();
    for slice in slices(client, service).await {
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            let name = endpoint["targetRef"]["name"].as_str().unwrap().to_owned();
            let condition = |kind: &str| endpoint["conditions"][kind] == true;
            listed.push((name, condition("ready"), condition("terminating")));
        }
    }
    listed.sort();
    listed
}

/// The objects are those of a genuine server (1.37).
#[tokio::test(start_paused = true)]
async fn endpoints_follow_the_pods_of_a_service() {
    let client = client();
    let spec = json!({"selector": {"app": "a"}, "ports": [{"name": "h", "port": 80, "targetPort": "http"}]});
    let made = client.post(&format!("{CORE}/services"), service("web", spec)).await.ok();
    let path = format!("{CORE}/endpoints/web");
    let empty = client.get(&path).await.ok();
    assert_eq!(empty.get("subsets"), None);
    assert_eq!(
        empty["metadata"]["labels"],
        json!({"team": "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller"})
    );
    let slice = slices(&client, "web").await.remove(0);
    let owner = json!({"apiVersion": "v1", "kind": "Service", "name": "web", "uid": made["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true});
    assert_eq!(slice["metadata"]["ownerReferences"], json!([owner]));
    assert_eq!(
        slice["metadata"]["labels"],
        json!({"team": "x", "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"})
    );
    assert_eq!((slice.get("endpoints"), slice.get("ports")), (Some(&Value::Null), Some(&Value::Null)));

    start_pod(&client, "one", "a", 8080).await;
    start_pod(&client, "stranger", "b", 8080).await;
    let pod = client.get(&format!("{CORE}/pods/one")).await.ok();
    let target = json!({"kind": "Pod", "namespace": "default", "name": "one", "uid": pod["metadata"]["uid"]});
    let address = json!({"ip": pod["status"]["podIP"], "nodeName": "testserver", "targetRef": target});
    let port = json!({"name": "h", "port": 8080, "protocol": "TCP"});
    assert_eq!(client.get(&path).await.ok()["subsets"], json!([{"addresses": [address], "ports": [port]}]));
    let slice = slices(&client, "web").await.remove(0);
    assert_eq!((&slice["metadata"]["generation"], &slice["ports"]), (&json!(2), &json!([port])));
    assert_eq!(
        slice["endpoints"],
        json!([{"addresses": [pod["status"]["podIP"]], "nodeName": "testserver", "targetRef": target,
            "conditions": {"ready": true, "serving": true, "terminating": false}}])
    );

    start_pod(&client, "two", "a", 9090).await;
    assert_eq!(slices(&client, "web").await.len(), 2, "one for each list of ports");
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    client.patch(MERGE, &format!("{CORE}/pods/two/status"), ready).await.ok();
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false), ("two".into(), false, false)]);
    let endpoints = client.get(&path).await.ok();
    assert_eq!(endpoints["subsets"][1]["notReadyAddresses"][0]["targetRef"]["name"], "two");

    client
        .patch(MERGE, &format!("{CORE}/pods/one"), json!({"metadata": {"finalizers": ["x.test/hold"]}}))
        .await
        .ok();
    client.delete(&format!("{CORE}/pods/one")).await.ok();
    assert_eq!(listed(&client, "web").await, [("one".into(), false, true), ("two".into(), false, false)]);
    client
        .patch(MERGE, &format!("{CORE}/pods/two"), json!({"metadata": {"labels": {"app": "b"}}}))
        .await
        .ok();
    client.patch(MERGE, &format!("{CORE}/pods/one"), json!({"metadata": {"finalizers": null}})).await.ok();
    assert_eq!((listed(&client, "web").await, slices(&client, "web").await.len()), (vec![], 1));

    client.delete(&format!("{CORE}/services/web")).await.ok();
    client.get(&path).await.refused(404, "NotFound");
    assert_eq!(slices(&client, "web").await, [] as [Value; 0]);
}

#[tokio::test(start_paused = true)]
async fn selectors_change_and_removed_endpoints_come_back() {
    let client = client();
    start_pod(&client, "one", "a", 80).await;
    start_pod(&client, "two", "b", 80).await;
    let spec = json!({"selector": {"app": "a"}, "clusterIP": "None"});
    client.post(&format!("{CORE}/services"), service("web", spec)).await.ok();
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false)]);
    let headless = slices(&client, "web").await.remove(0);
    assert_eq!(
        (&headless["metadata"]["labels"]["service.kubernetes.io/headless"], &headless["ports"]),
        (&json!(""), &Value::Null)
    );
    client.delete(&format!("{CORE}/endpoints/web")).await.ok();
    client.delete(&format!("{SLICES}/{}", headless["metadata"]["name"].as_str().unwrap())).await.ok();
    client.get(&format!("{CORE}/endpoints/web")).await.ok();
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false)]);
    client
        .patch(MERGE, &format!("{CORE}/services/web"), json!({"spec": {"selector": {"app": "b"}}}))
        .await
        .ok();
    assert_eq!(listed(&client, "web").await, [("two".into(), true, false)]);
    // A service without a selector keeps what it has.
    client.patch(MERGE, &format!("{CORE}/services/web"), json!({"spec": {"selector": null}})).await.ok();
    client.get(&format!("{CORE}/endpoints/web")).await.ok();
    start_pod(&client, "three", "b", 80).await;
    assert!(listed(&client, "web").await.iter().all(|(name, ..)| name == "two"));
}

#[tokio::test(start_paused = true)]
async fn endpoints_of_users_are_mirrored() {
    let client = client();
    client.post(&format!("{CORE}/services"), service("own", json!({"ports": [{"port": 80}]}))).await.ok();
    let subsets = json!([{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]);
    let endpoints = json!({"metadata": {"name": "own", "labels": {"l": "1"}}, "subsets": subsets});
    client.post(&format!("{CORE}/endpoints"), endpoints.clone()).await.ok();
    let slice = slices(&client, "own").await.remove(0);
    assert_eq!(slice["endpoints"], json!([{"addresses": ["10.1.1.1"], "conditions": {"ready": true}}]));
    assert_eq!(slice["metadata"]["ownerReferences"][0]["kind"], "Endpoints");
    let moved = json!({"subsets": [{"addresses": [{"ip": "10.1.1.9"}], "ports": [{"port": 80}]}]});
    client.patch(MERGE, &format!("{CORE}/endpoints/own"), moved).await.ok();
    let slice = slices(&client, "own").await.remove(0);
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["10.1.1.9"]));
    client.delete(&format!("{CORE}/endpoints/own")).await.ok();
    assert_eq!(slices(&client, "own").await.len(), 0);
    // Endpoints of no service are left alone.
    let mut lonely = endpoints.clone();
    lonely["metadata"]["name"] = "lonely".into();
    client.post(&format!("{CORE}/endpoints"), lonely).await.ok();
    assert_eq!(slices(&client, "lonely").await.len(), 0);
    client.post(&format!("{CORE}/endpoints"), endpoints).await.ok();
    client.delete(&format!("{CORE}/services/own")).await.ok();
    assert_eq!((slices(&client, "own").await.len(), slices(&client, "lonely").await.len()), (0, 0));
    client.get(&format!("{CORE}/endpoints/own")).await.refused(404, "NotFound");
    client.get(&format!("{CORE}/endpoints/lonely")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn endpoints_are_off_by_default() {
    let client = TestClient::new();
    client
        .post(
            &format!("{CORE}/services"),
            service("web", json!({"selector": {"app": "a"}, "ports": [{"port": 80}]})),
        )
        .await
        .ok();
    client.get(&format!("{CORE}/endpoints/web")).await.refused(404, "NotFound");
    assert_eq!(slices(&client, "web").await.len(), 0);
}

/// Another state has other services and pods: nothing of the former one is left in memory.
#[tokio::test(start_paused = true)]
async fn endpoints_follow_a_restored_state() {
    let client = client();
    let spec = json!({"selector": {"app": "a"}, "ports": [{"port": 80}]});
    client.post(&format!("{CORE}/services"), service("web", spec.clone())).await.ok();
    start_pod(&client, "one", "a", 80).await;
    let saved = client.api.snapshot();
    client.post(&format!("{CORE}/services"), service("later", spec)).await.ok();
    start_pod(&client, "two", "a", 80).await;
    client.api.restore(saved).unwrap();
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false)]);
    start_pod(&client, "three", "a", 80).await;
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false), ("three".into(), true, false)]);
    client.get(&format!("{CORE}/endpoints/later")).await.refused(404, "NotFound");
}

/// A snapshot that was written by hand: nothing in it has a uid or a resourceVersion.
#[tokio::test(start_paused = true)]
async fn objects_of_a_restored_file_have_an_identity() {
    let client = client();
    let pod = |name: &str, ip: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": "a"}},
            "spec": {"nodeName": "testserver", "containers": [{"name": "c", "image": "i"}]},
            "status": {"podIP": ip, "podIPs": [{"ip": ip}], "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    let spec = json!({"selector": {"app": "a"}, "ports": [{"port": 80}], "publishNotReadyAddresses": true});
    let mut service = service("web", spec);
    (service["apiVersion"], service["kind"]) = ("v1".into(), "Service".into());
    service["metadata"]["namespace"] = "default".into();
    let objects = [namespace, pod("p1", "10.9.0.1"), pod("p2", "10.9.0.2"), service];
    client.api.restore(objects.map(|object| object.to_string()).join("\n---\n")).unwrap();
    let [one, two] = ["p1", "p2"].map(|name| (name.to_owned(), true, false));
    assert_eq!(listed(&client, "web").await, [one, two]);
    let mut uids = Vec::new();
    for name in ["p1", "p2"] {
        let metadata = client.get(&format!("{CORE}/pods/{name}")).await.ok()["metadata"].take();
        uids.push(metadata["uid"].as_str().expect("a uid").to_owned());
        assert!(metadata["resourceVersion"].is_string(), "{metadata}");
    }
    assert_ne!(uids[0], uids[1]);
}

/// Two objects of a file may have the same uid. Neither is taken for the other.
#[tokio::test(start_paused = true)]
async fn pods_with_one_uid_are_two_pods() {
    let client = client();
    let spec = json!({"selector": {"app": "a"}, "ports": [{"port": 80}]});
    client.post(&format!("{CORE}/services"), service("web", spec)).await.ok();
    start_pod(&client, "one", "a", 80).await;
    start_pod(&client, "two", "a", 80).await;
    let uid = |pod: Value| pod["metadata"]["uid"].as_str().unwrap().to_owned();
    let one = client.get(&format!("{CORE}/pods/one")).await.ok();
    let two = client.get(&format!("{CORE}/pods/two")).await.ok();
    let version = |pod: &Value| {
        format!("resourceVersion: \"{}\"", pod["metadata"]["resourceVersion"].as_str().unwrap())
    };
    let saved = client.api.snapshot().replace(&version(&two), &version(&one)).replace(&uid(two), &uid(one));
    client.api.restore(saved).unwrap();
    assert_eq!(listed(&client, "web").await, [("one".into(), true, false), ("two".into(), true, false)]);
}

/// What was refused is tried again, also when nothing else happens to the service.
#[tokio::test(start_paused = true)]
async fn refused_endpoints_are_written_when_they_may_be() {
    for counted in ["endpoints", "endpointslices.discovery.k8s.io"] {
        let client = client();
        let mut hard = json!({});
        hard[format!("count/{counted}")] = "0".into();
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
        client.post(&format!("{CORE}/resourcequotas"), quota).await.ok();
        let spec = json!({"selector": {"app": "a"}, "ports": [{"port": 80}]});
        client.post(&format!("{CORE}/services"), service("web", spec)).await.ok();
        start_pod(&client, "one", "a", 80).await;
        let written = async || {
            let endpoints = client.get(&format!("{CORE}/endpoints/web")).await.code == 200;
            (endpoints, slices(&client, "web").await.len())
        };
        assert_ne!(written().await, (true, 1), "{counted}");
        client.delete(&format!("{CORE}/resourcequotas/q")).await.ok();
        client.api.advance(std::time::Duration::from_secs(10));
        assert_eq!(written().await, (true, 1), "{counted}");
        assert_eq!(listed(&client, "web").await, [("one".into(), true, false)]);
    }
}

/// An update of a controller passes what a creation passes.
#[tokio::test(start_paused = true)]
async fn invalid_addresses_are_refused_in_updates_too() {
    let client = client();
    let spec = json!({"selector": {"app": "a"}, "ports": [{"port": 80}]});
    client.post(&format!("{CORE}/services"), service("web", spec)).await.ok();
    start_pod(&client, "one", "a", 80).await;
    let address = async || {
        client.get(&format!("{CORE}/endpoints/web")).await.ok()["subsets"][0]["addresses"][0]["ip"].take()
    };
    let before = address().await;
    assert!(before.is_string());
    let status = |ip: &Value| json!({"status": {"podIP": ip, "podIPs": [{"ip": ip}]}});
    let path = format!("{CORE}/pods/one/status");
    let moved = client.patch(MERGE, &path, status(&json!("169.254.1.1"))).await.ok();
    assert_eq!(moved["status"]["podIP"], "169.254.1.1");
    assert_eq!(address().await, before, "a link-local address is refused");
    assert_eq!(slices(&client, "web").await[0]["endpoints"][0]["addresses"], json!([before]));
    client.patch(MERGE, &path, status(&json!("10.1.2.3"))).await.ok();
    assert_eq!(address().await, "10.1.2.3");
}
