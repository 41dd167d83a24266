//! What is known of kinds after each answer of discovery.

use super::*;
use crate::served::{availability::Discovered, schedule::Answer as Told};
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
    assert!(matches!(kind.now(), Availability::Unknown(_)), "before the first answer");
    tokio::time::advance(Duration::from_secs(90)).await;
    let unanswered = kinds.snapshot().remove(0);
    assert_eq!(unanswered.message.as_deref(), Some("the server has not said yet which kinds it serves"));
    assert_eq!(unanswered.since, Duration::from_secs(90), "since somebody waits");
    let answer = |answer: Answer| kinds.0.shared.answered(&answer);
    assert_eq!(answer(missing(true)), Told::Unclear, "it is asked again");
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (Some(false), "unknown"));
    assert!(matches!(kind.now(), Availability::Unknown(_)), "it may exist");
    let message = kinds.snapshot()[0].message.clone().unwrap_or_default();
    assert!(message.contains("cannot say now"), "{message}");
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
    assert_eq!(answer(missing(true)), Told::Unclear);
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (None, "served"));
    kinds.0.shared.deleted("example.com");
    assert_eq!(answer(missing(false)), Told::SomeMissing);
    assert_eq!(is_served(&mut kind), Some(false));
    assert!(matches!(kind.now(), Availability::Missing(_)));
}

#[tokio::test(start_paused = true)]
async fn each_answer_is_news_and_only_a_certain_no_is_one() {
    let (kinds, _) = kinds();
    let mut kind = kinds.kind_in(page(), [], Some(Scope::Namespaced));
    let mut next = |answer: Answer| {
        kinds.0.shared.answered(&answer);
        let next = futures::FutureExt::now_or_never(kind.next());
        assert!(next.is_none() || next == Some(kind.now()), "{next:?}");
        next
    };
    assert!(matches!(next(missing(true)), Some(Availability::Unknown(_))));
    assert_eq!(next(missing(true)), None);
    assert!(matches!(next(missing(false)), Some(Availability::Missing(_))));
    assert!(matches!(next(missing(true)), Some(Availability::Unknown(_))), "it may have been installed");
    let other_scope = next(served(Scope::Cluster));
    assert!(matches!(&other_scope, Some(Availability::Mismatch(why)) if why.contains("cluster-scoped")));
    assert_eq!(next(missing(true)), None, "it is there");
    assert_eq!(kinds.snapshot()[1].state, "mismatch");
    assert_eq!(next(missing(false)), None, "one server of several may not know it");
    kinds.0.shared.deleted("example.com");
    assert!(matches!(next(missing(false)), Some(Availability::Missing(_))));
}

#[tokio::test(start_paused = true)]
async fn one_answer_that_a_kind_is_missing_is_not_believed_without_a_deletion() {
    let (kinds, mut kind) = kinds();
    let answer = |answer: Answer| kinds.0.shared.answered(&answer);
    let wait = |millis| tokio::time::advance(Duration::from_millis(millis));
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
    for _ in 0..3 {
        // Of several API servers, one does not know it yet.
        assert_eq!(answer(missing(false)), Told::Unclear, "it is asked again");
        wait(2_500).await;
        assert_eq!(answer(missing(false)), Told::Unclear);
        assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (None, "served"));
        assert_eq!(answer(served(Scope::Namespaced)), Told::AllServed);
        wait(2_500).await;
    }
    answer(missing(false));
    wait(3_000).await;
    assert_eq!(answer(missing(false)), Told::SomeMissing);
    assert_eq!((is_served(&mut kind), kinds.snapshot()[0].state), (Some(false), "missing"));
    kinds.0.shared.deleted("example.com");
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
    assert_eq!(answer(missing(false)), Told::Unclear, "the deletion was another one, before");
}

#[tokio::test(start_paused = true)]
async fn a_logger_that_panics_does_not_end_the_task() {
    struct Panics;
    impl tracing::Subscriber for Panics {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            assert!(!event.metadata().target().contains("served"), "on purpose");
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let (kinds, mut kind) = kinds();
    let answer = |answer: Answer| kinds.0.shared.answered(&answer);
    tracing::subscriber::with_default(Panics, || answer(missing(false)));
    answer(served(Scope::Namespaced));
    assert_eq!(is_served(&mut kind), Some(true));
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
    kinds.0.shared.deleted("example.com");
    answer(missing(false));
    assert_eq!(is_served(&mut kind), Some(false));
    tokio::time::advance(Duration::from_secs(90)).await;
    answer(missing(false));
    assert_eq!(is_served(&mut kind), None);
    answer(missing(true));
    assert_eq!(is_served(&mut kind), Some(false), "not certain any more");
    assert_eq!(kinds.snapshot()[0].since, Duration::from_secs(90), "since it was served");
    assert_eq!(kinds.snapshot()[0].name, "Page.example.com");
}

/// A reconcile that asks for a kind and keeps nothing, as `Added::if_served` does.
#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_those_who_ask_again() {
    let (kinds, _) = kinds();
    let now = || kinds.kind_in(page(), [], None).now();
    assert!(matches!(now(), Availability::Unknown(_)));
    kinds.0.shared.answered(&served(Scope::Namespaced));
    assert!(matches!(now(), Availability::Served(_)));
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(20 * 3600)).await;
        assert!(matches!(now(), Availability::Served(_)));
        kinds.0.shared.deleted("another.example.com");
        kinds.0.shared.answered(&served(Scope::Namespaced));
    }
    assert_eq!(kinds.snapshot()[0].state, "served");
}

#[tokio::test(start_paused = true)]
async fn kinds_that_nobody_waits_for_are_forgotten_after_a_day() {
    let (kinds, kind) = kinds();
    let again = kinds.kind_in(page(), [], None);
    assert_eq!(kinds.0.shared.wanted.lock().len(), 1, "one for the same kind");
    let wait = |hours: u64| tokio::time::advance(Duration::from_secs(hours * 3600));
    wait(48).await;
    kinds.0.shared.answered(&missing(false));
    drop((kind, again));
    wait(23).await;
    kinds.0.shared.answered(&missing(false));
    assert!(kinds.0.shared.wants("example.com"));
    wait(1).await;
    assert_eq!(kinds.snapshot(), []);
    kinds.0.shared.answered(&missing(false));
    assert_eq!(kinds.0.shared.wanted.lock().len(), 0);
    assert!(!kinds.0.shared.wants("example.com"));
}
