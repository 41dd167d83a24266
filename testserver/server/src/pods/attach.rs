//! Attaches clients to the process of a container.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};

use super::{
    Exit, Process,
    logs::{ContainerLogs, LogQuery},
};

/// What `attach` runs without a script: prints the container's log, or echoes the input.
pub(super) async fn attach(mut process: Process, logs: ContainerLogs) -> Exit {
    let container = process.container.clone();
    let mut tail = logs.tail(&container, LogQuery { follow: true, tail: Some(0), ..LogQuery::default() });
    let logged = async {
        while let Some(text) = tail.next().await {
            if process.stdout.write_all(&text).await.is_err() {
                break;
            }
        }
    };
    let mut input = [0; 4096];
    let mut echo = Vec::new();
    tokio::select! {
        () = logged => return Exit::Code(0),
        read = process.stdin.read(&mut input) => echo.extend_from_slice(&input[..read.unwrap_or(0)]),
    }
    if echo.is_empty() {
        // No input: the client only reads the log.
        while let Some(text) = tail.next().await {
            if process.stdout.write_all(&text).await.is_err() {
                break;
            }
        }
        return Exit::Code(0);
    }
    // A disconnected client is not a failure of the process.
    drop(process.stdout.write_all(&echo).await);
    drop(copy(&mut process.stdin, &mut process.stdout).await);
    Exit::Code(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, pods::Container};

    #[tokio::test]
    async fn attach_prints_the_log_or_echoes_input() {
        let container = Container { namespace: "default".into(), pod: "web".into(), name: "main".into() };
        let logs = ContainerLogs::new(Clock::new(None));
        let (process, mut streams) = Process::new(container.clone(), Vec::new(), false);
        drop(streams.stdin);
        let reader = tokio::spawn(attach(process, logs.clone()));
        tokio::task::yield_now().await;
        logs.append(&container, "hello");
        let mut line = [0; 6];
        streams.stdout.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"hello\n");
        logs.forget("default", "web");
        assert_eq!(reader.await.unwrap(), Exit::Code(0));

        let (process, mut streams) = Process::new(container, Vec::new(), false);
        let echo = tokio::spawn(attach(process, logs));
        streams.stdin.write_all(b"ping").await.unwrap();
        drop(streams.stdin);
        let mut output = String::new();
        streams.stdout.read_to_string(&mut output).await.unwrap();
        assert_eq!((output.as_str(), echo.await.unwrap()), ("ping", Exit::Code(0)));
    }
}
