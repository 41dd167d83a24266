//! Items of a list: order, errors and memory of the parallel decoding.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use kube_core::{DynamicObject, PartialObjectMeta};
use serde::Deserialize;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tower::BoxError;

use super::super::list::ListBody;
use super::super::ordered_map::BATCH_BYTES;
use super::super::read::Prune;
use super::*;
use crate::body::Body;
use crate::received_bytes::ReceivedBytes;

type Piece = Result<Bytes, BoxError>;

fn list_body(pieces: impl IntoIterator<Item = Piece, IntoIter: Send + 'static>) -> ListBody {
    let frames = stream::iter(pieces).map(|piece| piece.map(Frame::data));
    ListBody::new(Body::wrap(StreamBody::new(frames)), Prune::default())
}

fn with_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

fn runtimes() -> [Runtime; 2] {
    [with_threads(), Builder::new_current_thread().build().unwrap()]
}

/// Has a name, is invalid without one and panics at the name `panic`.
#[derive(Clone, Debug)]
struct Odd(String);

impl<'de> Deserialize<'de> for Odd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = PartialObjectMeta::<DynamicObject>::deserialize(deserializer)?;
        let name = object.metadata.name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
        assert_ne!(name, "panic", "an odd name");
        Ok(Self(name))
    }
}

fn shown(DeserializeGuard(item): DeserializeGuard<Odd>) -> String {
    item.map_or_else(|invalid| invalid.to_string(), |Odd(name)| name)
}

fn item(name: usize, size: usize) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"5"}},"padding":["{}"]}}"#, "x".repeat(size))
}

fn list_of(items: &[String]) -> String {
    let items = items.join(",");
    format!(r#"{{"kind":"OddList","metadata":{{"resourceVersion":"9","continue":"c"}},"items":[{items}]}}"#)
}

/// All parts: the items, and then how the list ended.
async fn parts(
    body: ListBody,
    known: KnownObjects<Odd>,
    by: DecodeBy,
) -> (Vec<String>, Result<ListMeta, String>) {
    let mut items = ListItems::new(ReceivedItems::open(body).await.unwrap(), known, by);
    let mut shown_items = Vec::new();
    let end = loop {
        match items.next().await.expect("it ends with an `End` or an error") {
            Ok(ListPart::Items(items)) => shown_items.extend(items.into_iter().map(shown)),
            Ok(ListPart::End(metadata)) => break Ok(metadata),
            Err(err) => break Err(format!("{err:?}")),
        }
    };
    assert!(items.next().await.is_none());
    (shown_items, end)
}

/// Of one test alone.
fn room_for_all() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1 << 20))
}

#[test]
fn a_list_that_nobody_reads_is_received_up_to_the_limit() {
    const LIMIT: usize = 1 << 20;
    let text = list_of(&(0..5000).map(|number| item(number, 1000)).collect::<Vec<_>>());
    let pieces = text
        .as_bytes()
        .chunks(5_000)
        .map(|piece| Ok::<_, BoxError>(Frame::data(Bytes::copy_from_slice(piece))));
    let frames = stream::iter(pieces.collect::<Vec<_>>());
    let received = ReceivedBytes::default();
    let body = Body::wrap(StreamBody::new(frames)).counted(Some(received.clone())).with_collect_limit(LIMIT);
    let [_, one_thread] = runtimes();
    one_thread.block_on(async {
        let waiting = ListBody::new(body, Prune::default());
        let waiting = ReceivedItems::open_with(waiting, room_for_all()).await.unwrap();
        // The task runs until it waits.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let held = usize::try_from(received.get()).unwrap();
        assert!((LIMIT / 2..=LIMIT + 2 * BATCH_BYTES).contains(&held), "{held} of {}", text.len());
        let mut items = ListItems::<Odd>::new(waiting, KnownObjects::default(), DecodeBy::Reader);
        let mut count = 0;
        while let ListPart::Items(part) = items.next().await.unwrap().unwrap() {
            count += part.len();
        }
        assert_eq!(count, 5000);
    });
}

/// Those of many clusters, for one.
#[test]
fn lists_that_nobody_reads_hold_little_together_and_stop_no_other() {
    const ROOM: usize = 1 << 20;
    let text = list_of(&(0..3000).map(|number| item(number, 1000)).collect::<Vec<_>>());
    let [_, one_thread] = runtimes();
    one_thread.block_on(async {
        let of_all = Arc::new(Semaphore::new(ROOM >> 10));
        let received = ReceivedBytes::default();
        let open = async || {
            let pieces = text
                .as_bytes()
                .chunks(5_000)
                .map(|piece| Ok::<_, BoxError>(Frame::data(Bytes::copy_from_slice(piece))));
            let frames = stream::iter(pieces.collect::<Vec<_>>());
            let body = Body::wrap(StreamBody::new(frames)).counted(Some(received.clone()));
            ReceivedItems::open_with(ListBody::new(body, Prune::default()), Arc::clone(&of_all))
                .await
                .unwrap()
        };
        let (one, two) = (open().await, open().await);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let held = usize::try_from(received.get()).unwrap();
        assert!((ROOM / 2..=ROOM + 5 * BATCH_BYTES).contains(&held), "{held} of 2 times {}", text.len());
        let third = open().await;
        for read in [third, two] {
            let mut items = ListItems::<Odd>::new(read, KnownObjects::default(), DecodeBy::Reader);
            let mut count = 0;
            while let ListPart::Items(part) = items.next().await.unwrap().unwrap() {
                count += part.len();
            }
            assert_eq!(count, 3000);
        }
        drop(one);
        while of_all.available_permits() < ROOM >> 10 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn the_items_are_those_of_the_whole_list_in_their_order() {
    let odd = [r#"{"metadata":{"name":"panic"}}"#, r#"{"metadata":{}}"#, "7", "null"].map(str::to_owned);
    for count in [0, 1, 3000] {
        let items = (0..count).flat_map(|number| {
            let odd = (number % 97 == 50).then(|| odd[number / 97 % odd.len()].clone());
            odd.into_iter().chain([item(number, number % 300)])
        });
        let text = list_of(&items.collect::<Vec<_>>());
        for size in [100, 5_000, text.len()] {
            let pieces = || {
                text.as_bytes()
                    .chunks(size)
                    .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                    .collect::<Vec<Piece>>()
            };
            for runtime in runtimes() {
                runtime.block_on(async {
                    let whole = list_body(pieces()).decode_guarded::<Odd>().await.unwrap();
                    assert!(whole.items.len() >= count);
                    let expected: Vec<_> = whole.items.into_iter().map(shown).collect();
                    for by in [DecodeBy::Tasks, DecodeBy::Reader] {
                        let (items, end) = parts(list_body(pieces()), KnownObjects::default(), by).await;
                        assert_eq!(end.as_ref(), Ok(&whole.metadata), "{count} {size} {by:?}");
                        assert_eq!(items, expected, "{count} {size} {by:?}");
                    }
                });
            }
        }
    }
}

#[test]
fn known_items_are_not_decoded_and_keep_their_places() {
    let items: Vec<_> = (0..200).map(|number| item(number, BATCH_BYTES / 20)).collect();
    for runtime in runtimes() {
        runtime.block_on(async {
            let known = KnownObjects::new(|version| (version.name == "17").then(|| Odd("known".to_owned())));
            let (items, end) = parts(list_body([Ok(list_of(&items).into())]), known, DecodeBy::Tasks).await;
            let name = |number: usize| if number == 17 { "known".to_owned() } else { number.to_string() };
            assert_eq!(items, (0..200).map(name).collect::<Vec<_>>());
            assert_eq!(end.unwrap().continue_.as_deref(), Some("c"));
        });
    }
}

#[test]
fn what_precedes_an_error_is_returned() {
    let (text, count) = (list_of(&(0..50).map(|number| item(number, 5000)).collect::<Vec<_>>()), 50);
    let cut = Bytes::copy_from_slice(&text.as_bytes()[..text.len() - 100]);
    let reset = || BoxError::from("reset");
    let no_list = Bytes::from(format!("{}7]}}", &text[..text.len() - 2]));
    for (pieces, complete, error) in [
        (vec![Ok(cut.clone()), Err(reset())], count - 1, "reset"),
        (vec![Ok(cut)], count - 1, "EOF"),
        (vec![Ok(no_list)], count, "expected one array of objects"),
    ] {
        with_threads().block_on(async {
            let (items, end) = parts(list_body(pieces), KnownObjects::default(), DecodeBy::Tasks).await;
            assert_eq!(items, (0..complete).map(|number| number.to_string()).collect::<Vec<_>>(), "{error}");
            let end = end.unwrap_err();
            assert!(end.contains(error), "{end}");
        });
    }
}

#[test]
fn a_slow_caller_does_not_stop_the_receiving_and_dropping_it_does() {
    for runtime in runtimes() {
        let received = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&received);
        let begin = r#"{"items":["#.to_owned();
        let pieces = std::iter::once(begin).chain((0..).map(move |number| {
            counted.fetch_add(1, Ordering::Relaxed);
            format!("{},", item(number, BATCH_BYTES / 2))
        }));
        // So that other tasks run, too.
        let frames = stream::iter(pieces).then(|piece| async {
            tokio::task::yield_now().await;
            Ok::<_, BoxError>(Frame::data(Bytes::from(piece)))
        });
        let body = ListBody::new(Body::wrap(StreamBody::new(frames)), Prune::default());
        runtime.block_on(async {
            let mut items = ListItems::new(
                ReceivedItems::open_with(body, room_for_all()).await.unwrap(),
                KnownObjects::<Odd>::default(),
                DecodeBy::Tasks,
            );
            assert!(matches!(items.next().await, Some(Ok(ListPart::Items(_)))));
            while received.load(Ordering::Relaxed) < 100 {
                tokio::task::yield_now().await;
            }
            drop(items);
            while Arc::strong_count(&received) > 1 {
                tokio::task::yield_now().await;
            }
        });
    }
}
