//! The body of a watch as a stream of events.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use kube_core::{DeserializeGuard, WatchEvent};
use serde::de::DeserializeOwned;

use super::event_lines::{EventLines, Line};
use super::explain::{explain_event, invalid_event};
use super::known::KnownObjects;
use super::read::{Prune, catch_panic, read_event};
use super::split::ArrayLengths;
use crate::body::Body;
use crate::error::ErasedError;

/// The events of a watch. An undecodable event is one error and the stream continues; an error of the connection is the last item.
#[derive(Debug)]
pub(crate) struct EventStream<K, D = fn(&[u8], &Prune) -> Decoded<K>> {
    lines: EventLines,
    /// Of events, not of their objects.
    prune: Prune,
    decode: D,
    events: PhantomData<fn() -> K>,
}

pub(crate) type Decoded<K> = Result<WatchEvent<K>, ErasedError>;

impl<K: DeserializeOwned> EventStream<K> {
    pub(crate) fn new(body: Body, prune: &Prune) -> Self {
        Self::decoded_by(body, prune, decode)
    }
}

impl<K, D: Fn(&[u8], &Prune) -> Decoded<K>> EventStream<K, D> {
    fn decoded_by(body: Body, prune: &Prune, decode: D) -> Self {
        Self { lines: EventLines::new(body), prune: prune.within_event(), decode, events: PhantomData }
    }
}

/// The events of a watch. Undecodable objects are events with an [`InvalidObject`](kube_core::error_boundary::InvalidObject).
/// `known` is told how objects were received, and nothing is looked up.
pub(crate) fn guarded_events<K: DeserializeOwned>(
    body: Body,
    prune: &Prune,
    known: KnownObjects<K>,
) -> impl Stream<Item = Decoded<DeserializeGuard<K>>> + use<K> {
    EventStream::decoded_by(body, prune, move |line: &[u8], prune: &Prune| {
        let mut event = decode_guarded(line, &[], prune)?;
        known.note_event(line, &mut event);
        Ok(event)
    })
}

impl<K, D: Fn(&[u8], &Prune) -> Decoded<K> + Unpin> Stream for EventStream<K, D> {
    type Item = Decoded<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        Poll::Ready(match ready!(this.lines.poll_next(cx)) {
            Some(Ok(Line::Complete(line))) => Some((this.decode)(&line, &this.prune)),
            // Without a line feed it may be incomplete, and then it is ignored.
            Some(Ok(Line::Last(line))) => (this.decode)(&line, &this.prune).ok().map(Ok),
            Some(Err(err)) => Some(Err(err)),
            None => None,
        })
    }
}

fn decode<K: DeserializeOwned>(line: &[u8], prune: &Prune) -> Result<WatchEvent<K>, ErasedError> {
    read_event(line, &[], prune).map_err(|err| explain_event(line, &err))
}

/// Decodes in one pass. If that fails, further passes read the object's metadata and find the invalid field.
pub(super) fn decode_guarded<K: DeserializeOwned>(
    line: &[u8],
    lengths: &ArrayLengths,
    prune: &Prune,
) -> Result<WatchEvent<DeserializeGuard<K>>, ErasedError> {
    match catch_panic(|| read_event::<K>(line, lengths, prune)) {
        Ok(event) => Ok(with_object(event, |object| DeserializeGuard(Ok(object)))),
        Err(err) => {
            let event = invalid_event(line, &err)?;
            Ok(with_object(event, |invalid| DeserializeGuard(Err(invalid))))
        }
    }
}

fn with_object<T, U>(event: WatchEvent<T>, convert: impl FnOnce(T) -> U) -> WatchEvent<U> {
    match event {
        WatchEvent::Added(object) => WatchEvent::Added(convert(object)),
        WatchEvent::Modified(object) => WatchEvent::Modified(convert(object)),
        WatchEvent::Deleted(object) => WatchEvent::Deleted(convert(object)),
        WatchEvent::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
        WatchEvent::Error(status) => WatchEvent::Error(status),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use bytes::Bytes;
    use futures::{StreamExt, TryStreamExt, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::ResourceExt;
    use tower::BoxError;

    use super::*;
    use crate::error::Error;

    type Piece = Result<&'static str, BoxError>;

    async fn events(pieces: Vec<Piece>) -> Vec<Result<WatchEvent<ConfigMap>, Error>> {
        let frames = pieces
            .into_iter()
            .map(|piece| piece.map(|text| Frame::data(Bytes::from_static(text.as_bytes()))));
        let body = Body::wrap(StreamBody::new(stream::iter(frames)));
        EventStream::new(body, &Prune::default()).map_err(ErasedError::into_error).collect().await
    }

    const A: &str = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";

    #[tokio::test]
    async fn an_event_may_span_chunks() {
        let events = events(vec![Ok(&A[..10]), Ok(&A[10..]), Ok(A)]).await;
        let names: Vec<_> = events
            .into_iter()
            .map(|event| match event.unwrap() {
                WatchEvent::Added(object) => object.name_any(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["a", "a"]);
    }

    #[tokio::test]
    async fn an_undecodable_object_is_one_error_that_names_it() {
        let bad = "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\",\
                   \"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"data\":5}}\n";
        let events = events(vec![Ok(A), Ok(bad), Ok(A)]).await;
        assert_eq!(events.len(), 3);
        let Err(Error::SerdeError(cause)) = &events[1] else { panic!("{:?}", events[1]) };
        assert!(
            cause.to_string().starts_with("watch event MODIFIED of ConfigMap ns/b: data: invalid type"),
            "{cause}"
        );
        assert!(events[2].is_ok());
    }

    #[test]
    fn an_error_contains_what_is_readable() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (line, expected) in [
            (
                r#"{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"b"},"data":5}}"#,
                "ADDED of ConfigMap b: data: inv",
            ),
            (
                r#"{"object":{"metadata":{"name":"b","namespace":"ns"},"data":5},"type":"ADDED"}"#,
                "ADDED of ns/b: ",
            ),
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"b","namespace":null},"data":5}}"#,
                "ADDED of b: data: invalid",
            ),
            (
                r#"{"type":"ADDED","object":{"data":5}}"#,
                "ADDED of an object without a name: {\"type\":\"ADDED\"",
            ),
            (r#"{"type":"ADDED","object":{"metadata":{"name":5}}}"#, "ADDED of an object without a name: {"),
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"b","namespace":5}}}"#,
                "ADDED of b: metadata.namespace: ",
            ),
            (r#"{"type":5,"object":{"metadata":{"name":"b"}}}"#, "unknown of b: "),
            (r#"{"type":"ADDED","object":5}"#, "ADDED of an object without a name: {"),
            (
                r#"{"type":"ADDED","object":{"kind":5,"metadata":{"name":"b"},"data":5}}"#,
                "ADDED of b: kind: ",
            ),
            (r#"{"kind":"Status","message":5}"#, "unknown of an object without a name: {\"kind\""),
            (r#"{"kind":"Status","type":"A"}"#, "A of an object without a name: {\"kind\""),
            (
                &format!(
                    r#"{{"type":"ADDED","object":{{"metadata":{{"name":"b"}},"data":5,"more":{deep}}}}}"#
                ),
                "ADDED of b: data: inv",
            ),
            (r#"{"type":"ADDED""#, "unknown of an object without a name: {"),
        ] {
            let error =
                decode::<ConfigMap>(line.as_bytes(), &Prune::default()).unwrap_err().get().to_string();
            assert!(error.contains(&format!("watch event {expected}")), "{line}: {error}");
        }
    }

    #[test]
    fn the_error_of_text_that_is_not_utf8_has_its_position() {
        let line = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xFF\"}}}";
        let error = decode::<ConfigMap>(line, &Prune::default()).unwrap_err();
        let Error::SerdeError(error) = error.get() else { panic!("{error:?}") };
        let expected = "}}}: metadata.name: invalid unicode code point at line 1 column 47";
        assert!(error.to_string().ends_with(expected), "{error}");
    }

    #[test]
    fn a_guarded_event_is_that_of_its_object_or_an_error() {
        let read = |line: &str| match decode_guarded::<ConfigMap>(line.as_bytes(), &[], &Prune::default()) {
            Ok(event) => {
                let kind = format!("{event:?}");
                match event {
                    WatchEvent::Added(guard) | WatchEvent::Modified(guard) | WatchEvent::Deleted(guard) => {
                        format!("{kind} {}", guard.0.unwrap_err())
                    }
                    WatchEvent::Bookmark(_) | WatchEvent::Error(_) => kind,
                }
            }
            Err(err) => err.get().to_string(),
        };
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (line, expected) in [
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"b"},"data":5}}"#,
                "Added cannot decode object b: data: invalid",
            ),
            (
                r#"{"object":{"metadata":{"name":"b"},"data":5},"type":"MODIFIED"}"#,
                "Modified cannot decode object b: ",
            ),
            (r#"{"type":"DELETED","object":5}"#, "Deleted cannot decode object without a name: invalid type"),
            (r#"{"type":"BOOKMARK","object":{}}"#, "watch event BOOKMARK of an object without a name: "),
            (r#"{"type":"ERROR","object":5}"#, "watch event ERROR of an object without a name: "),
            (r#"{"type":"ODD","object":{}}"#, "watch event ODD of an object without a name: "),
            (
                r#"{"type":"ADDED","object":{"metadata":{"name":"b"},"data":5}} x"#,
                "watch event unknown of an object without",
            ),
            (r#"{"type":"ADDED"}"#, "watch event ADDED of an object without a name: "),
            (
                &format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"b"}},"data":{deep}}}}}"#),
                "Added cannot decode object b: data",
            ),
        ] {
            assert!(read(line).contains(expected), "{line}: {}", read(line));
        }
    }

    /// A watch pays only for what it uses.
    #[test]
    fn an_event_of_which_nothing_is_known_is_decoded_by_serde_json_alone() {
        struct IsHinted(bool);
        impl<'de> serde::Deserialize<'de> for IsHinted {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde::de::IgnoredAny::deserialize(deserializer)?;
                Ok(Self(std::any::type_name::<D>().contains("Hinted")))
            }
        }
        let line = br#"{"type":"ADDED","object":{"metadata":{"managedFields":[]}}}"#;
        for (prune, hinted) in [(Prune::default(), false), (Prune::default().managed_fields(), true)] {
            let event = decode::<IsHinted>(line, &prune.within_event());
            assert!(matches!(event, Ok(WatchEvent::Added(IsHinted(seen))) if seen == hinted));
            let event = decode_guarded::<IsHinted>(line, &[], &prune.within_event()); // as watchers do
            assert!(
                matches!(event, Ok(WatchEvent::Added(DeserializeGuard(Ok(IsHinted(seen))))) if seen == hinted)
            );
        }
    }

    #[tokio::test]
    async fn a_guarded_undecodable_object_is_an_event_with_its_metadata() {
        let bad = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"},\"data\":5}}\n";
        let text = [A, bad, "{\"type\":\"ODD\",\"object\":{}}\n", A].concat();
        let stream = guarded_events::<ConfigMap>(
            Body::from(text.into_bytes()),
            &Prune::default(),
            KnownObjects::default(),
        );
        let events: Vec<_> = stream.collect().await;
        assert_eq!(events.len(), 4);
        assert!(matches!(&events[0], Ok(WatchEvent::Added(DeserializeGuard(Ok(_))))));
        let Ok(WatchEvent::Deleted(DeserializeGuard(Err(invalid)))) = &events[1] else { panic!() };
        assert_eq!(invalid.metadata.resource_version.as_deref(), Some("7"));
        assert!(invalid.to_string().starts_with("cannot decode object b: data: invalid type"), "{invalid}");
        assert!(matches!(&events[2], Err(err) if matches!(err.get(), Error::SerdeError(_))));
        assert!(events[3].is_ok());
    }

    #[tokio::test]
    async fn a_panic_while_decoding_is_an_event_of_that_object() {
        #[derive(Debug)]
        struct Panics;
        impl<'de> serde::Deserialize<'de> for Panics {
            fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                panic!("odd")
            }
        }
        let stream = guarded_events::<Panics>(
            Body::from(A.as_bytes().to_vec()),
            &Prune::default(),
            KnownObjects::default(),
        );
        let events: Vec<_> = stream.collect().await;
        let [Ok(WatchEvent::Added(DeserializeGuard(Err(invalid))))] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(invalid.to_string(), "cannot decode object a: its `Deserialize` panicked: odd");
    }

    #[tokio::test]
    async fn the_error_of_an_invalid_line_contains_its_text() {
        let events = events(vec![Ok("<html>oops</html>\n"), Ok(A)]).await;
        assert!(
            matches!(&events[0], Err(Error::SerdeError(cause)) if cause.to_string().contains("<html>oops"))
        );
        assert!(events[1].is_ok());
    }

    #[tokio::test]
    async fn a_status_is_an_error_with_and_without_an_event() {
        let status = "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}\n";
        let wrapped = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
        let events = events(vec![Ok(status), Ok(wrapped)]).await;
        assert!(matches!(&events[0], Err(Error::Api(status)) if status.code == 410));
        assert!(matches!(&events[1], Ok(WatchEvent::Error(status)) if status.code == 410));
    }

    #[tokio::test]
    async fn a_closed_connection_ends_the_stream_without_an_error() {
        let eof = || Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        assert!(matches!(
            &events(vec![Ok(A), Ok("{\"type\":"), eof()]).await[..],
            [Ok(WatchEvent::Added(_))]
        ));
        assert!(matches!(&events(vec![Ok(A), Ok("{\"type\":")]).await[..], [Ok(WatchEvent::Added(_))]));
        assert!(matches!(&events(vec![Ok(A.trim_end())]).await[..], [Ok(WatchEvent::Added(_))]));
    }

    /// hyper reports this as an incomplete message.
    #[tokio::test]
    async fn an_incomplete_chunked_body_ends_the_stream_without_an_error() {
        use hyper_util::rt::TokioIo;
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let (near, mut far) = tokio::io::duplex(4096);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(near)).await.unwrap();
        tokio::spawn(connection);
        tokio::spawn(async move {
            far.read_buf(&mut Vec::new()).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            far.write_all(format!("{head}{:x}\r\n{A}\r\n40\r\n{{\"type\":", A.len()).as_bytes())
                .await
                .unwrap();
        });
        let response = sender.send_request(http::Request::new(Body::empty())).await.unwrap();
        let events: Vec<_> =
            EventStream::<ConfigMap>::new(Body::wrap(response.into_body()), &Prune::default())
                .collect()
                .await;
        assert!(matches!(&events[..], [Ok(WatchEvent::Added(_))]), "{events:?}");
    }

    #[tokio::test]
    async fn another_connection_error_is_the_last_item() {
        let reset = Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
        let mut events = events(vec![Ok(A), reset, Ok(A)]).await;
        assert_eq!(events.len(), 2);
        let Err(Error::ReadEvents(cause)) = events.remove(1) else { panic!("expected ReadEvents") };
        assert_eq!(cause.kind(), io::ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn excessive_nesting_is_an_error_of_one_line() {
        let deep =
            format!("{{\"type\":\"ADDED\",\"object\":{}{}}}\n{A}", "[".repeat(10_000), "]".repeat(10_000));
        let stream = EventStream::<serde_json::Value>::new(Body::from(deep.into_bytes()), &Prune::default());
        let events: Vec<_> = stream.collect().await;
        assert!(events[0].is_err() && events[1].is_ok());
    }

    #[tokio::test]
    async fn an_empty_body_has_no_events() {
        let none: Vec<_> =
            EventStream::<ConfigMap>::new(Body::empty(), &Prune::default()).try_collect().await.unwrap();
        assert!(none.is_empty());
    }
}
