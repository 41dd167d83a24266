//! One SPDY connection with its streams.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    io::{
        AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split,
    },
    sync::mpsc,
};

use super::{
    frame::{self, CHUNK, Decoder, Frame},
    headers::{Packer, Unpacker},
};

/// Buffer of each direction of a stream. Without flow control, a full stream blocks all streams of its connection.
const BUFFER: usize = 256 * 1024;
/// Frames queued for the peer; when the queue is full, the streams wait.
const QUEUE: usize = 16;
/// The largest number of open streams; a peer that opens more is disconnected.
const STREAMS: usize = 1024;

/// A stream that the peer has opened.
#[derive(Debug)]
pub(super) struct Stream {
    /// By lower-case names.
    pub(super) headers: BTreeMap<String, String>,
    /// Ends when the peer closes its side. Dropping it closes ours.
    pub(super) io: DuplexStream,
}

/// Runs a connection until the peer closes it; sends the streams it opens to `streams`.
pub(super) async fn run<I>(io: I, streams: mpsc::Sender<Stream>)
where
    I: AsyncRead + AsyncWrite,
{
    let (read, mut write) = split(io);
    let (out, mut queued) = mpsc::channel::<Bytes>(QUEUE);
    let writer = async {
        while let Some(frame) = queued.recv().await {
            if write.write_all(&frame).await.is_err() || write.flush().await.is_err() {
                return;
            }
        }
    };
    let (spawn, mut spawned) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
    let pumps = async {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                pump = spawned.recv() => match pump {
                    Some(pump) => running.push(pump),
                    None => return,
                },
                Some(()) = running.next() => {}
            }
        }
    };
    let reader = Reader {
        streams,
        out,
        spawn,
        inputs: HashMap::new(),
        unpacker: Unpacker::new(),
        packer: Packer::new(),
    };
    tokio::select! {
        result = reader.run(read) => if let Err(why) = result {
            tracing::debug!(why, "a SPDY connection ended");
        },
        () = writer => {}
        () = pumps => {}
    }
}

struct Reader {
    streams: mpsc::Sender<Stream>,
    out: mpsc::Sender<Bytes>,
    spawn: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    inputs: HashMap<u32, WriteHalf<DuplexStream>>,
    unpacker: Unpacker,
    packer: Packer,
}

impl Reader {
    async fn run<I: AsyncRead>(mut self, mut read: ReadHalf<I>) -> Result<(), String> {
        let mut decoder = Decoder::default();
        let mut chunk = vec![0; CHUNK];
        loop {
            while let Some(frame) = decoder.next()? {
                if frame == Frame::GoAway {
                    return Ok(());
                }
                self.handle(frame).await?;
            }
            match read.read(&mut chunk).await {
                Ok(length @ 1..) => decoder.push(&chunk[..length]),
                _ => return Ok(()),
            }
        }
    }

    async fn handle(&mut self, frame: Frame) -> Result<(), String> {
        match frame {
            Frame::Open { stream, headers, last } => self.open(stream, &headers, last).await?,
            Frame::Headers(headers) => drop(self.unpacker.unpack(&headers)?),
            Frame::Data { stream, data, last } => {
                if let Some(input) = self.inputs.get_mut(&stream)
                    && (input.write_all(&data).await.is_err() || last)
                {
                    self.end(stream).await;
                }
            }
            Frame::Reset { stream } => self.end(stream).await,
            Frame::Ping(id) => drop(self.out.send(frame::pong(id)).await),
            Frame::GoAway | Frame::Other => {}
        }
        Ok(())
    }

    async fn open(&mut self, stream: u32, headers: &[u8], last: bool) -> Result<(), String> {
        let headers = self.unpacker.unpack(headers)?;
        if self.inputs.len() >= STREAMS {
            return Err(format!("more than {STREAMS} streams at once"));
        }
        let (ours, io) = duplex(BUFFER);
        let (output, input) = split(ours);
        // Closed receivers mean that the connection is about to end.
        drop(self.out.send(frame::accepted(stream, &self.packer.pack_none())).await);
        drop(self.spawn.send(Box::pin(pump(stream, output, self.out.clone()))));
        self.inputs.insert(stream, input);
        if last {
            self.end(stream).await;
        }
        drop(self.streams.send(Stream { headers, io }).await);
        Ok(())
    }

    async fn end(&mut self, stream: u32) {
        if let Some(mut input) = self.inputs.remove(&stream) {
            drop(input.shutdown().await);
        }
    }
}

/// Sends the output of a stream, then its end.
async fn pump(stream: u32, mut output: ReadHalf<DuplexStream>, out: mpsc::Sender<Bytes>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = output.read(&mut chunk).await {
        if out.send(frame::data(stream, &chunk[..length], false)).await.is_err() {
            return;
        }
    }
    drop(out.send(frame::data(stream, b"", true)).await);
}
