//! `exec` and `attach` into scripted processes.

use kube_testserver::{Exit, Process, TerminalSize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::channels::{Channels, PODS, V4, V5, with_pod};

#[tokio::test]
async fn a_script_has_arguments_streams_and_an_exit_code() {
    let (server, _) = with_pod(&["main"]).await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        assert_eq!((process.container.pod.as_str(), process.container.name.as_str()), ("web", "main"));
        let mut input = String::new();
        process.stdin.read_to_string(&mut input).await.unwrap();
        process.stdout.write_all(format!("{:?} {input}", process.command).as_bytes()).await.unwrap();
        process.stderr.write_all(b"careful").await.unwrap();
        7
    });
    let path = "web/exec?command=run&command=a%20b&stdin=1&stdout=1&stderr=1";
    let mut exec = Channels::open(&server, V5, path).await;
    assert_eq!(exec.next().await.unwrap(), (1, Vec::new()), "the sign that the connection is up");
    exec.send(0, b"in").await;
    exec.send(0, b"put").await;
    exec.send(255, &[0]).await;
    let [_, out, err, status] = exec.rest().await;
    assert_eq!((out.as_str(), err.as_str()), (r#"["run", "a b"] input"#, "careful"));
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["status"], &status["reason"]), (&json!("Failure"), &json!("NonZeroExitCode")));
    assert_eq!(status["details"]["causes"], json!([{"reason": "ExitCode", "message": "7"}]));
    let sessions = server.api().kubelet().sessions();
    assert_eq!((sessions[0].command.join(" "), &sessions[0].exit), ("run a b".into(), &Some(Exit::Code(7))));
    server.shutdown().await;
}

#[tokio::test]
async fn version_4_differs_only_in_half_close() {
    let (server, _) = with_pod(&["main"]).await;
    server.api().kubelet().on_exec(async |mut process: Process| match process.command[0].as_str() {
        "echo" => process.stdout.write_all(b"hi\n").await.unwrap(),
        _ => drop(tokio::io::copy(&mut process.stdin, &mut process.stdout).await),
    });
    let mut exec = Channels::open(&server, V4, "web/exec?command=echo&command=hi&stdout=1").await;
    let [_, out, err, status] = exec.rest().await;
    assert_eq!((out.as_str(), err.as_str()), ("hi\n", ""));
    assert_eq!(status, r#"{"metadata":{},"status":"Success"}"#);

    let mut cat = Channels::open(&server, V4, "web/exec?command=cat&stdin=1&stdout=1").await;
    cat.next().await.unwrap();
    cat.send(0, b"echo").await;
    cat.send(255, &[0]).await;
    assert_eq!(cat.next().await.unwrap(), (1, b"echo".to_vec()));
    cat.close().await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_terminal_has_sizes_and_one_output() {
    let (server, _) = with_pod(&["main"]).await;
    server.api().kubelet().on_attach(async |mut process: Process| {
        assert!(process.tty && process.command.is_empty());
        let size = process.resized().await.unwrap();
        process.stdout.write_all(format!("{}x{} ", size.width, size.height).as_bytes()).await.unwrap();
        process.stderr.write_all(b"also here").await.unwrap();
    });
    let mut attach = Channels::open(&server, V5, "web/attach?stdout=1&tty=1").await;
    attach.next().await.unwrap();
    attach.send(4, br#"{"Width":132,"Height":43}"#).await;
    let [_, out, err, _] = attach.rest().await;
    assert!(out.contains("132x43 ") && out.contains("also here") && err.is_empty(), "{out:?} {err:?}");
    let sessions = server.api().kubelet().sessions();
    assert_eq!(sessions[0].sizes, [TerminalSize { width: 132, height: 43 }]);
    server.shutdown().await;
}

#[tokio::test]
async fn refused_connections_get_a_status() {
    let (server, client) = with_pod(&["a", "b"]).await;
    let mut refusals = Vec::new();
    for path in
        ["none/exec?command=ls&stdout=1", "web/exec?command=ls&stdout=1", "web/attach?container=z&stdout=1"]
    {
        let (code, status) = Channels::try_open(&server, V5, path).await.err().unwrap();
        refusals.push((code, status["message"].as_str().unwrap().to_owned()));
    }
    let expected = [
        (404, "pods \"none\" not found"),
        (400, "a container name must be specified for pod web, choose one of: [a b]"),
        (400, "container z is not valid for pod web"),
    ];
    assert_eq!(refusals, expected.map(|(code, text)| (code, text.to_owned())));
    let exec = format!("{PODS}/web/exec?command=ls&stdout=1&container=a");
    assert_eq!(client.get(&exec).await.refused(400, "BadRequest"), "Upgrade request required");
    let (code, status) = Channels::try_open(&server, "v9", &exec[PODS.len() + 1..]).await.err().unwrap();
    assert!(code == 400 && status["message"].as_str().unwrap().contains("v9"), "{status}");
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    client.post(PODS, json!({"metadata": {"name": "new"}, "spec": spec})).await.ok();
    let path = "new/exec?command=ls&stdout=1";
    let (_, status) = Channels::try_open(&server, V5, path).await.err().unwrap();
    assert_eq!(status["message"], "pod new does not have a host assigned");
    server.shutdown().await;
}

#[tokio::test]
async fn no_task_is_left_after_disconnect_or_shutdown() {
    let (server, _) = with_pod(&["main"]).await;
    let (alive, mut over) = tokio::sync::mpsc::channel::<()>(1);
    server.api().kubelet().on_exec(move |process: Process| {
        let alive = alive.clone();
        async move {
            let _alive = alive;
            std::future::pending::<()>().await;
            drop(process);
        }
    });
    let path = "web/exec?command=x&stdin=1&stdout=1";
    let mut gone = Channels::open(&server, V5, path).await;
    gone.next().await.unwrap();
    drop(gone);
    let mut stays = Channels::open(&server, V5, path).await;
    stays.next().await.unwrap();
    server.api().kubelet().on_exec(async |_| 0);
    server.shutdown().await;
    // Every script held a sender: all have been dropped.
    assert_eq!(over.recv().await, None);
    assert_eq!(stays.next().await, None);
}
