//! A process: the client opens one stream for each of its parts, named by the header `streamType`.

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, copy, sink},
    sync::mpsc,
};

use super::session::Stream;
use crate::{
    kubelet::{Kubelet, SessionRecorder, Streams, TerminalSize},
    stream::{channel, request::CommandRequest},
};

/// The streams of the client, as far as it asked for them.
#[derive(Debug, Default)]
struct ClientStreams {
    stdin: Option<DuplexStream>,
    stdout: Option<DuplexStream>,
    stderr: Option<DuplexStream>,
    error: Option<DuplexStream>,
    resize: Option<DuplexStream>,
}

/// Serves until the process has ended and its outcome is handed over.
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
        // Whoever has gone away need not be told.
        drop(error.write_all(channel::exit_status(&exit).to_string().as_bytes()).await);
    }
}

/// Waits for all streams that were announced; `None` when the connection ends before.
async fn gather(streams: &mut mpsc::Receiver<Stream>, request: &CommandRequest) -> Option<ClientStreams> {
    let mut parts = ClientStreams::default();
    let stderr = request.stderr && !request.tty;
    let expected =
        1 + [request.stdin, request.stdout, stderr, request.tty].into_iter().filter(|wanted| *wanted).count();
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

/// What comes from the client is the input of the process, until the client ends it.
async fn feed(from: Option<DuplexStream>, mut to: DuplexStream) {
    if let Some(mut from) = from {
        drop(copy(&mut from, &mut to).await);
        // A process that has closed its input does not hold up its client.
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
            // A process that has ended has no terminal.
            let _ = sizes.send(size);
        }
    }
}

/// Output that nobody wants is read all the same: the process must not have to wait.
async fn show(mut from: DuplexStream, to: Option<DuplexStream>) {
    if let Some(mut to) = to {
        drop(copy(&mut from, &mut to).await);
    }
    drop(copy(&mut from, &mut sink()).await);
}
