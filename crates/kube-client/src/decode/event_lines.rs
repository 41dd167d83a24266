//! The lines of the body of a watch, each of them one event.

use std::error::Error as StdError;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body as _;

use super::split::LineSplitter;
use crate::body::Body;
use crate::error::{ErasedError, Error};

/// The lines of a watch. An error of the connection is the last item.
#[derive(Debug)]
pub(super) struct EventLines {
    body: Body,
    splitter: LineSplitter,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    /// The body has ended; its last line may have no line feed.
    LastLine,
    Ended,
}

/// A line without its line feed.
#[derive(Debug)]
pub(super) enum Line {
    Complete(Bytes),
    /// The last one, without a line feed: it may be incomplete.
    Last(Bytes),
}

impl EventLines {
    pub(super) fn new(body: Body) -> Self {
        Self { splitter: LineSplitter::new(body.collect_limit()), body, state: State::Reading }
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Line, ErasedError>>> {
        loop {
            match self.state {
                State::Reading => match self.splitter.next_line() {
                    Ok(Some(line)) => return Poll::Ready(Some(Ok(Line::Complete(line)))),
                    Ok(None) => {}
                    Err(_) => {
                        self.state = State::Ended;
                        return Poll::Ready(Some(Err(Error::LinesCodecMaxLineLengthExceeded.into())));
                    }
                },
                State::LastLine => {
                    self.state = State::Ended;
                    return Poll::Ready(self.splitter.finish().map(|line| Ok(Line::Last(line))));
                }
                State::Ended => return Poll::Ready(None),
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.splitter.push(data);
                    }
                }
                None => self.state = State::LastLine,
                Some(Err(err)) => {
                    self.state = State::Ended;
                    // Dropping the body releases its connection now, so that the next watch uses another one.
                    self.body = Body::empty();
                    return Poll::Ready(connection_error(err).map(Err));
                }
            }
        }
    }
}

/// `None` if the server closed the connection, which is a normal end of a watch: servers do so at every restart.
fn connection_error(err: Error) -> Option<ErasedError> {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&err);
    let mut kind = io::ErrorKind::Other;
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<io::Error>() {
            if io.kind() == io::ErrorKind::UnexpectedEof {
                return None;
            }
            kind = io.kind();
        }
        if current.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return None;
        }
        cause = current.source();
    }
    Some(Error::ReadEvents(io::Error::new(kind, err)).into())
}
