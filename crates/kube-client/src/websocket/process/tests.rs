//! An attached process against a server of frames.

use std::time::Duration;

use futures::SinkExt;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;

type Socket = WebSocketStream<DuplexStream>;

async fn pair() -> (Socket, Socket) {
    let (near, far) = tokio::io::duplex(64 << 10);
    (
        WebSocketStream::from_raw_socket(near, Role::Client, None).await,
        WebSocketStream::from_raw_socket(far, Role::Server, None).await,
    )
}

fn no_streams() -> TaskEnds {
    TaskEnds { stdin: None, stdout: None, stderr: None, status: None, sizes: None }
}

const HOURS: Duration = Duration::from_secs(6 * 3600);

#[tokio::test(start_paused = true)]
async fn an_unresponsive_server_is_an_error_within_a_minute() {
    let (near, far) = pair().await;
    let started = Instant::now();
    let err = run(near, true, no_streams()).await.unwrap_err();
    assert!(matches!(err, ChannelError::WebSocket(_)), "{err:?}");
    assert_eq!(started.elapsed().as_secs(), 50);
    drop(far);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_process_stays_connected_while_its_server_answers_pings() {
    let (near, mut far) = pair().await;
    let answering = tokio::spawn(async move {
        // Reading the websocket also answers pings.
        while let Some(Ok(_)) = far.next().await {}
    });
    assert!(tokio::time::timeout(HOURS, run(near, true, no_streams())).await.is_err());
    answering.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_may_be_silent_while_its_process_does_not_read() {
    let (near, mut far) = pair().await;
    let (stdin, mut writer) = tokio::io::duplex(1024);
    let task = tokio::spawn(run(near, true, TaskEnds { stdin: Some(stdin), ..no_streams() }));
    writer.write_all(b"input").await.unwrap();
    tokio::time::sleep(HOURS).await;
    assert!(!task.is_finished());
    // Once the server has read the input, its silence is an error again.
    let reading =
        tokio::time::timeout(Duration::from_secs(31), async { while let Some(Ok(_)) = far.next().await {} });
    assert!(reading.await.is_err());
    let silent = Instant::now();
    assert!(task.await.unwrap().is_err());
    assert!(silent.elapsed() <= Duration::from_secs(60), "{:?}", silent.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_does_not_make_the_server_look_dead() {
    let (near, mut far) = pair().await;
    let (mut reader, writer) = tokio::io::simplex(8);
    let task =
        tokio::spawn(run(near, true, TaskEnds { stdout: Some(PipeWriter::new(writer)), ..no_streams() }));
    let server = tokio::spawn(async move {
        far.send(Message::binary(&b"\x01more than the buffer holds"[..])).await.unwrap();
        while let Some(Ok(_)) = far.next().await {}
    });
    tokio::time::sleep(HOURS).await;
    assert!(!task.is_finished());
    let mut text = [0; 26];
    reader.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"more than the buffer holds");
    tokio::time::sleep(HOURS).await;
    assert!(!task.is_finished());
    task.abort();
    server.await.unwrap();
}

/// A process with input over a connection to `far`.
async fn attached() -> (AttachedProcess, Socket) {
    let (near, far) = pair().await;
    let (stdin, stdin_reader) = tokio::io::duplex(16);
    let task = tokio::spawn(run(near, true, TaskEnds { stdin: Some(stdin_reader), ..no_streams() }));
    let process = AttachedProcess {
        stdin: Some(stdin),
        stdin_buffer: 16,
        runtime: Handle::current(),
        stdout: None,
        stderr: None,
        status: None,
        terminal_size: None,
        task,
    };
    (process, far)
}

/// The server does not read, so a writer waits until the process has ended, is aborted or dropped.
#[tokio::test(start_paused = true)]
async fn a_writer_learns_of_the_end_of_its_process() {
    for end in ["closed", "aborted", "dropped"] {
        let (mut process, far) = attached().await;
        let mut stdin = process.stdin_pipe().unwrap();
        assert!(process.stdin().is_none());
        let writing = tokio::spawn(async move {
            let first = stdin.write_all(&vec![0; 1 << 20]).await;
            (first, stdin.write_all(b"more").await)
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!writing.is_finished());
        match end {
            "closed" => drop(far),
            "aborted" => process.abort(),
            _ => drop(process),
        }
        let (first, second) = tokio::time::timeout(Duration::from_secs(1), writing).await.unwrap().unwrap();
        for result in [first, second] {
            assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe, "{end}");
        }
    }
}

/// The type of 5.0 cannot report the end: see `tokio_does_not_report_a_dropped_reader`.
#[tokio::test(start_paused = true)]
async fn a_writer_of_the_older_type_does_not_wait_for_ever() {
    let (mut process, far) = attached().await;
    let mut stdin = process.stdin().unwrap();
    let writing = tokio::spawn(async move { stdin.write_all(&vec![0; 1 << 20]).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!writing.is_finished());
    drop((process, far));
    tokio::time::timeout(Duration::from_secs(1), writing).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_input_pipe_closes_the_input() {
    let (mut process, mut far) = attached().await;
    let mut stdin = process.stdin_pipe().unwrap();
    stdin.write_all(b"abc").await.unwrap();
    drop(stdin);
    assert_eq!(far.next().await.unwrap().unwrap(), Message::binary(&b"\0abc"[..]));
    assert_eq!(far.next().await.unwrap().unwrap(), Message::binary(&b"\xFF\0"[..]));
}
