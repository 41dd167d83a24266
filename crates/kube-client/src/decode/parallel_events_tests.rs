//! Events of a watch that are decoded by tasks: order, errors, panics and read-ahead.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};
use tower::BoxError;

use super::super::events::guarded_events;
use super::super::ordered_map::{BATCH_BYTES, MAX_BATCHES};
use super::*;

type Piece = Result<Bytes, BoxError>;

fn body(pieces: impl IntoIterator<Item = Piece, IntoIter: Send + 'static>) -> Body {
    Body::wrap(StreamBody::new(stream::iter(pieces).map(|piece| piece.map(Frame::data))))
}

fn with_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// An event whose object has this name and as many more bytes.
fn added(name: usize, size: usize) -> Bytes {
    let padding = "x".repeat(size);
    format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\",\"resourceVersion\":\"5\"}},\"padding\":\"{padding}\"}}}}\n")
        .into()
}

/// Remembers the thread that decoded it.
#[derive(Clone, Debug)]
struct Traced(ThreadId);

impl<'de> Deserialize<'de> for Traced {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self(thread::current().id()))
    }
}

fn thread_of(event: Option<Event<Traced>>) -> ThreadId {
    match event {
        Some(Ok(WatchEvent::Added(DeserializeGuard(Ok(Traced(thread)))))) => thread,
        other => panic!("{other:?}"),
    }
}

/// Has a name, is invalid without one and panics at the name `panic`.
#[derive(Debug)]
struct Odd(String);

impl<'de> Deserialize<'de> for Odd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = kube_core::PartialObjectMeta::<kube_core::DynamicObject>::deserialize(deserializer)?;
        let name = object.metadata.name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
        assert_ne!(name, "panic", "an odd name");
        Ok(Self(name))
    }
}

fn shown(event: &Event<Odd>) -> String {
    match event {
        Ok(WatchEvent::Added(DeserializeGuard(Ok(Odd(name))))) => name.clone(),
        Ok(WatchEvent::Added(DeserializeGuard(Err(invalid)))) => invalid.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn the_events_are_those_of_a_stream_without_tasks_in_their_order() {
    const ODD: [&str; 5] = [
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"panic\"}}}\n",
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n",
        "<html>\n",
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n",
    ];
    let lines = (0..2000).flat_map(|number| {
        let odd = (number % 97 == 0).then(|| Bytes::from_static(ODD[number / 97 % ODD.len()].as_bytes()));
        odd.into_iter().chain([added(number, number % 300)])
    });
    let text = lines.collect::<Vec<_>>().concat();
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset).into();
    let closed = || io::Error::from(io::ErrorKind::UnexpectedEof).into();
    let whole = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"last\"}}}";
    for size in [100, 5_000, 200_000, text.len()] {
        for ending in 0..4 {
            let pieces = || {
                let mut pieces: Vec<Piece> =
                    text.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
                match ending {
                    0 => {}
                    1 => pieces.push(Err(reset())),
                    2 => pieces.extend([Ok(Bytes::from_static(b"{\"type\":")), Err(closed())]),
                    _ => pieces.push(Ok(Bytes::from_static(whole.as_bytes()))),
                }
                pieces
            };
            with_threads().block_on(async {
                let prune = Prune::default();
                let plain: Vec<_> =
                    guarded_events(body(pieces()), &prune, KnownObjects::default()).collect().await;
                let ahead: Vec<_> =
                    ParallelEvents::new(body(pieces()), &prune, KnownObjects::default(), DecodeBy::Tasks)
                        .collect()
                        .await;
                assert!(plain.len() >= 2000);
                let plain: Vec<_> = plain.iter().map(shown).collect();
                assert_eq!(ahead.iter().map(shown).collect::<Vec<_>>(), plain, "{size} {ending}");
            });
        }
    }
}

/// The first one that is decoded waits until another thread decodes one, too.
#[derive(Debug)]
struct Meets;

impl<'de> Deserialize<'de> for Meets {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static THREADS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
        static MET: Condvar = Condvar::new();

        let mut threads = THREADS.lock().unwrap();
        if !threads.contains(&thread::current().id()) {
            threads.push(thread::current().id());
        }
        MET.notify_all();
        let waited = MET.wait_timeout_while(threads, Duration::from_secs(30), |threads| threads.len() < 2);
        let (threads, timeout) = waited.unwrap();
        drop(threads);
        assert!(!timeout.timed_out(), "one thread decodes");
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

#[test]
fn many_events_are_decoded_by_several_threads() {
    let burst = (0..20).map(|number| added(number, BATCH_BYTES / 4)).collect::<Vec<_>>().concat();
    with_threads().block_on(async {
        let events = ParallelEvents::<Meets>::new(
            body([Ok(burst.into())]),
            &Prune::default(),
            KnownObjects::default(),
            DecodeBy::Tasks,
        );
        let events: Vec<_> = events.collect().await;
        assert_eq!(events.len(), 20);
        for event in events {
            assert!(matches!(event, Ok(WatchEvent::Added(DeserializeGuard(Ok(Meets))))), "{event:?}");
        }
    });
}

#[test]
fn known_objects_are_not_decoded_and_keep_their_places() {
    with_threads().block_on(async {
        let lines = (0..200).map(|number| Ok(added(number, BATCH_BYTES / 20)));
        let known = KnownObjects::new(|version| (version.name == "17").then(|| Odd("known".to_owned())));
        let events =
            ParallelEvents::new(body(lines.collect::<Vec<_>>()), &Prune::default(), known, DecodeBy::Tasks);
        let shown: Vec<_> = events.map(|event| shown(&event)).collect().await;
        let name = |number: usize| if number == 17 { "known".to_owned() } else { number.to_string() };
        assert_eq!(shown, (0..200).map(name).collect::<Vec<_>>());
    });
}

#[test]
fn additions_are_looked_up_wherever_their_metadata_are() {
    let metadata = r#""metadata":{"name":"a","resourceVersion":"5"}"#;
    let padding = format!(r#""padding":"{}""#, "x".repeat(3000));
    with_threads().block_on(async {
        for (line, expected) in [
            (format!(r#"{{"type":"ADDED","object":{{{metadata}}}}}"#), "known"),
            (format!(r#"{{"type":"ADDED","object":{{{metadata},{padding}}}}}"#), "known"),
            (format!(r#"{{"type":"ADDED","object":{{{padding},{metadata}}}}}"#), "known"),
            (r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"6"}}}"#.to_owned(), "a"),
            (format!(r#"{{"object":{{{metadata}}},"type":"ADDED"}}"#), "a"),
            (format!(r#"{{"type":"MODIFIED","object":{{{metadata}}}}}"#), "Ok(Modified)"),
            (format!(r#"{{"type":"DELETED","object":{{{metadata}}}}}"#), "Ok(Deleted)"),
        ] {
            let looked_up = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&looked_up);
            let known = KnownObjects::new(move |version| {
                count.fetch_add(1, Ordering::Relaxed);
                (version.resource_version == "5").then(|| Odd("known".to_owned()))
            });
            let body = body([Ok(format!("{line}\n").into())]);
            let events: Vec<_> =
                ParallelEvents::new(body, &Prune::default(), known, DecodeBy::Tasks).collect().await;
            assert_eq!(events.iter().map(shown).collect::<Vec<_>>(), [expected], "{line}");
            let additions = usize::from(line.starts_with(r#"{"type":"ADDED""#));
            assert_eq!(looked_up.load(Ordering::Relaxed), additions, "{line}");
        }
    });
}

#[test]
fn a_single_event_is_decoded_by_the_reader() {
    with_threads().block_on(async {
        let (sender, receiver) = futures::channel::mpsc::unbounded::<Piece>();
        let body = Body::wrap(StreamBody::new(receiver.map(|piece| piece.map(Frame::data))));
        let mut events =
            ParallelEvents::<Traced>::new(body, &Prune::default(), KnownObjects::default(), DecodeBy::Tasks);
        for number in 0..5 {
            sender.unbounded_send(Ok(added(number, 100))).unwrap();
            assert_eq!(thread_of(events.next().await), thread::current().id(), "{number}");
        }
        assert!(futures::poll!(events.next()).is_pending());
    });
}

#[test]
fn the_reader_does_not_wait_for_busy_threads() {
    let burst = (0..40).map(|number| added(number, BATCH_BYTES / 4)).collect::<Vec<_>>().concat();
    let runtime = with_threads();
    let (begun, wait_begun) = mpsc::channel();
    let releases = [(); 2].map(|()| {
        let ((release, released), begun) = (mpsc::channel::<()>(), begun.clone());
        runtime.spawn(async move {
            begun.send(()).unwrap();
            let _ = released.recv();
        });
        wait_begun.recv().unwrap();
        release
    });
    runtime.block_on(async {
        let events = ParallelEvents::<Traced>::new(
            body([Ok(burst.into())]),
            &Prune::default(),
            KnownObjects::default(),
            DecodeBy::Tasks,
        );
        let events: Vec<_> = events.collect().await;
        assert_eq!(events.len(), 40);
        for event in events {
            assert_eq!(thread_of(Some(event)), thread::current().id());
        }
    });
    drop(releases);
}

#[test]
fn the_only_thread_of_a_runtime_decodes_one_line_after_the_other() {
    let one_worker = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for runtime in [Builder::new_current_thread().build().unwrap(), one_worker] {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&read);
        let pieces = (0..50).map(move |number| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(added(number, BATCH_BYTES))
        });
        runtime.block_on(async {
            let mut events = ParallelEvents::<Traced>::new(
                body(pieces),
                &Prune::default(),
                KnownObjects::default(),
                DecodeBy::Tasks,
            );
            for number in 1..=50 {
                assert_eq!(thread_of(events.next().await), thread::current().id());
                assert_eq!(read.load(Ordering::Relaxed), number, "nothing is read ahead");
            }
        });
    }
}

#[test]
fn a_slow_reader_stops_the_reading() {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read);
    let pieces = (0..).map(move |number| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(added(number, BATCH_BYTES / 2))
    });
    with_threads().block_on(async {
        let mut events = ParallelEvents::<Traced>::new(
            body(pieces),
            &Prune::default(),
            KnownObjects::default(),
            DecodeBy::Tasks,
        );
        for returned in 1..100 {
            assert!(events.next().await.unwrap().is_ok());
            let ahead = read.load(Ordering::Relaxed) - returned;
            assert!(ahead <= 2 * (MAX_BATCHES + 1), "{ahead} lines are read ahead");
        }
    });
}

#[test]
fn dropping_the_stream_ends_its_tasks() {
    static READER: OnceLock<ThreadId> = OnceLock::new();
    static DECODED: AtomicUsize = AtomicUsize::new(0);
    static BLOCKED: Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>> = Mutex::new(None);

    /// The first one that a task decodes waits for the test.
    #[derive(Debug)]
    struct Waits;

    impl<'de> Deserialize<'de> for Waits {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            if *READER.get().unwrap() == thread::current().id() {
                return serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self);
            }
            DECODED.fetch_add(1, Ordering::SeqCst);
            // Held while waiting, so that the other tasks wait, too.
            let mut blocked = BLOCKED.lock().unwrap();
            if let Some((started, released)) = blocked.take() {
                started.send(()).unwrap();
                released.recv().unwrap();
            }
            serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
        }
    }

    READER.set(thread::current().id()).unwrap();
    let ((started, wait_started), (release, released)) = (mpsc::channel(), mpsc::channel());
    *BLOCKED.lock().unwrap() = Some((started, released));
    let text = (0..1000).map(|number| added(number, BATCH_BYTES / 100)).collect::<Vec<_>>().concat();
    let runtime = with_threads();
    runtime.block_on(async {
        let mut events = ParallelEvents::<Waits>::new(
            body([Ok(text.into())]),
            &Prune::default(),
            KnownObjects::default(),
            DecodeBy::Tasks,
        );
        // Not awaited: a task may have begun with the first line, and waits for the test.
        let _ = futures::poll!(events.next());
        wait_started.recv().unwrap();
    });
    release.send(()).unwrap();
    drop(runtime); // waits for the tasks that are running
    assert!(DECODED.load(Ordering::SeqCst) <= 2, "at most one object per thread was decoded");
}
