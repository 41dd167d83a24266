//! Port forwarding over a websocket.
//!
//! For port number `i` of the request, channel `2i` carries data and channel `2i + 1` errors. Each channel starts with the port number as
//! two bytes, little-endian.

use bytes::Bytes;
use futures::{SinkExt, StreamExt, future::join_all, stream::SplitStream};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::{channel, command::CLOSE_TIMEOUT, request::ForwardRequest};
use crate::pods::{Connection, Kubelet};

/// The largest chunk of data in one message.
const CHUNK: usize = 16 * 1024;
/// Messages queued for the client; when the queue is full, the ports wait.
const QUEUE: usize = 8;

/// Serves until all ports are closed or the client has disconnected.
pub(super) async fn serve<I>(io: I, request: ForwardRequest, kubelet: &Kubelet)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    let (mut sink, source) = socket.split();
    let (queue, mut queued) = mpsc::channel(QUEUE);
    let (mut ports, mut inputs) = (Vec::new(), Vec::new());
    // Channels are numbered by one byte: only the first 127 ports are forwarded.
    for (index, port) in (0..=126u8).zip(&request.ports) {
        let (connection, client) = Connection::new(&request.namespace, &request.pod, *port);
        let (read, write) = split(client);
        inputs.push(Some(write));
        ports.push(serve_port(index * 2, *port, kubelet.connect(connection), read, queue.clone()));
    }
    drop(queue);
    let outgoing = async {
        while let Some(message) = queued.recv().await {
            if sink.send(Message::Binary(message)).await.is_err() {
                return;
            }
        }
        drop(sink.send(channel::close_normal()).await);
    };
    let mut incoming = std::pin::pin!(feed(source, inputs));
    let ended = tokio::select! {
        _ = async { tokio::join!(join_all(ports), outgoing) } => true,
        () = incoming.as_mut() => false,
    };
    if ended {
        drop(tokio::time::timeout(CLOSE_TIMEOUT, incoming).await);
    }
}

async fn serve_port(
    data: u8,
    port: u16,
    script: impl Future<Output = Result<(), String>>,
    mut read: ReadHalf<DuplexStream>,
    queue: mpsc::Sender<Bytes>,
) {
    let error = data + 1;
    // A closed queue means that the client has disconnected, and this future is about to be dropped.
    for channel in [data, error] {
        drop(queue.send(channel::message(channel, &port.to_le_bytes())).await);
    }
    let output = async {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = read.read(&mut chunk).await {
            drop(queue.send(channel::message(data, &chunk[..length])).await);
        }
    };
    let (result, ()) = tokio::join!(script, output);
    if let Err(why) = result {
        drop(queue.send(channel::message(error, why.as_bytes())).await);
    }
}

/// Distributes data to the ports; returns when the client has disconnected.
async fn feed<I>(
    mut source: SplitStream<WebSocketStream<I>>,
    mut inputs: Vec<Option<WriteHalf<DuplexStream>>>,
) where
    I: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = source.next().await {
        let mut data = match message {
            Message::Binary(data) => data,
            Message::Close(_) => return,
            _ => continue,
        };
        if data.is_empty() {
            continue;
        }
        let channel = data.split_to(1)[0];
        // Error channels take no input.
        let input = inputs.get_mut(usize::from(channel / 2)).filter(|_| channel % 2 == 0);
        if let Some(input) = input
            && let Some(write) = input
            && write.write_all(&data).await.is_err()
        {
            *input = None;
        }
    }
}
