//! Applies a fault to the body of a response, after some of its lines.

use std::io;

use bytes::Bytes;
use futures::{StreamExt, future, stream};
use serde_json::json;

use super::Fault;
use crate::{
    clock::Clock,
    response::{Body, Lines},
    status_error::StatusError,
};

/// Applies a fault to a body after `lines` of it. `expired` is the event of [`expired_line`] in the format of the body.
pub(crate) fn inject((fault, lines, expired): (Fault, usize, Bytes), body: Body, clock: Clock) -> Body {
    match body.into_lines() {
        Ok(stream) => {
            let faulty = FaultyStream { lines, fault: Some(fault), expired, stream, clock };
            Body::lines(faulty.into_lines())
        }
        Err(whole) => inject_whole(fault, whole, clock),
    }
}

struct FaultyStream {
    /// The number of lines before the fault.
    lines: usize,
    fault: Option<Fault>,
    expired: Bytes,
    stream: Lines,
    clock: Clock,
}

impl FaultyStream {
    fn into_lines(self) -> Lines {
        stream::unfold(self, async |mut faulty| Some((faulty.next().await?, faulty))).fuse().boxed()
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.lines > 0 {
            self.lines -= 1;
            return self.stream.next().await;
        }
        match self.fault.take() {
            None => {}
            Some(Fault::Reset | Fault::Lost) => return self.end_with(Err(reset())),
            Some(Fault::Expired) => {
                let expired = self.expired.clone();
                return self.end_with(Ok(expired));
            }
            Some(Fault::Truncate) => {
                let line = self.stream.next().await?;
                return self.end_with(line.map(|line| line.slice(..line.len() / 2)));
            }
            Some(Fault::Garbage) => {
                self.stream.next().await?.ok()?;
                return Some(Ok(Bytes::from_static(GARBAGE)));
            }
            Some(Fault::Stall) => future::pending().await,
            Some(Fault::Delay(time)) => {
                let line = self.stream.next().await;
                self.clock.sleep(time).await;
                return line;
            }
            Some(Fault::DropEvent) => drop(self.stream.next().await?),
            // Faults without a meaning for lines end the stream: a test must not mistake them for success.
            Some(_) => self.stream = stream::empty().boxed(),
        }
        self.stream.next().await
    }

    fn end_with(&mut self, last: io::Result<Bytes>) -> Option<io::Result<Bytes>> {
        self.stream = stream::empty().boxed();
        Some(last)
    }
}

fn inject_whole(fault: Fault, whole: Bytes, clock: Clock) -> Body {
    let half = whole.slice(..whole.len() / 2);
    let parts = match fault {
        Fault::Cut => stream::empty().boxed(),
        Fault::Reset | Fault::Lost => stream::iter([Ok(half), Err(reset())]).boxed(),
        Fault::Truncate => stream::iter([Ok(half)]).boxed(),
        Fault::Garbage => stream::iter([Ok(Bytes::from_static(GARBAGE))]).boxed(),
        Fault::Stall => stream::iter([Ok(half)]).chain(stream::pending()).boxed(),
        Fault::Delay(time) => stream::once(async move {
            clock.sleep(time).await;
            Ok(whole)
        })
        .boxed(),
        _ => stream::once(future::ready(Ok(whole))).boxed(),
    };
    Body::lines(parts)
}

/// A line that is neither UTF-8 nor JSON.
const GARBAGE: &[u8] = b"\xff\xfe{\"type\":\x00 garbage\n";

pub(crate) fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by an injected fault")
}

pub(crate) fn expired_line() -> Bytes {
    let failure = StatusError::expired("too old resource version: history expired by an injected fault");
    format!("{}\n", json!({"type": "ERROR", "object": failure.status()})).into()
}
