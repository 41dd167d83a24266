//! Processes, ports and logs of pods: scripts of the embedded server, over TLS.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use futures::{AsyncBufReadExt, SinkExt};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{AttachParams, ChannelError, LogParams, PostParams, TerminalSize};
use kube_client::{Api, Client};
use kube_testserver::{Process, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::black_hole::{BlackHole, timed};
use crate::running_pod::{create_running, with_pod, within};
use crate::server::config_of;
use crate::tasks::{alive_tasks, wait_for_tasks};

/// As [`with_pod`], with a client behind a black hole.
async fn behind_black_hole() -> (Api<Pod>, TestServer, BlackHole) {
    let server = TestServer::builder().tls().start().await.unwrap();
    let hole = BlackHole::in_front_of(server.addr()).await;
    let mut config = config_of(&server);
    config.cluster_url = format!("https://{}", hole.address()).parse().unwrap();
    let pods: Api<Pod> = Api::default_namespaced(Client::try_from(config).unwrap());
    create_running(&pods).await;
    (pods, server, hole)
}

#[tokio::test]
async fn a_command_has_input_output_errors_and_an_exit_code() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        let mut input = String::new();
        process.stdin.read_to_string(&mut input).await.unwrap();
        process.stdout.write_all(format!("{:?} {}", process.command, input.len()).as_bytes()).await.unwrap();
        process.stderr.write_all(b"careful").await.unwrap();
        7
    });
    let params = AttachParams::default().stdin(true);
    let mut process = within(pods.exec("web", ["run", "a b"], &params)).await.unwrap();
    let (mut stdin, status) = (process.stdin().unwrap(), process.take_status().unwrap());
    let (mut stdout, mut stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    // More than all buffers on the way hold, and then its end, while output goes on.
    within(stdin.write_all(&vec![b'x'; 1 << 20])).await.unwrap();
    within(stdin.shutdown()).await.unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    within(async { tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err)) })
        .await
        .0
        .unwrap();
    assert_eq!((out.as_str(), err.as_str()), (r#"["run", "a b"] 1048576"#, "careful"));
    let status = within(status).await.unwrap();
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    assert_eq!(status.details.unwrap().causes.unwrap()[0].message.as_deref(), Some("7"));
    within(process.join()).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn a_terminal_is_attached_and_resized() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_attach(async |mut process: Process| {
        let size = process.resized().await.unwrap();
        let mut line = [0; 5];
        process.stdin.read_exact(&mut line).await.unwrap();
        let shown = format!("{}x{} {}", size.width, size.height, String::from_utf8_lossy(&line));
        process.stdout.write_all(shown.as_bytes()).await.unwrap();
    });
    let mut process = within(pods.attach("web", &AttachParams::interactive_tty())).await.unwrap();
    assert!(process.stderr().is_none());
    process.terminal_size().unwrap().send(TerminalSize { width: 80, height: 24 }).await.unwrap();
    process.stdin().unwrap().write_all(b"hello").await.unwrap();
    let mut shown = String::new();
    within(process.stdout().unwrap().read_to_string(&mut shown)).await.unwrap();
    assert_eq!(shown, "80x24 hello");
    assert_eq!(within(process.take_status().unwrap()).await.unwrap().status.as_deref(), Some("Success"));
    server.shutdown().await;
}

#[tokio::test]
async fn ports_are_forwarded_and_refused() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_port_forward(async |mut connection| {
        if connection.port != 80 {
            return Err(format!("nothing listens on {}", connection.port));
        }
        let mut asked = [0; 4];
        connection.stream.read_exact(&mut asked).await.unwrap();
        connection.stream.write_all(&asked.to_ascii_uppercase()).await.unwrap();
        Ok(())
    });
    let mut forwarder = within(pods.portforward("web", &[80, 81])).await.unwrap();
    let refused = within(forwarder.take_error(81).unwrap()).await.unwrap();
    assert!(refused.contains("nothing listens on 81"), "{refused}");
    let mut stream = forwarder.take_stream(80).unwrap();
    stream.write_all(b"ping").await.unwrap();
    let mut answer = [0; 4];
    within(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"PING");
    drop(stream);
    within(forwarder.join()).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn logs_are_read_whole_and_followed() {
    let (pods, server) = with_pod().await;
    let kubelet = server.api().kubelet();
    kubelet.log("default", "web", "main", "one\ntwo");
    assert_eq!(pods.logs("web", &LogParams::default()).await.unwrap(), "one\ntwo\n");
    let last = LogParams { tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(pods.logs("web", &last).await.unwrap(), "two\n");
    let follow = LogParams { follow: true, ..last };
    let mut lines = Box::pin(pods.log_stream("web", &follow).await.unwrap());
    let mut line = String::new();
    within(lines.read_line(&mut line)).await.unwrap();
    kubelet.log("default", "web", "main", "three");
    within(lines.read_line(&mut line)).await.unwrap();
    assert_eq!(line, "two\nthree\n");
    let missing = pods.logs("absent", &LogParams::default()).await.unwrap_err();
    assert!(missing.is_not_found());
    server.shutdown().await;
}

/// As Kubernetes 1.37 does, kubectl's annotation notwithstanding.
#[tokio::test]
async fn of_several_containers_one_has_to_be_named_and_the_refusal_names_them() {
    let (pods, server) = with_pod().await;
    let pod = serde_json::json!({
        "metadata": { "name": "two", "annotations": { "kubectl.kubernetes.io/default-container": "b" } },
        "spec": { "containers": [{ "name": "a", "image": "x" }, { "name": "b", "image": "x" }] },
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let refusals = async |container: Option<&str>| {
        let attach = AttachParams { container: container.map(Into::into), ..AttachParams::default() };
        let logs = LogParams { container: container.map(Into::into), ..LogParams::default() };
        [
            pods.exec("two", ["ls"], &attach).await.err().unwrap(),
            pods.attach("two", &attach).await.err().unwrap(),
            pods.logs("two", &logs).await.err().unwrap(),
        ]
    };
    for refusal in within(refusals(None)).await {
        assert!(
            refusal.is_bad_request() && refusal.to_string().contains("choose one of: [a b]"),
            "{refusal}"
        );
    }
    for refusal in within(refusals(Some("none"))).await {
        assert!(
            refusal.is_bad_request()
                && refusal.to_string().contains("container none is not valid for pod two")
        );
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_process_and_a_port_behind_a_dead_connection_end_within_a_minute() {
    let (pods, server, hole) = behind_black_hole().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        process.stdout.write_all(b"up").await.unwrap();
        std::future::pending::<i32>().await
    });
    server.api().kubelet().on_port_forward(async |mut connection| {
        connection.stream.write_all(b"up").await.unwrap();
        std::future::pending().await
    });
    let mut process = within(pods.exec("web", ["sleep"], &AttachParams::default())).await.unwrap();
    let mut forwarder = within(pods.portforward("web", &[80])).await.unwrap();
    let (mut stdout, mut stream) = (process.stdout().unwrap(), forwarder.take_stream(80).unwrap());
    let mut up = [0; 2];
    within(stdout.read_exact(&mut up)).await.unwrap();
    within(stream.read_exact(&mut up)).await.unwrap();
    hole.drop_packets();
    let (ended, took) = timed(process.join()).await;
    assert!(ended.is_err() && took <= 60, "{ended:?} after {took} s");
    assert_eq!(stdout.read(&mut up).await.unwrap(), 0);
    let (ended, took) = timed(forwarder.join()).await;
    assert!(ended.is_err() && took <= 60, "{ended:?} after {took} s");
    let (refused, took) = timed(pods.exec("web", ["ls"], &AttachParams::default())).await;
    assert!(refused.is_err() && took <= 60, "{took} s");
}

#[tokio::test]
async fn a_thousand_processes_leave_no_task_behind() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        process.stdout.write_all(b"x").await.unwrap();
        std::future::pending::<i32>().await
    });
    let run = async || {
        let params = AttachParams::default();
        let start = (0..50).map(|_| pods.exec("web", ["sleep"], &params));
        let mut processes = futures::future::try_join_all(start).await.unwrap();
        for process in &mut processes {
            within(process.stdout().unwrap().read_exact(&mut [0])).await.unwrap();
        }
    };
    run().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let tasks = alive_tasks();
    for _ in 0..20 {
        run().await;
    }
    wait_for_tasks(tasks).await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_process_ends_with_its_server() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |_: Process| std::future::pending::<i32>().await);
    let mut process = within(pods.exec("web", ["sleep"], &AttachParams::default())).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    server.shutdown().await;
    assert_eq!(within(stdout.read(&mut [0; 8])).await.unwrap(), 0);
    // Whether the server closes or the connection breaks first, it is no end of the process.
    let cut_off = within(process.join()).await.unwrap_err();
    assert!(matches!(cut_off, ChannelError::NoStatus | ChannelError::WebSocket(_)), "{cut_off:?}");
}
