//! `Api::forward` against pods of the embedded server.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube_client::api::{DeleteParams, PostParams};
use kube_client::{Api, Client};
use kube_testserver::{BuiltInController, TestServer};
use kube_tools::ApiExt as _;
use kube_tools::pods::{ForwardError, ForwardPort, ForwardTarget, Forwarder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cutter::Cutter;
use crate::running_pod::within;
use crate::server::config_of;
use crate::tasks::{alive_tasks, wait_for_tasks};

/// A server whose pods say their name and port, and then echo. Nothing listens on ports below 10.
async fn server() -> (TestServer, Api<Pod>) {
    let builder = TestServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let server = builder.tls().start().await.unwrap();
    server.api().kubelet().on_port_forward(async |mut connection| {
        if connection.port < 10 {
            return Err(format!("nothing listens on {}", connection.port));
        }
        let hello = format!("{}:{}\n", connection.pod, connection.port);
        let _ = connection.stream.write_all(hello.as_bytes()).await;
        let (mut reader, mut writer) = tokio::io::split(connection.stream);
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        Ok(())
    });
    let pods = Api::default_namespaced(Client::try_from(config_of(&server)).unwrap());
    (server, pods)
}

async fn create(pods: &Api<Pod>, name: &str) {
    let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "main", "image": "i", "ports": [{"name": "http", "containerPort": 8080}]}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
}

async fn create_service(pods: &Api<Pod>) {
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [
        {"name": "http", "port": 80, "targetPort": "http"}, {"name": "metrics", "port": 9000, "targetPort": 9090}]}});
    let services: Api<Service> = Api::default_namespaced(pods.clone().into_client());
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
}

/// A connection, and the line with which it was greeted.
async fn connect(forwarder: &Forwarder, index: usize) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(forwarder.local_addrs()[index]).await.unwrap();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        line.push(within(stream.read_u8()).await.unwrap());
    }
    (stream, String::from_utf8(line).unwrap().trim().to_owned())
}

#[tokio::test]
async fn several_ports_of_a_pod_are_forwarded_both_ways() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let ports = [ForwardPort::to("http"), ForwardPort::to(99)];
    let forwarder = within(pods.forward(&ForwardTarget::Pod("a".into()), &ports)).await.unwrap();
    for (index, greeting) in [(0, "a:8080"), (1, "a:99")] {
        let (mut stream, line) = connect(&forwarder, index).await;
        assert_eq!(line, greeting);
        let sent = vec![b'x'; 1 << 20];
        let (mut reader, mut writer) = stream.split();
        let write = async {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        // Servers do not forward the end of the client's side: the pod goes on, and so does its answer.
        let mut echoed = vec![0; sent.len()];
        within(async { tokio::join!(write, reader.read_exact(&mut echoed)) }).await.1.unwrap();
        assert!(echoed == sent);
    }
    // The listeners end with it, and so do the connections.
    let (mut open, _) = connect(&forwarder, 0).await;
    let address = forwarder.local_addrs()[0];
    drop(forwarder);
    assert!(!matches!(within(open.read(&mut [0])).await, Ok(1..)));
    assert!(TcpStream::connect(address).await.is_err());
    server.shutdown().await;
}

#[tokio::test]
async fn a_refused_port_is_the_error_of_its_connection_alone() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let ports = [ForwardPort::to(1), ForwardPort::to(99)];
    let forwarder = within(pods.forward(&ForwardTarget::Pod("a".into()), &ports)).await.unwrap();
    let mut errors = forwarder.errors();
    let (_open, _) = connect(&forwarder, 1).await;
    for _ in 0..2 {
        let mut refused = TcpStream::connect(forwarder.local_addrs()[0]).await.unwrap();
        assert!(within(refused.read(&mut [0])).await.is_err(), "it is reset");
        let err = within(errors.recv()).await.unwrap();
        assert!(matches!(&*err, ForwardError::Refused { .. }), "{err:?}");
        assert!(
            err.to_string().contains("pod a, port 1: ") && err.to_string().contains("nothing listens on 1"),
            "{err}"
        );
    }
    let (mut fine, _) = connect(&forwarder, 1).await;
    fine.write_all(b"x").await.unwrap();
    assert_eq!(within(fine.read_u8()).await.unwrap(), b'x');
    server.shutdown().await;
}

#[tokio::test]
async fn a_service_survives_the_replacement_of_its_pod() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    create_service(&pods).await;
    let ports = [ForwardPort::to(80), ForwardPort::to("metrics")];
    let target = ForwardTarget::Service("web".into());
    let forwarder = within(pods.forward(&target, &ports)).await.unwrap();
    assert_eq!(connect(&forwarder, 1).await.1, "a:9090");
    assert_eq!(connect(&forwarder, 0).await.1, "a:8080");
    pods.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
    let waiting = tokio::spawn({
        let address = forwarder.local_addrs()[0];
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut line = [0; 6];
            stream.read_exact(&mut line).await.map(|_| String::from_utf8_lossy(&line).into_owned())
        }
    });
    // The new connection waits for a ready pod.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    create(&pods, "b").await;
    assert_eq!(within(waiting).await.unwrap().unwrap(), "b:8080");
    server.shutdown().await;
}

#[tokio::test]
async fn an_open_connection_of_a_deleted_pod_ends_with_an_error_that_says_so() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let (client, cutter) = Cutter::between(&server).await;
    let watched: Api<Pod> = Api::default_namespaced(client);
    let forwarder =
        within(watched.forward(&ForwardTarget::Pod("a".into()), &[ForwardPort::to(99)])).await.unwrap();
    let mut errors = forwarder.errors();
    // The connection to the server ends, the pod stays: as if the pod had ended the connection.
    let (mut open, _) = connect(&forwarder, 0).await;
    cutter.cut();
    assert!(!matches!(within(open.read(&mut [0])).await, Ok(1..)));
    // The pod is replaced by one of the same name.
    let (mut open, _) = connect(&forwarder, 0).await;
    pods.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
    create(&pods, "a").await;
    cutter.cut();
    assert!(within(open.read(&mut [0])).await.is_err(), "it is reset");
    let err = within(errors.recv()).await.unwrap();
    let expected = "the connection to pod a, port 99, ended: the pod was deleted or replaced";
    assert_eq!(err.to_string(), expected);
    assert_eq!(connect(&forwarder, 0).await.1, "a:99");
    server.shutdown().await;
}

#[tokio::test]
async fn a_deployment_is_forwarded_to_a_ready_pod() {
    let (server, pods) = server().await;
    let deployment = json!({"metadata": {"name": "shop"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}},
        "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}}});
    let deployments: Api<Deployment> = Api::default_namespaced(pods.clone().into_client());
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let forwarder =
        within(pods.forward(&"deploy/shop".parse().unwrap(), &[":99".parse().unwrap()])).await.unwrap();
    let (_open, line) = connect(&forwarder, 0).await;
    assert!(line.starts_with("shop-") && line.ends_with(":99"), "{line}");
    // Connections stay with their pod while it is ready.
    assert_eq!(connect(&forwarder, 0).await.1, line);
    server.shutdown().await;
}

#[tokio::test]
async fn ports_are_those_of_their_protocol() {
    let (server, pods) = server().await;
    let pod = json!({"metadata": {"name": "dns", "labels": {"app": "dns"}}, "spec": {"containers": [{"name": "main", "image": "i",
        "ports": [{"name": "dns", "containerPort": 53, "protocol": "UDP"}, {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
            {"name": "ntp", "containerPort": 123, "protocol": "UDP"}]}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let services: Api<Service> = Api::default_namespaced(pods.clone().into_client());
    let ports = json!([{"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": "dns-tcp"}, {"name": "ntp", "port": 123, "protocol": "UDP"},
        {"name": "moved", "port": 80, "targetPort": 8080}]);
    for (name, address) in [("kube-dns", json!(null)), ("headless", json!("None"))] {
        let service = json!({"metadata": {"name": name}, "spec": {"clusterIP": address, "selector": {"app": "dns"}, "ports": ports}});
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }
    let greeting = async |target: &str, port: &str| {
        let forwarder = within(pods.forward(&target.parse().unwrap(), &[ForwardPort::to(port)])).await;
        match forwarder {
            Ok(forwarder) => connect(&forwarder, 0).await.1,
            Err(err) => err.to_string(),
        }
    };
    for (target, port, expected) in [
        ("svc/kube-dns", "53", "dns:53"),
        ("svc/kube-dns", "dns-tcp", "dns:53"),
        // kubectl takes the name for the number.
        ("svc/kube-dns", "dns", "dns:53"),
        ("dns", "dns", "dns:53"),
        ("svc/kube-dns", "80", "dns:8080"),
        // kube-proxy is not involved: its pods are asked by the port of the Service.
        ("svc/headless", "53", "dns:53"),
        ("svc/headless", "80", "dns:80"),
        ("svc/headless", "moved", "dns:80"),
        ("dns", "53", "dns:53"),
        ("dns", "dns-tcp", "dns:53"),
        ("dns", "99", "dns:99"),
    ] {
        assert_eq!(greeting(target, port).await, expected, "{target} {port}");
    }
    for (target, port) in [
        ("svc/kube-dns", "ntp"),
        ("svc/kube-dns", "123"),
        ("svc/headless", "123"),
        ("dns", "ntp"),
        ("dns", "123"),
    ] {
        let refused = greeting(target, port).await;
        assert!(
            refused.contains("UDP") && refused.contains("only TCP can be forwarded"),
            "{target} {port}: {refused}"
        );
    }
    server.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_forwarded_is_refused_at_the_start() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    create_service(&pods).await;
    let refusal = async |target: &str, ports: &[ForwardPort]| {
        let forwarding = within(pods.forward(&target.parse().unwrap(), ports)).await;
        forwarding.unwrap_err().to_string()
    };
    let any = [ForwardPort::to(80)];
    assert!(
        refusal("svc/none", &any)
            .await
            .contains("cannot find a pod of service/none: services \"none\" not found")
    );
    assert!(refusal("deploy/none", &any).await.contains("deployments.apps \"none\" not found"));
    let text = refusal("svc/web", &[ForwardPort::to(81)]).await;
    assert_eq!(
        text,
        "cannot forward to service/web, port 81: the Service has no such port; its ports: 80, 9000"
    );
    let text = refusal("a", &[ForwardPort::to("none")]).await;
    assert_eq!(text, "cannot forward to pod/a, port none: no container of pod a has a port named none");
    assert_eq!(refusal("a", &[]).await, "no port to forward to pod/a is given");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let text = refusal("a", &[ForwardPort::to(80).on(address)]).await;
    assert!(text.starts_with(&format!("cannot listen on {address}: ")), "{text}");
    let everywhere: Api<Pod> = Api::all(pods.clone().into_client());
    let err = everywhere.forward(&ForwardTarget::Pod("a".into()), &any).await.unwrap_err();
    assert!(err.to_string().contains("the Api has no namespace"), "{err}");
    // A pod that does not exist yet may come later.
    let forwarder = within(pods.forward(&ForwardTarget::Pod("later".into()), &any)).await.unwrap();
    let address = forwarder.local_addrs()[0];
    let waiting = tokio::spawn(async move { TcpStream::connect(address).await.unwrap().read_u8().await });
    create(&pods, "later").await;
    assert_eq!(within(waiting).await.unwrap().unwrap(), b'l');
    server.shutdown().await;
}

#[tokio::test]
async fn forwarding_ends_when_it_is_shut_down_and_leaves_no_task_behind() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let run = async || {
        let forwarder =
            within(pods.forward(&ForwardTarget::Pod("a".into()), &[ForwardPort::to(99)])).await.unwrap();
        let address = forwarder.local_addrs()[0];
        let (mut open, _) = connect(&forwarder, 0).await;
        let down = tokio::spawn(forwarder.shutdown());
        // The open connection goes on until its end.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(TcpStream::connect(address).await.is_err());
        open.write_all(b"x").await.unwrap();
        assert_eq!(within(open.read_u8()).await.unwrap(), b'x');
        // A reset: after a mere end of the client's side, the pod may still answer.
        socket2::SockRef::from(&open).set_linger(Some(Duration::ZERO)).unwrap();
        drop(open);
        within(down).await.unwrap();
    };
    run().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let tasks = alive_tasks();
    for _ in 0..3 {
        run().await;
    }
    wait_for_tasks(tasks).await;
    server.shutdown().await;
}
