//! Names, misses and concurrency of the mapper, with a server that counts its requests.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures::future::join_all;
use http::{Request, Response};
use tower::BoxError;

use super::*;
use crate::client::Body;

/// Aggregated discovery with two groups that have `events`, two versions of `widgets` once `installed`, and a failing group.
#[derive(Default)]
struct Server {
    fetches: AtomicU32,
    installed: AtomicBool,
    failing: AtomicBool,
    down: AtomicBool,
    /// Responses are a second on their way.
    far: AtomicBool,
}

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[
    {"resource":"pods","singularResource":"pod","scope":"Namespaced","shortNames":["po"],"verbs":["get"],"responseKind":{"kind":"Pod"}},
    {"resource":"events","singularResource":"event","scope":"Namespaced","shortNames":["ev"],"verbs":["get"],"responseKind":{"kind":"Event"}},
    {"resource":"nodes","scope":"Cluster","verbs":["get"],"responseKind":{"kind":"Node"}}]}]}]}"#;

const EVENTS: &str = r#"{"metadata":{"name":"events.k8s.io"},"versions":[{"version":"v1","resources":[
    {"resource":"events","singularResource":"event","scope":"Namespaced","shortNames":["ev"],"verbs":["get"],"responseKind":{"kind":"Event"}}]}]}"#;

const WIDGETS: &str = r#"{"metadata":{"name":"example.com"},"versions":[
    {"version":"v1beta1","resources":[{"resource":"widgets","singularResource":"widget","scope":"Cluster","shortNames":["po"],"verbs":["get"],
        "categories":["all"],"responseKind":{"kind":"Widget"}}]},
    {"version":"v1","resources":[{"resource":"widgets","singularResource":"widget","scope":"Cluster","shortNames":["wd"],"verbs":["get"],
        "responseKind":{"kind":"Widget"}},{"resource":"feet","scope":"Namespaced","verbs":[],"responseKind":{"kind":"Foot"}}]}]}"#;

impl Server {
    fn client(self: &Arc<Self>) -> Client {
        let server = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move {
                // The response takes a while, so that calls overlap.
                tokio::time::sleep(Duration::from_millis(100)).await;
                let (code, body) = server.respond(request.uri().path());
                if server.far.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Ok::<_, BoxError>(
                    Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap(),
                )
            }
        });
        Client::new(service, "default")
    }

    fn respond(&self, path: &str) -> (u16, String) {
        if self.down.load(Ordering::Relaxed) {
            return (403, r#"{"kind":"Status","code":403,"message":"no","reason":"Forbidden"}"#.into());
        }
        if path == "/api" {
            return (200, CORE.into());
        }
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let mut groups = vec![EVENTS];
        if self.installed.load(Ordering::Relaxed) {
            groups.push(WIDGETS);
        }
        if self.failing.load(Ordering::Relaxed) {
            groups.push(
                r#"{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1","freshness":"Stale"}]}"#,
            );
        }
        (200, format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{}]}}"#, groups.join(",")))
    }

    fn fetches(&self) -> u32 {
        self.fetches.load(Ordering::Relaxed)
    }
}

fn installed() -> (Arc<Server>, RestMapper) {
    let server = Arc::new(Server { installed: true.into(), ..Server::default() });
    let mapper = RestMapper::new(server.client());
    (server, mapper)
}

fn widget(version: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", version, "Widget")
}

#[tokio::test(start_paused = true)]
async fn every_name_that_kubectl_understands_is_found() {
    let (server, mapper) = installed();
    for (name, plural, api_version) in [
        ("pods", "pods", "v1"),
        ("pod", "pods", "v1"),
        ("Pod", "pods", "v1"),
        ("POD", "pods", "v1"),
        // The short name `po` belongs to two; the first group wins.
        ("po", "pods", "v1"),
        ("pods.v1", "pods", "v1"),
        ("pods.v1.", "pods", "v1"),
        ("node", "nodes", "v1"),
        ("events", "events", "v1"),
        ("ev", "events", "v1"),
        ("events.events.k8s.io", "events", "events.k8s.io/v1"),
        ("ev.v1.events.k8s.io", "events", "events.k8s.io/v1"),
        // The beginning of the group's name is enough.
        ("events.events", "events", "events.k8s.io/v1"),
        // The server prefers v1beta1.
        ("widgets", "widgets", "example.com/v1beta1"),
        ("widgets.v1.example.com", "widgets", "example.com/v1"),
        ("widget.example.com", "widgets", "example.com/v1beta1"),
        ("wd", "widgets", "example.com/v1"),
        ("po.example.com", "widgets", "example.com/v1beta1"),
        // Only a version that is not preferred has it.
        ("feet", "feet", "example.com/v1"),
        ("foot", "feet", "example.com/v1"),
    ] {
        let found = mapper.resource(name).await.unwrap_or_else(|err| panic!("{name}: {err}")).resource;
        assert_eq!((found.plural.as_str(), found.api_version.as_str()), (plural, api_version), "{name}");
    }
    assert_eq!(server.fetches(), 1);
    for name in ["", "pods.v2", "pods.apps", "widgets.v2.example.com", "pods/status", "."] {
        let err = mapper.resource(name).await.unwrap_err();
        assert!(err.is_no_match() && err.to_string().contains(&format!("resource {name:?}")), "{err}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_found_with_scope_names_and_verbs() {
    let (_, mapper) = installed();
    let found = mapper.kind(&widget("v1beta1")).await.unwrap();
    assert_eq!((found.singular.as_str(), found.is_namespaced()), ("widget", false));
    assert_eq!((found.short_names, found.categories), (vec!["po".to_owned()], vec!["all".to_owned()]));
    assert!(found.capabilities.supports_operation("get"));
    let node = mapper.kind(&GroupVersionKind::gvk("", "v1", "Node")).await.unwrap();
    assert_eq!(node.singular, "node", "the server sent none");
    assert_eq!(mapper.group_kind("example.com", "Widget").await.unwrap().resource.version, "v1beta1");
    assert_eq!(mapper.group_kind("example.com", "Foot").await.unwrap().resource.version, "v1");
    assert!(mapper.group_kind("example.com", "Pod").await.unwrap_err().is_no_match());
}

#[tokio::test(start_paused = true)]
async fn an_error_says_what_is_served_instead() {
    let (server, mapper) = installed();
    let text = |err: RestMapperError| err.to_string();
    assert_eq!(
        text(mapper.kind(&GroupVersionKind::gvk("policy", "v1", "Event")).await.unwrap_err()),
        r#"the cluster serves no kind "Event" in version "policy/v1"; it serves a kind of this name in v1, events.k8s.io/v1"#
    );
    assert_eq!(
        text(mapper.kind(&GroupVersionKind::gvk("x.io", "v1", "Foo")).await.unwrap_err()),
        r#"the cluster serves no kind "Foo" in version "x.io/v1"; for a custom resource, install its CRD first"#
    );
    server.failing.store(true, Ordering::Relaxed);
    let unsure = mapper.resource("metrics").await.unwrap_err();
    assert!(!unsure.is_no_match());
    assert_eq!(
        text(unsure),
        r#"the cluster serves no resource "metrics"; it could not tell what is in metrics.k8s.io"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_miss_looks_again_once_per_interval() {
    let server = Arc::new(Server::default());
    let mapper = RestMapper::new(server.client());
    assert!(mapper.kind(&widget("v1")).await.is_err());
    assert_eq!(server.fetches(), 1);
    server.installed.store(true, Ordering::Relaxed);
    // The same miss is answered from the cache, another one is looked for.
    assert!(mapper.kind(&widget("v1")).await.is_err());
    assert_eq!(server.fetches(), 1);
    mapper.kind(&widget("v1beta1")).await.unwrap();
    assert_eq!(server.fetches(), 2);
    mapper.kind(&widget("v1")).await.unwrap();
    assert_eq!(server.fetches(), 2);

    assert!(mapper.resource("nothing").await.is_err());
    tokio::time::advance(Duration::from_secs(4)).await;
    assert!(mapper.resource("nothing").await.is_err());
    assert_eq!(server.fetches(), 3);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(mapper.resource("nothing").await.is_err());
    assert_eq!(server.fetches(), 4);
    assert!(mapper.cache.state.lock().misses.0.len() <= 2, "old misses are forgotten");
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_share_one_fetch() {
    let server = Arc::new(Server::default());
    let mapper = RestMapper::new(server.client());
    let names: Vec<_> =
        (0..50).map(|n| if n % 2 == 0 { "pods".to_owned() } else { format!("x{n}") }).collect();
    let found = join_all(names.iter().map(|name| mapper.resource(name))).await;
    assert_eq!(found.iter().filter(|found| found.is_ok()).count(), 25);
    assert_eq!(server.fetches(), 1);
}

/// A response may be older than the question that it would answer.
#[tokio::test(start_paused = true)]
async fn a_miss_is_answered_by_a_fetch_that_began_after_the_question() {
    let server = Arc::new(Server { far: true.into(), ..Server::default() });
    let mapper = RestMapper::new(server.client());
    let older = async { mapper.kind(&widget("v1")).await.is_ok() };
    let newer = async |name: &'static str| {
        // The response is on its way.
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.installed.store(true, Ordering::Relaxed);
        mapper.resource(name).await.is_ok()
    };
    let (older, new, same, known) =
        futures::join!(older, newer("widgets"), newer("widgets.v1.example.com"), newer("pods"));
    assert!(!older && new && same && known);
    assert_eq!(server.fetches(), 2, "those who asked meanwhile share the next fetch");
}

/// The same without a moment in between.
#[tokio::test(start_paused = true)]
async fn a_question_at_the_time_of_a_fetch_is_newer_than_it() {
    let server = Arc::new(Server { far: true.into(), ..Server::default() });
    let mapper = RestMapper::new(server.client());
    let v1 = widget("v1");
    let mut older = Box::pin(mapper.kind(&v1));
    tokio::time::timeout(Duration::from_millis(500), &mut older).await.unwrap_err();
    server.installed.store(true, Ordering::Relaxed);
    let newer = mapper.kind(&v1);
    let (older, newer) = futures::join!(older, newer);
    assert!(older.is_err() && newer.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_that_began_before_the_question_is_no_answer() {
    let server = Arc::new(Server { far: true.into(), down: true.into(), ..Server::default() });
    let mapper = RestMapper::new(server.client());
    let older = async { mapper.resource("pods").await.is_ok() };
    let newer = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.down.store(false, Ordering::Relaxed);
        mapper.resource("pods").await.is_ok()
    };
    let (older, newer) = futures::join!(older, newer);
    assert!(!older && newer);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_no_other_and_the_last_one_ends_the_fetch() {
    let (server, mapper) = installed();
    let patient = mapper.resource("pods");
    let impatient = tokio::time::timeout(Duration::from_millis(10), mapper.resource("pods"));
    let (found, timed_out) = futures::join!(patient, impatient);
    assert!(found.is_ok() && timed_out.is_err());
    assert_eq!(server.fetches(), 1);

    mapper.invalidate();
    let timed_out = tokio::time::timeout(Duration::from_millis(10), mapper.resource("pods")).await;
    assert!(timed_out.is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(server.fetches(), 1, "nobody waits for it");
    mapper.resource("pods").await.unwrap();
    assert_eq!(server.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_invalidated_cache_is_not_filled_by_an_older_fetch() {
    let server = Arc::new(Server::default());
    let mapper = RestMapper::new(server.client());
    let older = async { mapper.kind(&widget("v1")).await.is_ok() };
    let newer = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        mapper.invalidate();
        mapper.kind(&widget("v1")).await.is_ok()
    };
    let installs = async {
        tokio::time::sleep(Duration::from_millis(120)).await;
        server.installed.store(true, Ordering::Relaxed);
    };
    let (older, newer, ()) = futures::join!(older, newer, installs);
    assert!(!older && newer);
    assert!(mapper.kind(&widget("v1")).await.is_ok());
    assert_eq!(server.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_is_an_error_of_all_who_wait_and_not_remembered() {
    let server = Arc::new(Server { down: true.into(), ..Server::default() });
    let mapper = RestMapper::new(server.client());
    let v1 = widget("v1");
    let both = futures::join!(mapper.resource("pods"), mapper.kind(&v1));
    assert!(matches!(both, (Err(RestMapperError::Discovery(_)), Err(RestMapperError::Discovery(_)))));
    server.down.store(false, Ordering::Relaxed);
    mapper.resource("pods").await.unwrap();
    // What is known stays usable while discovery fails.
    server.down.store(true, Ordering::Relaxed);
    mapper.resource("pods").await.unwrap();
    assert!(matches!(mapper.resource("other").await, Err(RestMapperError::Discovery(_))));
}
