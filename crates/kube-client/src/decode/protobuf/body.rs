//! Bodies in protobuf, read as JSON.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use http_body::Frame;

use super::split::{MEDIA_TYPE, Splitter};
use crate::body::Body;
use crate::error::Error;

/// What a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    List,
    Events,
}

/// The body of a response as JSON: what its `Content-Type` says decides. `on_other_type` is called if the server sends other types than
/// metadata in protobuf, which cannot be read.
pub(crate) fn as_json(
    response: Response<Body>,
    form: Form,
    skips_managed_fields: bool,
    on_other_type: impl FnOnce() + Send + 'static,
) -> Body {
    let is_protobuf = is_protobuf(response.headers());
    let body = response.into_body();
    if !is_protobuf {
        return body;
    }
    let limit = body.collect_limit();
    let splitter = match form {
        Form::List => Splitter::of_list(limit, skips_managed_fields),
        Form::Events => Splitter::of_events(limit, skips_managed_fields),
    };
    let on_other_type: Option<Box<dyn FnOnce() + Send>> = Some(Box::new(on_other_type));
    Body::wrap(JsonBody { body, splitter, state: State::Reading, on_other_type }).with_collect_limit(limit)
}

pub(in crate::decode) fn is_protobuf(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()?.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(MEDIA_TYPE))
}

struct JsonBody {
    body: Body,
    splitter: Splitter,
    state: State,
    on_other_type: Option<Box<dyn FnOnce() + Send>>,
}

enum State {
    Reading,
    /// The error is to be reported.
    Failed(Error),
    Ended,
}

impl http_body::Body for JsonBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let mut json = Vec::new();
        while json.is_empty() {
            match std::mem::replace(&mut this.state, State::Ended) {
                State::Reading => {}
                State::Failed(err) => return Poll::Ready(Some(Err(err))),
                State::Ended => return Poll::Ready(None),
            }
            this.state = State::Reading;
            let result = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.splitter.push(&data, &mut json),
                    Err(_trailers) => Ok(()),
                },
                Some(Err(err)) => Err(err),
                None => {
                    this.state = State::Ended;
                    this.splitter.finish()
                }
            };
            if this.splitter.sends_other_types()
                && let Some(note) = this.on_other_type.take()
            {
                note();
            }
            if let Err(err) = result {
                this.state = State::Failed(err);
                // Dropping the body releases its connection now.
                this.body = Body::empty();
            }
        }
        Poll::Ready(Some(Ok(Frame::data(json.into()))))
    }
}
