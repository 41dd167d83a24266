//! What is known of kinds after each answer of discovery.

use super::*;
use crate::served::availability::Discovered;
use kube_core::{GroupVersionKind, discovery::ApiCapabilities};
use kube_testserver::ApiServer;

/// One kind of the group `example.com`, or none.
struct Answer {
    served: Option<Scope>,
    failed: bool,
}

fn served(scope: Scope) -> Answer {
    Answer { served: Some(scope), failed: false }
}

fn missing(failed: bool) -> Answer {
    Answer { served: None, failed }
}

fn page() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Page"), "pages")
}

impl Discovered for Answer {
    fn resource(&self, _gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)> {
        let operations = vec!["list".to_owned(), "watch".to_owned()];
        let scope = self.served.clone()?;
        Some((page(), ApiCapabilities { scope, subresources: Vec::new(), operations }))
    }

    fn versions(&self, _group: &str) -> Vec<String> {
        Vec::new()
    }

    fn has_failed(&self, _group: &str) -> bool {
        self.failed
    }
}

/// Of a program that handles both scopes.
fn kinds() -> (ServedKinds, ServedKind) {
    let kinds = ServedKinds::new(Client::new(ApiServer::new(), "default"));
    let kind = kinds.kind_in(page(), [], None);
    (kinds, kind)
}

fn is_served(kind: &mut ServedKind) -> Option<bool> {
    let next = futures::FutureExt::now_or_never(kind.next())?;
    Some(matches!(next, Availability::Served(_)))
}

#[tokio::test(start_paused = true)]
async fn an_api_whose_server_is_away_counts_as_it_did_before() {
    let (kinds, mut kind) = kinds();
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (None, "unknown"));
    let answer = |answer: Answer| kinds.0.shared.answered(&answer);
    answer(missing(true));
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (Some(false), "missing"));
    let message = kinds.snapshot()[0].message.clone().unwrap_or_default();
    assert!(message.contains("cannot say now"), "{message}");
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
    answer(missing(true));
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (None, "served"));
    answer(missing(false));
    assert_eq!(is_served(&mut kind), Some(false));
}

#[tokio::test(start_paused = true)]
async fn another_scope_is_news_another_reason_and_the_same_answer_are_not() {
    let (kinds, mut kind) = kinds();
    let answer = |answer: Answer| kinds.0.shared.answered(&answer);
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), None);
    answer(served(Scope::Cluster));
    assert_eq!(is_served(&mut kind), Some(true));
    answer(missing(false));
    assert_eq!(is_served(&mut kind), Some(false));
    tokio::time::advance(Duration::from_secs(90)).await;
    answer(missing(true));
    assert_eq!(is_served(&mut kind), None);
    assert_eq!(kinds.snapshot()[0].since, Duration::from_secs(90), "since it was served");
    assert_eq!(kinds.snapshot()[0].name, "Page.example.com");
}

#[tokio::test(start_paused = true)]
async fn kinds_that_nobody_waits_for_are_forgotten() {
    let (kinds, kind) = kinds();
    let again = kinds.kind_in(page(), [], None);
    assert_eq!(kinds.0.shared.wanted.lock().len(), 1, "one for the same kind");
    drop((kind, again));
    kinds.0.shared.answered(&missing(false));
    assert_eq!(kinds.0.shared.wanted.lock().len(), 0);
    assert!(!kinds.0.shared.wants("example.com"));
}
