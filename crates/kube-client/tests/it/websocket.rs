//! Exec, attach and port-forward against a scripted server.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]
#![allow(clippy::result_large_err, reason = "tungstenite defines the type of the callback")]

use std::future::Future;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{AttachParams, TerminalSize};
use kube_client::client::UpgradeConnectionError;
use kube_client::{Api, Client, Config, Error};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

type Socket = WebSocketStream<TcpStream>;

const V4: &str = "v4.channel.k8s.io";
const V5: &str = "v5.channel.k8s.io";

/// A server that accepts one websocket with this subprotocol and then runs the script. Its task returns the requested path and query.
async fn serve<F>(
    version: &'static str,
    script: impl FnOnce(Socket) -> F + Send + 'static,
) -> (Api<Pod>, JoinHandle<String>)
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut path = String::new();
        let response = |request: &Request, mut response: Response| {
            path = request.uri().to_string();
            let offered = request.headers()["sec-websocket-protocol"].to_str().unwrap();
            assert_eq!(offered, "v5.channel.k8s.io, v4.channel.k8s.io");
            response.headers_mut().insert("sec-websocket-protocol", version.parse().unwrap());
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(stream, response).await.unwrap();
        script(socket).await;
        path
    });
    let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
    (Api::namespaced(client, "ns"), server)
}

/// Fails after 20 s.
async fn within<F: Future>(call: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call completes in time")
}

fn data(channel: u8, text: &[u8]) -> Message {
    Message::binary([&[channel], text].concat())
}

async fn next_data(socket: &mut Socket) -> Option<Vec<u8>> {
    loop {
        match socket.next().await? {
            Ok(Message::Binary(data)) => return Some(data.to_vec()),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

const SUCCESS: &[u8] = br#"{"metadata":{},"status":"Success"}"#;

#[tokio::test]
async fn exec_returns_stdout_stderr_and_the_exit_code() {
    let (pods, server) = serve(V5, |mut socket| async move {
        for message in [data(1, b""), data(1, b"out"), data(2, b"err"), data(1, b"put")] {
            socket.send(message).await.unwrap();
        }
        let failure = br#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
        socket.send(data(3, failure)).await.unwrap();
        socket.close(None).await.unwrap();
    })
    .await;
    let mut process = within(pods.exec("web", ["ls", "-l a"], &AttachParams::default())).await.unwrap();
    assert!(process.stdin().is_none() && process.terminal_size().is_none());
    let (mut stdout, mut stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    assert!(process.stdout().is_none());
    let status = process.take_status().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    within(stdout.read_to_string(&mut out)).await.unwrap();
    within(stderr.read_to_string(&mut err)).await.unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("output", "err"));
    let status = within(status).await.unwrap();
    assert_eq!(status.details.unwrap().causes.unwrap()[0].message.as_deref(), Some("7"));
    within(process.join()).await.unwrap();
    let path = server.await.unwrap();
    assert!(path.starts_with("/api/v1/namespaces/ns/pods/web/exec?"), "{path}");
    assert!(path.contains("command=ls&command=-l"), "{path}");
}

#[tokio::test]
async fn stdin_can_be_closed_while_stdout_stays_open() {
    let (pods, server) = serve(V5, |mut socket| async move {
        let mut input = Vec::new();
        loop {
            let message = next_data(&mut socket).await.unwrap();
            match message[0] {
                0 => input.extend_from_slice(&message[1..]),
                255 => break assert_eq!(message, [255, 0]),
                other => panic!("channel {other}"),
            }
        }
        // The whole input arrives before its end; it is larger than the buffers.
        assert_eq!(input.len(), 100_000);
        socket.send(data(1, format!("{} bytes", input.len()).as_bytes())).await.unwrap();
        socket.send(data(3, SUCCESS)).await.unwrap();
    })
    .await;
    let params = AttachParams::default().stdin(true).stderr(false);
    let mut process = within(pods.attach("web", &params)).await.unwrap();
    let mut stdin = process.stdin().unwrap();
    within(stdin.write_all(&vec![b'x'; 100_000])).await.unwrap();
    within(stdin.shutdown()).await.unwrap();
    let mut text = String::new();
    within(process.stdout().unwrap().read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "100000 bytes");
    // After the status, a close without a closing handshake is no error.
    within(process.join()).await.unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn terminal_sizes_are_sent() {
    let (pods, server) = serve(V4, |mut socket| async move {
        let message = next_data(&mut socket).await.unwrap();
        assert_eq!(message, [&[4], br#"{"Width":80,"Height":24}"#.as_slice()].concat());
        socket.send(data(3, SUCCESS)).await.unwrap();
    })
    .await;
    let mut process = within(pods.exec("web", ["sh"], &AttachParams::interactive_tty())).await.unwrap();
    let mut sizes = process.terminal_size().unwrap();
    sizes.send(TerminalSize { width: 80, height: 24 }).await.unwrap();
    let status = within(process.take_status().unwrap()).await.unwrap();
    assert_eq!(status.status.as_deref(), Some("Success"));
    server.await.unwrap();
}

#[tokio::test]
async fn join_discards_output_that_was_not_taken() {
    let (pods, server) = serve(V4, |mut socket| async move {
        for _ in 0..100 {
            socket.send(data(1, &[b'x'; 10_000])).await.unwrap();
        }
        socket.send(data(3, SUCCESS)).await.unwrap();
    })
    .await;
    let process = within(pods.exec("web", ["yes"], &AttachParams::default())).await.unwrap();
    within(process.join()).await.unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn a_connection_that_ends_before_the_status_is_an_error() {
    // Each ends the connection in the middle of the output, before the status.
    enum Cut {
        Eof,
        Reset,
        CloseFrame,
    }
    for cut in [Cut::Eof, Cut::Reset, Cut::CloseFrame] {
        let (pods, server) = serve(V5, |mut socket| async move {
            socket.send(data(1, b"half a tar")).await.unwrap();
            match cut {
                Cut::Eof => {}
                Cut::Reset => {
                    // Unread data from the client turns the close into a reset.
                    socket.get_ref().readable().await.unwrap();
                }
                Cut::CloseFrame => socket.close(None).await.unwrap(),
            }
        })
        .await;
        let params = AttachParams::default().stdin(true);
        let mut process = within(pods.exec("web", ["tar", "cf", "-", "/"], &params)).await.unwrap();
        process.stdin().unwrap().write_all(b"x").await.unwrap();
        let (mut stdout, status) = (process.stdout().unwrap(), process.take_status().unwrap());
        let mut archive = Vec::new();
        within(stdout.read_to_end(&mut archive)).await.unwrap();
        assert!(b"half a tar".starts_with(&archive));
        let err = within(process.join()).await.unwrap_err();
        assert!(within(status).await.is_none(), "{err}");
        server.await.unwrap();
    }
}

#[tokio::test]
async fn join_closes_stdin_that_was_not_taken() {
    let (pods, server) = serve(V5, |mut socket| async move {
        assert_eq!(next_data(&mut socket).await.unwrap(), [255, 0]);
        socket.send(data(3, SUCCESS)).await.unwrap();
    })
    .await;
    let process = within(pods.exec("web", ["cat"], &AttachParams::default().stdin(true))).await.unwrap();
    within(process.join()).await.unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn a_dropped_stdout_within_the_buffer_does_not_block_stderr() {
    let (pods, server) = serve(V5, |mut socket| async move {
        for _ in 0..64 {
            socket.send(data(1, &[b'x'; 8 << 10])).await.unwrap();
        }
        socket.send(data(2, b"what went wrong")).await.unwrap();
        socket.send(data(3, SUCCESS)).await.unwrap();
    })
    .await;
    let mut process = within(pods.exec("web", ["make"], &AttachParams::default())).await.unwrap();
    drop(process.stdout());
    let mut text = String::new();
    within(process.stderr().unwrap().read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "what went wrong");
    within(process.join()).await.unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn dropping_a_process_closes_the_connection_and_ends_its_streams() {
    let (pods, server) = serve(V5, |mut socket| async move {
        assert!(next_data(&mut socket).await.is_none());
    })
    .await;
    let mut process = within(pods.exec("web", ["sleep"], &AttachParams::default())).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    let status = process.take_status().unwrap();
    drop(process);
    assert_eq!(within(stdout.read(&mut [0; 8])).await.unwrap(), 0);
    assert!(within(status).await.is_none());
    within(server).await.unwrap();
}

#[tokio::test]
async fn ports_forward_data_in_both_directions_and_report_errors() {
    let (pods, server) = serve(V4, |mut socket| async move {
        for (channel, port) in [(0, 80_u16), (1, 80), (2, 81), (3, 81)] {
            socket.send(data(channel, &port.to_le_bytes())).await.unwrap();
        }
        socket.send(data(3, b"connection refused")).await.unwrap();
        while let Some(message) = next_data(&mut socket).await {
            assert_eq!(message[0], 0);
            socket.send(data(0, &message[1..].to_ascii_uppercase())).await.unwrap();
        }
    })
    .await;
    let mut forwarder = within(pods.portforward("web", &[80, 81])).await.unwrap();
    assert!(forwarder.take_stream(82).is_none());
    let mut stream = forwarder.take_stream(80).unwrap();
    let mut refused = forwarder.take_stream(81).unwrap();
    let error = within(forwarder.take_error(81).unwrap()).await;
    assert_eq!(error.as_deref(), Some("connection refused"));
    assert_eq!(within(refused.read(&mut [0; 8])).await.unwrap(), 0);
    stream.write_all(b"hello").await.unwrap();
    let mut response = [0; 5];
    within(stream.read_exact(&mut response)).await.unwrap();
    assert_eq!(&response, b"HELLO");
    drop((stream, refused));
    // The connection closes with the last stream.
    within(forwarder.join()).await.unwrap();
    let path = within(server).await.unwrap();
    assert!(path.starts_with("/api/v1/namespaces/ns/pods/web/portforward?&ports=80"), "{path}");
}

/// One websocket has one order, so the ports share its back-pressure: dropping data would be worse.
#[tokio::test]
async fn a_port_that_is_not_read_delays_the_others_until_it_is_read_or_dropped_and_loses_nothing() {
    const SENT: usize = 256 << 10;
    for is_read in [true, false] {
        let (pods, server) = serve(V4, |mut socket| async move {
            for (channel, port) in [(0, 80_u16), (2, 81)] {
                socket.send(data(channel, &port.to_le_bytes())).await.unwrap();
            }
            for _ in 0..SENT >> 10 {
                socket.send(data(0, &[b'x'; 1 << 10])).await.unwrap();
            }
            socket.send(data(2, b"other")).await.unwrap();
            while next_data(&mut socket).await.is_some() {}
        })
        .await;
        let mut forwarder = within(pods.portforward("web", &[80, 81])).await.unwrap();
        let mut unread = forwarder.take_stream(80).unwrap();
        let mut other = forwarder.take_stream(81).unwrap();
        let mut received = [0; 5];
        let waiting = async { other.read_exact(&mut received).await.unwrap() };
        let reading = async {
            // Its buffer is full by now, or will be.
            tokio::task::yield_now().await;
            if is_read {
                let mut all = vec![0; SENT];
                unread.read_exact(&mut all).await.unwrap();
                assert!(all.iter().all(|byte| *byte == b'x'));
            }
            drop(unread);
        };
        within(async { tokio::join!(waiting, reading) }).await;
        assert_eq!(&received, b"other");
        drop(other);
        within(forwarder.join()).await.unwrap();
        within(server).await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_stays_open_when_the_portforwarder_is_dropped() {
    let (pods, server) = serve(V4, |mut socket| async move {
        let message = next_data(&mut socket).await.unwrap();
        socket.send(data(0, &[&80_u16.to_le_bytes(), &message[1..]].concat())).await.unwrap();
    })
    .await;
    let mut forwarder = within(pods.portforward("web", &[80])).await.unwrap();
    let mut stream = forwarder.take_stream(80).unwrap();
    drop(forwarder);
    stream.write_all(b"echo").await.unwrap();
    let mut text = String::new();
    within(stream.read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "echo");
    server.await.unwrap();
}

#[tokio::test]
async fn a_refused_upgrade_is_an_error_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let status = r#"{"kind":"Status","status":"Failure","message":"pods \"web\" not found","reason":"NotFound","code":404}"#;
        for (code, body) in [(404, status), (200, "a page")] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let head =
                format!("HTTP/1.1 {code} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).await.unwrap();
        }
    });
    let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let params = AttachParams::default();
    let exec = || pods.exec("web", ["ls"], &params);
    let missing = within(exec()).await.err().unwrap();
    assert!(missing.is_not_found(), "{missing:?}");
    let plain = within(exec()).await.err().unwrap();
    assert!(
        matches!(&plain, Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(code)) if *code == 200),
        "{plain:?}"
    );
}
