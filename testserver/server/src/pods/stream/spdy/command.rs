//! A process over SPDY: the client opens one stream per channel, named by the header `streamType`.

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, copy, sink},
    sync::mpsc,
};

use super::session::Stream;
use crate::pods::{
    Kubelet, SessionRecorder, Streams, TerminalSize,
    stream::{channel, request::CommandRequest},
};

/// The streams that the client requested.
#[derive(Debug, Default)]
struct ClientStreams {
    stdin: Option<DuplexStream>,
    stdout: Option<DuplexStream>,
    stderr: Option<DuplexStream>,
    error: Option<DuplexStream>,
    resize: Option<DuplexStream>,
}

/// Serves until the process has ended and its exit status is sent.
pub(super) async fn serve(mut streams: mpsc::Receiver<Stream>, request: CommandRequest, kubelet: &Kubelet) {
    let Some(parts) = gather(&mut streams, &request).await else { return };
    let (script, ours, recorder) =
        kubelet.start_command(request.container.clone(), request.argv.clone(), request.tty);
    let Streams { stdin, stdout, stderr, sizes } = ours;
    let input = async {
        tokio::join!(feed(parts.stdin, stdin), resize(parts.resize, sizes, recorder.clone()));
        std::future::pending::<()>().await;
    };
    let output = async { tokio::join!(script, show(stdout, parts.stdout), show(stderr, parts.stderr)).0 };
    let exit = tokio::select! {
        exit = output => exit,
        () = input => return,
    };
    recorder.ended(&exit);
    if let Some(mut error) = parts.error {
        // The client may have disconnected.
        drop(error.write_all(channel::exit_status(&exit).to_string().as_bytes()).await);
    }
}

/// Waits for all requested streams; `None` when the connection ends first.
async fn gather(streams: &mut mpsc::Receiver<Stream>, request: &CommandRequest) -> Option<ClientStreams> {
    let mut parts = ClientStreams::default();
    let stderr = request.stderr && !request.tty;
    let expected = 1 + [request.stdin, request.stdout, stderr, request.tty]
        .into_iter()
        .filter(|requested| *requested)
        .count();
    for _ in 0..expected {
        let stream = streams.recv().await?;
        let part = match stream.headers.get("streamtype").map(String::as_str) {
            Some("stdin") => &mut parts.stdin,
            Some("stdout") => &mut parts.stdout,
            Some("stderr") => &mut parts.stderr,
            Some("error") => &mut parts.error,
            Some("resize") => &mut parts.resize,
            _ => continue,
        };
        *part = Some(stream.io);
    }
    Some(parts)
}

/// Copies input of the client to the process.
async fn feed(from: Option<DuplexStream>, mut to: DuplexStream) {
    if let Some(mut from) = from {
        drop(copy(&mut from, &mut to).await);
        // Input after the process has closed its end is drained, so that the client does not block.
        drop(to);
        drop(copy(&mut from, &mut sink()).await);
    }
}

async fn resize(
    from: Option<DuplexStream>,
    sizes: mpsc::UnboundedSender<TerminalSize>,
    recorder: SessionRecorder,
) {
    let Some(from) = from else { return };
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(size) = serde_json::from_str(&line) {
            recorder.resized(size);
            // The process has ended.
            let _ = sizes.send(size);
        }
    }
}

/// Unrequested output is drained, so that the process does not block.
async fn show(mut from: DuplexStream, to: Option<DuplexStream>) {
    if let Some(mut to) = to {
        drop(copy(&mut from, &mut to).await);
    }
    drop(copy(&mut from, &mut sink()).await);
}
