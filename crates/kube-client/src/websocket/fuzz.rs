//! Fuzzing: bytes from a server, as messages to the channels and as frames to the whole task.

use bytes::Bytes;
use futures::future::join;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::pipe::PipeWriter;
use super::port_channels::{PortChannels, PortEvent};
use super::process::{TaskEnds, run};
use super::process_channels::{ProcessChannels, ProcessEvent};

/// Any input is data, an end or an error, and splitting data into other messages does not change it.
pub fn websocket_frames(input: &[u8]) {
    let messages = messages(input);
    let whole = port_data(messages.iter().map(|(channel, data)| (*channel, data.clone())));
    let cut = port_data(messages.iter().flat_map(|(channel, data)| {
        let (head, tail) = data.split_at(data.len() / 2);
        // Closes and errors are not split: the second half would be a message of its own. Empty messages are ignored.
        let (head, tail) =
            if channel % 2 == 0 && *channel < 6 { (head, tail) } else { (&data[..], &data[..0]) };
        [(*channel, head.to_vec()), (*channel, tail.to_vec())]
    }));
    assert_eq!(whole, cut);
    check_process(&messages);
    run_process_task(input);
}

/// Repeated: channel, length, data.
fn messages(mut input: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    while let [channel, length, rest @ ..] = input {
        let (data, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        messages.push((*channel, data.to_vec()));
        input = rest;
    }
    messages
}

/// The data of each port until the first error.
fn port_data(messages: impl Iterator<Item = (u8, Vec<u8>)>) -> Vec<Vec<u8>> {
    let numbers = [80, 0x4142, 0];
    let mut ports = PortChannels::new(&numbers);
    let mut data = vec![Vec::new(); numbers.len()];
    for (channel, message) in messages {
        match ports.receive(channel, Bytes::from(message)) {
            Ok(PortEvent::Data(index, bytes)) => data[index].extend_from_slice(&bytes),
            Ok(PortEvent::End(index) | PortEvent::Error(index, _)) => assert!(index < numbers.len()),
            Ok(PortEvent::Ignored) => {}
            Err(_) => break,
        }
    }
    data
}

fn check_process(messages: &[(u8, Vec<u8>)]) {
    let mut streams = ProcessChannels::default();
    let mut statuses = 0;
    for (channel, message) in messages {
        match streams.receive(*channel, Bytes::from(message.clone())) {
            Ok(ProcessEvent::Status(_)) => statuses += 1,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    assert!(statuses <= 1 && streams.has_status() == (statuses == 1));
}

/// The bytes as websocket frames to the task of a process, which must end.
fn run_process_task(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime without I/O needs nothing").block_on(async {
        let (near, mut far) = tokio::io::duplex(input.len().max(1) + 1024);
        far.write_all(input).await.expect("there is room");
        far.shutdown().await.expect("it is in memory");
        let (mut reader, writer) = tokio::io::simplex(64);
        let ends = TaskEnds {
            stdin: None,
            stdout: Some(PipeWriter::new(writer)),
            stderr: None,
            status: None,
            sizes: None,
        };
        let socket = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        let mut output = Vec::new();
        let (_, read) = join(run(socket, true, ends), reader.read_to_end(&mut output)).await;
        assert!(read.is_ok() && output.len() <= input.len());
    });
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Xorshift with a fixed seed.
    struct Rng(u64);

    impl Rng {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % limit as u64).unwrap()
        }

        /// Nearly valid messages: known channels, port numbers, parts of a status, frames of a server.
        fn input(&mut self) -> Vec<u8> {
            const PIECES: [&[u8]; 9] = [
                b"",
                &[80, 0],
                &[0x42, 0x41],
                &[0, 0],
                br#"{"status":"Success"}"#,
                br#"{"metadata":{},"#,
                &[0, 1, 255],
                &[0x82, 2, 1, b'x', 0x89, 0, 0x88, 0],
                &[0x82, 126, 1, 0, 0xff],
            ];
            let mut input = Vec::new();
            for _ in 0..self.below(12) {
                let piece = PIECES[self.below(PIECES.len())];
                match self.below(4) {
                    0 => {
                        for _ in 0..self.below(20) {
                            input.push(u8::try_from(self.below(256)).unwrap());
                        }
                    }
                    1 => input.extend_from_slice(piece),
                    _ => {
                        let channel = [0, 1, 2, 3, 4, 5, 6, 255][self.below(8)];
                        input.extend([channel, u8::try_from(piece.len()).unwrap()]);
                        input.extend_from_slice(piece);
                    }
                }
            }
            input
        }
    }

    /// 3000 inputs, or as many as fit into `FUZZ_SECONDS`.
    #[test]
    fn fuzz_no_input_from_a_server_panics() {
        let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
        let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut rng = Rng(0x9E37_79B9_7F4A_7C15);
        let mut rounds = 0_u64;
        while end.map_or(rounds < 3000, |end| Instant::now() < end) {
            websocket_frames(&rng.input());
            rounds += 1;
        }
        println!("{rounds} inputs");
    }
}
