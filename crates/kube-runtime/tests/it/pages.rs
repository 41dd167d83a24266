//! Paged lists with prefetching, and long lists.

use crate::common::expect_next;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, client::Body};
use kube_runtime::watcher::{Config, Error, Event, watcher};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    convert::Infallible,
    error::Error as _,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};
use tokio::{runtime::Handle, task::yield_now};
use tower::service_fn;

/// The numbers of the requested pages, from 1; 0 for a list without pages.
type Log = Arc<Mutex<Vec<usize>>>;

/// The fault of a page, which was requested `before` times.
type Fault = fn(page: usize, before: usize) -> Option<StatusCode>;

const NONE: Fault = |_, _| None;

/// Stands for a truncated response.
const TRUNCATED: StatusCode = StatusCode::IM_A_TEAPOT;

/// Stands for a response that breaks off after its first object.
const BROKEN_OFF: StatusCode = StatusCode::PARTIAL_CONTENT;

/// A server with five pages of two objects each, and empty watches.
fn five_pages(fault: Fault) -> (Client, Log) {
    let log = Log::default();
    let requests = Arc::clone(&log);
    let service = service_fn(move |request: Request<Body>| {
        let query: HashMap<&str, &str> = request
            .uri()
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let response = if query.contains_key("watch") {
            Response::new(Body::empty())
        } else {
            let page = query.get("continue").map_or(1, |token| token.parse().unwrap());
            // A list without a limit contains all pages.
            let page = if query.contains_key("limit") { page } else { 0 };
            let before = requests.lock().unwrap().iter().filter(|past| **past == page).count();
            requests.lock().unwrap().push(page);
            listed(page, fault(page, before))
        };
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "default"), log)
}

fn listed(page: usize, fault: Option<StatusCode>) -> Response<Body> {
    let numbers = if page == 0 { 0..10 } else { page * 2 - 2..page * 2 };
    let items: Vec<Value> =
        numbers.map(|number| json!({ "metadata": { "name": number.to_string() } })).collect();
    let next = if (1..5).contains(&page) { (page + 1).to_string() } else { String::new() };
    // The metadata come first, as from genuine servers. serde_json would sort the keys.
    let head = json!({ "resourceVersion": "9", "continue": next });
    let list =
        format!(r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{head},"items":{}}}"#, json!(items));
    match fault {
        None => Response::new(Body::from(list.into_bytes())),
        Some(TRUNCATED) => Response::new(Body::from(list.into_bytes()[..100].to_vec())),
        Some(BROKEN_OFF) => Response::new(Body::from(list.into_bytes()[..140].to_vec())),
        Some(code) => {
            let status = json!({ "kind": "Status", "status": "Failure", "code": code.as_u16() });
            let body = Body::from(status.to_string().into_bytes());
            Response::builder().status(code).body(body).unwrap()
        }
    }
}

fn events(client: Client, config: Config) -> impl Stream<Item = Result<Event<ConfigMap>, Error>> + Send {
    watcher(Api::default_namespaced(client), config)
}

/// The first complete list, and the number of errors before it.
async fn list(client: Client) -> (Vec<String>, usize) {
    let mut events = pin!(events(client, Config::default().page_size(2)));
    let (mut names, mut errors) = (Vec::new(), 0);
    loop {
        match expect_next(&mut events).await {
            Ok(Event::Init) => names.clear(),
            Ok(Event::InitApply(object)) => names.push(object.metadata.name.unwrap()),
            Ok(Event::InitDone) => return (names, errors),
            Ok(other) => panic!("{other}"),
            Err(_) => errors += 1,
        }
    }
}

fn everything() -> Vec<String> {
    (0..10).map(|number| number.to_string()).collect()
}

/// The lists of custom resources, whose fields genuine servers sort by name.
#[tokio::test(start_paused = true)]
async fn pages_whose_metadata_come_last_are_all_read() {
    let log = Log::default();
    let requests = Arc::clone(&log);
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let page = query.split('&').find_map(|pair| pair.strip_prefix("continue="));
        let page: usize = page.map_or(1, |token| token.parse().unwrap());
        requests.lock().unwrap().push(page);
        let next = if page < 3 { (page + 1).to_string() } else { String::new() };
        // serde_json sorts the keys, as genuine servers do.
        let list = json!({ "apiVersion": "v1", "items": [{ "metadata": { "name": page.to_string() } }], "kind": "ConfigMapList",
            "metadata": { "continue": next, "resourceVersion": "9" } });
        async move { Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes()))) }
    });
    let mut events = pin!(events(Client::new(service, "default"), Config::default().page_size(1)));
    for expected in ["Init", "InitApply(1)", "InitApply(2)", "InitApply(3)", "InitDone"] {
        assert_eq!(expect_next(&mut events).await.unwrap().to_string(), expected);
    }
    assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
}

/// Runs all other tasks until they are idle.
async fn run_other_tasks() {
    for _ in 0..100 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_page_is_prefetched() {
    let (client, log) = five_pages(NONE);
    let mut events = pin!(events(client, Config::default().page_size(2)));
    let requested = || log.lock().unwrap().clone();
    let mut next = async || expect_next(&mut events).await.unwrap().to_string();
    assert_eq!(next().await, "Init");
    run_other_tasks().await;
    // Only one page is prefetched.
    assert_eq!(requested(), [1, 2]);
    for expected in ["InitApply(0)", "InitApply(1)"] {
        assert_eq!(next().await, expected);
        run_other_tasks().await;
        assert_eq!(requested(), [1, 2]);
    }
    assert_eq!(next().await, "InitApply(2)");
    run_other_tasks().await;
    assert_eq!(requested(), [1, 2, 3]);
    for number in 3..10 {
        assert_eq!(next().await, format!("InitApply({number})"));
    }
    assert_eq!(next().await, "InitDone");
    assert_eq!(requested(), [1, 2, 3, 4, 5], "each page once");
}

#[tokio::test(start_paused = true)]
async fn a_prefetched_page_is_read_completely() {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let service = service_fn(move |request: Request<Body>| {
        let continued = request.uri().query().is_some_and(|query| query.contains("continue"));
        let (head, item) = if continued { ("{}", "b") } else { (r#"{"continue":"t"}"#, "a") };
        let read = Arc::clone(&counter);
        let parts = [
            format!(r#"{{"metadata":{head},"items":["#),
            format!(r#"{{"metadata":{{"name":"{item}"}}}}"#),
            "]}".to_owned(),
        ];
        let body = stream::iter(parts).then(async |part| {
            yield_now().await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(part)))
        });
        let body = body.chain(stream::poll_fn(move |_| {
            read.fetch_add(1, Ordering::SeqCst);
            Poll::Ready(None)
        }));
        async move { Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(body)))) }
    });
    let mut events = pin!(events(Client::new(service, "default"), Config::default().page_size(1)));
    for expected in ["Init", "InitApply(a)"] {
        assert_eq!(expect_next(&mut events).await.unwrap().to_string(), expected);
    }
    run_other_tasks().await;
    assert_eq!(read.load(Ordering::SeqCst), 2, "the second page was read before it was due");
    assert_eq!(expect_next(&mut events).await.unwrap().to_string(), "InitApply(b)");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_watcher_cancels_prefetching() {
    let (client, log) = five_pages(NONE);
    let before = Handle::current().metrics().num_alive_tasks();
    {
        let mut events = pin!(events(client, Config::default().page_size(2)));
        expect_next(&mut events).await.unwrap();
    }
    run_other_tasks().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
    assert!(log.lock().unwrap().len() <= 2, "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_prefetched_page_that_was_truncated_is_requested_again_without_an_error() {
    let (client, log) = five_pages(|page, before| (page == 3 && before == 0).then_some(TRUNCATED));
    assert_eq!(list(client).await, (everything(), 0));
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 3, 4, 5]);
    // The second time it is an error, and the page is requested once more.
    let (client, _) = five_pages(|page, before| (page == 3 && before < 2).then_some(TRUNCATED));
    assert_eq!(list(client).await, (everything(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_breaks_off_between_objects_is_an_error_and_is_requested_again() {
    let requested = |log: Log, page| log.lock().unwrap().iter().filter(|number| **number == page).count();
    let (client, log) = five_pages(|page, before| (page == 1 && before < 2).then_some(BROKEN_OFF));
    assert_eq!(list(client).await, (everything(), 2));
    assert_eq!(requested(log, 1), 3, "the list begins again");
    let (client, log) = five_pages(|page, before| (page == 3 && before == 0).then_some(BROKEN_OFF));
    let mut repeated = everything();
    repeated.insert(4, "4".to_owned());
    assert_eq!(list(client).await, (repeated, 1));
    assert_eq!(requested(log, 3), 2);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_prefetched_page_is_handled_when_the_page_is_due() {
    let expired = |page, _| (page == 3).then_some(StatusCode::GONE);
    let (client, log) = five_pages(expired);
    assert_eq!(list(client).await, (everything(), 0));
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 0], "a list without pages, because the token expired");
    let throttled = |page, before| (page == 3 && before == 0).then_some(StatusCode::TOO_MANY_REQUESTS);
    let (client, log) = five_pages(throttled);
    assert_eq!(list(client).await, (everything(), 1));
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn prefetching_does_not_block_other_requests() {
    let (client, _) = five_pages(NONE);
    let others: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut events = pin!(events(client, Config::default().page_size(2)));
    for _ in 0..12 {
        expect_next(&mut events).await.unwrap();
        assert_eq!(others.list(&Default::default()).await.unwrap().items.len(), 10);
    }
}

/// 3 MiB in one response.
#[tokio::test(start_paused = true)]
async fn a_long_list_keeps_its_order_and_reports_its_undecodable_object() {
    let service = service_fn(|_: Request<Body>| async {
        let item = |index: usize| {
            let data = if index == 1234 { json!(5) } else { json!({ "text": "x".repeat(1000) }) };
            json!({ "metadata": { "name": index.to_string() }, "data": data }).to_string()
        };
        let items: Vec<String> = (0..3000).map(item).collect();
        let list = format!(r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#, items.join(","));
        Ok::<_, Infallible>(Response::new(Body::from(list.into_bytes())))
    });
    let events = events(Client::new(service, "default"), Config::default());
    let items: Vec<_> = events.take(3002).collect().await;
    let good = (0..3000).filter(|index| *index != 1234).map(|index| format!("InitApply({index})"));
    let expected: Vec<_> = ["Init".to_owned()].into_iter().chain(good).collect();
    let (events, error) = (&items[..3000], items[3000].as_ref().unwrap_err());
    assert!(events.iter().map(|event| event.as_ref().unwrap().to_string()).eq(expected));
    assert!(matches!(items[3001], Ok(Event::InitDone)));
    let what = error.source().unwrap().source().unwrap().to_string();
    assert!(what.starts_with("skipped an object that cannot be decoded: 1234: "), "{what}");
}
