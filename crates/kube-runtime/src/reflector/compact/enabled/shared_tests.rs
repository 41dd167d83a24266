use super::*;
use crate::{reflector::CompactWriter, watcher::CollectionEvent};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::client::Prune;
use kube_core::{ApiResource, DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;
use std::hash::Hash;
use tokio::time::sleep;

const CLUSTERS: usize = 20;
const OBJECTS: usize = 60;

/// A cluster with a filled cache.
struct Member {
    contributor: Contributor,
    objects: Arc<Shared<CompactObject>>,
    compressor: CacheCompressor,
}

/// The text of a cluster that no other one has.
fn marker(cluster: usize) -> String {
    format!("only-on-cluster-{cluster}-{:x}", fastrand::Rng::with_seed(cluster as u64).u64(..))
}

impl Member {
    fn new(dictionaries: &Dictionaries, cluster: usize) -> Self {
        Self::with(dictionaries, cluster, OBJECTS)
    }

    fn with(dictionaries: &Dictionaries, cluster: usize, objects: usize) -> Self {
        let contributor = dictionaries.contributor();
        let writer = contributor.scope(|| CompactWriter::<ConfigMap>::new(()));
        let (mut writer, keeper) = writer.into_parts(Prune::default());
        for number in 0..objects {
            let text = marker(cluster).repeat(20);
            let json = format!(
                r#"{{"metadata":{{"name":"map-{number}","uid":"{number}"}},"data":{{"k":"{text}"}}}}"#
            );
            let event = CollectionEvent::Apply(serde_json::from_str(&json).unwrap());
            writer.apply_collection_event(keeper.keep(event));
        }
        Self { contributor, objects: keeper.cache.shared, compressor: keeper.compressor }
    }

    fn dictionary_has(&self, cluster: usize) -> bool {
        self.compressor.shared.compressor.has_text(&marker(cluster))
    }

    fn has_outdated(&self) -> bool {
        self.compressor.shared.has_outdated()
    }

    /// Whether each object can be read.
    fn is_whole(&self, cluster: usize) -> bool {
        let objects = self.objects.snapshot();
        let text = |object: &CompactObject| object.json().and_then(|json| String::from_utf8(json).ok());
        objects.iter().all(|object| text(object).is_some_and(|text| text.contains(&marker(cluster))))
    }
}

fn compressor<K>(contributor: &Contributor, dyntype: K::DynamicType) -> CacheCompressor
where
    K: Resource<DynamicType: Eq + Hash + Clone> + Clone + DeserializeOwned + Send + Sync + 'static,
{
    contributor.scope(|| CompactWriter::<K>::new(dyntype)).into_parts(Prune::default()).1.compressor
}

#[tokio::test(start_paused = true)]
async fn the_caches_of_one_kind_share_a_dictionary_without_the_text_of_clusters_that_left() {
    let dictionaries = Dictionaries::default();
    let renewing = tokio::spawn({
        let dictionaries = dictionaries.clone();
        async move { dictionaries.keep_renewed().await }
    });
    let mut members: Vec<Member> = (0..CLUSTERS).map(|cluster| Member::new(&dictionaries, cluster)).collect();
    let shared = |member: &Member| Arc::as_ptr(&member.compressor.shared);
    assert!(members.iter().all(|member| shared(member) == shared(&members[0])));
    assert!(members[1].dictionary_has(0) || members[1].dictionary_has(1), "it is text of objects");

    // All that contributed leave, one after another.
    for cluster in 0..CLUSTERS - 1 {
        let contributed = members[0].dictionary_has(cluster);
        let left = members.remove(0);
        left.contributor.leave();
        drop(left);
        let rest = &members[0];
        assert!(!rest.dictionary_has(cluster), "new objects do not refer to it");
        sleep(FIRST_WAIT).await;
        assert!(!rest.has_outdated(), "{cluster}: neither do those that were there ({contributed})");
        for (at, member) in members.iter().enumerate() {
            assert!(member.is_whole(cluster + 1 + at), "{cluster} {at}");
        }
    }

    let last = members.pop().unwrap();
    assert_eq!(dictionaries.0.kinds.lock().len(), 1);
    last.contributor.leave();
    drop(last);
    sleep(FIRST_WAIT).await;
    assert_eq!(dictionaries.0.kinds.lock().len(), 0, "memory returns");
    // A cluster that stays has no cache of this kind any more.
    drop(Member::new(&dictionaries, 0));
    sleep(LONGEST_WAIT).await;
    assert_eq!(dictionaries.0.kinds.lock().len(), 0);
    renewing.abort();
}

/// A fleet that clusters leave all the time does not compress all the time.
#[tokio::test(start_paused = true)]
async fn after_all_was_compressed_anew_other_work_comes_first() {
    let dictionaries = Dictionaries::default();
    let members = [0, 1, 2].map(|cluster| Member::new(&dictionaries, cluster));
    let renewing = tokio::spawn({
        let dictionaries = dictionaries.clone();
        async move { dictionaries.keep_renewed().await }
    });
    sleep(Duration::from_secs(5)).await;
    let leave = |member: &Member| member.contributor.leave();
    leave(&members[0]);
    sleep(Duration::from_millis(1)).await;
    assert!(!members[2].has_outdated(), "at once");
    leave(&members[1]);
    sleep(Duration::from_millis(900)).await;
    assert!(members[2].has_outdated());
    sleep(Duration::from_millis(200)).await;
    assert!(!members[2].has_outdated());
    renewing.abort();
    let seconds = Duration::from_secs;
    assert_eq!([seconds(0), seconds(9)].map(pause), [seconds(1), seconds(90)]);
}

/// What zstd allocates, the dictionaries, is not counted.
#[test]
fn what_is_compressed_anew_takes_no_more_than_before() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let dictionaries = Dictionaries::default();
    let left = Member::new(&dictionaries, 0);
    let mut rest = None;
    let filled = allocation_counter::measure(|| rest = Some(Member::with(&dictionaries, 1, 3_000)));
    let renewed = allocation_counter::measure(|| {
        left.contributor.leave();
        runtime.block_on(dictionaries.renew());
    });
    let rest = rest.unwrap();
    assert!(!rest.has_outdated() && rest.is_whole(1));
    assert!(renewed.bytes_current < filled.bytes_current / 10, "{renewed:?} after {filled:?}");
}

/// A cluster that is away in the middle of its list, which may be for days, once and then again.
#[tokio::test(start_paused = true)]
async fn what_a_list_has_brought_that_does_not_end_is_compressed_anew_too() {
    for lists in [1, 2] {
        let dictionaries = Dictionaries::default();
        let renewing = tokio::spawn({
            let dictionaries = dictionaries.clone();
            async move { dictionaries.keep_renewed().await }
        });
        let left = Member::new(&dictionaries, 0);
        let contributor = dictionaries.contributor();
        let writer = contributor.scope(|| CompactWriter::<ConfigMap>::new(()));
        let (mut writer, keeper) = writer.into_parts(Prune::default());
        for list in 0..lists {
            writer.apply_collection_event(keeper.keep(CollectionEvent::Init));
            for number in 0..30 {
                let json = format!(r#"{{"metadata":{{"name":"map-{list}-{number}"}}}}"#);
                let event = CollectionEvent::InitApply(serde_json::from_str(&json).unwrap());
                writer.apply_collection_event(keeper.keep(event));
            }
        }
        left.contributor.leave();
        drop(left);
        assert!(keeper.compressor.shared.has_outdated(), "{lists}");
        sleep(Duration::from_secs(2)).await;
        assert!(!keeper.compressor.shared.has_outdated(), "{lists}");
        renewing.abort();
    }
}

/// Such as one that was deleted, and is kept for a while.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_in_a_cache_keeps_its_dictionary_for_as_long_as_it_lives() {
    let dictionaries = Dictionaries::default();
    let renewing = tokio::spawn({
        let dictionaries = dictionaries.clone();
        async move { dictionaries.keep_renewed().await }
    });
    let [left, rest] = [0, 1].map(|cluster| Member::new(&dictionaries, cluster));
    let json = r#"{"metadata":{"name":"a"}}"#;
    let (stray, _) = rest.compressor.keep(&serde_json::from_str(json).unwrap(), json);
    assert!(rest.dictionary_has(0));
    left.contributor.leave();
    drop(left);
    sleep(Duration::from_secs(600)).await;
    assert!(rest.has_outdated() && stray.json().is_some_and(|text| text == json.as_bytes()));
    drop(stray);
    assert!(!rest.has_outdated() && rest.is_whole(1));

    // The same cluster under another address: its caches have other objects by then.
    assert!(rest.dictionary_has(1));
    let before = rest.compressor.shared.compressor.epoch();
    rest.contributor.renew();
    sleep(FIRST_WAIT).await;
    assert!(!rest.has_outdated() && rest.is_whole(1));
    assert_eq!(rest.compressor.shared.compressor.epoch(), before + 1);
    renewing.abort();
}

#[test]
fn an_object_of_one_of_a_hundred_clusters_stays_decoded() {
    let dictionaries = Dictionaries::default();
    let caches = (0..100).map(|_| {
        let contributor = dictionaries.contributor();
        contributor.scope(|| CompactWriter::<ConfigMap>::new(())).into_parts(Prune::default()).1
    });
    let caches: Vec<_> = caches.collect();
    let json = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#, "text ".repeat(1_600));
    let kept = caches.iter().map(|keeper| {
        let raw = CollectionEvent::InitApply(serde_json::from_str(&json).unwrap());
        Arc::clone(keeper.keep(raw).object().unwrap())
    });
    let kept: Vec<_> = kept.collect();
    for (keeper, object) in caches.iter().zip(&kept) {
        let [first, second] = [0, 1].map(|_| keeper.cache.decode(object).unwrap());
        assert!(Arc::ptr_eq(&first, &second));
    }
}

#[test]
fn secrets_and_caches_outside_of_a_fleet_share_nothing_and_each_form_has_its_own() {
    let dictionaries = Dictionaries::default();
    let [one, two] = [dictionaries.contributor(), dictionaries.contributor()];
    let dynamic = |kind: &str| ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: kind.into(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    let pairs = [
        (true, compressor::<ConfigMap>(&one, ()), compressor::<ConfigMap>(&two, ())),
        (true, compressor::<ConfigMap>(&one, ()), compressor::<DynamicObject>(&two, dynamic("ConfigMap"))),
        (false, compressor::<ConfigMap>(&one, ()), compressor::<PartialObjectMeta<ConfigMap>>(&two, ())),
        (false, compressor::<Secret>(&one, ()), compressor::<Secret>(&two, ())),
        (
            false,
            compressor::<PartialObjectMeta<Secret>>(&one, ()),
            compressor::<PartialObjectMeta<Secret>>(&two, ()),
        ),
        (
            false,
            compressor::<DynamicObject>(&one, dynamic("Secret")),
            compressor::<DynamicObject>(&two, dynamic("Secret")),
        ),
    ];
    for (at, (is_shared, one, two)) in pairs.iter().enumerate() {
        assert_eq!(Arc::ptr_eq(&one.shared, &two.shared), *is_shared, "{at}");
        assert_eq!(one.source.is_some(), two.source.is_some());
    }
    let alone = CompactWriter::<ConfigMap>::new(()).into_parts(Prune::default()).1.compressor;
    assert!(alone.source.is_none(), "after the scope");
    one.leave();
    assert!(compressor::<ConfigMap>(&one, ()).source.is_none(), "a cluster that has left");
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_panics_is_over() {
    let contributor = Dictionaries::default().contributor();
    let scope = std::panic::AssertUnwindSafe(|| contributor.scope(|| panic!("of the program")));
    assert!(std::panic::catch_unwind(scope).is_err());
    assert!(PRESENT.with_borrow(Option::is_none));
}

/// Clusters come, leave and have other objects, while others are read and renewed.
#[test]
fn on_several_threads_each_object_is_what_it_was() {
    let dictionaries = Dictionaries::default();
    let stays: Vec<Member> = (0..4).map(|cluster| Member::new(&dictionaries, cluster)).collect();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (dictionaries, stays, is_over) = (&dictionaries, &stays, &is_over);
        let runs = || !is_over.load(std::sync::atomic::Ordering::Relaxed);
        scope.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            while runs() {
                runtime.block_on(dictionaries.renew());
            }
        });
        for (cluster, member) in stays.iter().enumerate() {
            scope.spawn(move || {
                while runs() {
                    assert!(member.is_whole(cluster));
                }
            });
        }
        let leaving = [4, 5].map(|cluster| {
            scope.spawn(move || {
                for _ in 0..30 {
                    let member = Member::new(dictionaries, cluster);
                    stays[cluster - 4].contributor.renew();
                    assert!(member.is_whole(cluster));
                    member.contributor.leave();
                }
            })
        });
        let ended = leaving.map(std::thread::ScopedJoinHandle::join);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(dictionaries.renew());
    for (cluster, member) in stays.iter().enumerate() {
        assert!(member.is_whole(cluster) && !member.has_outdated());
    }
    assert!(!dictionaries.may_have_text(&marker(4)) && !dictionaries.may_have_text(&marker(5)));
}
