//! Bytes of another protocol in websocket messages.

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, split};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::pods::stream::channel::close_normal;

const CHUNK: usize = 16 * 1024;

/// Copies bytes in both directions until one side ends.
pub(super) async fn run<I>(io: I, inner: DuplexStream)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    let (mut sink, mut source) = socket.split();
    let (mut read, mut write) = split(inner);
    let outgoing = async {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = read.read(&mut chunk).await {
            if sink.send(Message::binary(chunk[..length].to_vec())).await.is_err() {
                return;
            }
        }
        drop(sink.send(close_normal()).await);
    };
    let incoming = async {
        while let Some(Ok(message)) = source.next().await {
            match message {
                Message::Binary(data) if write.write_all(&data).await.is_err() => return,
                Message::Close(_) => return,
                _ => {}
            }
        }
    };
    tokio::select! {
        () = outgoing => {}
        () = incoming => {}
    }
}
