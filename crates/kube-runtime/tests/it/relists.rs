//! Relists by controllers: objects that their caches have are not decoded once more.

use crate::common::{
    ApiExt, config_maps, eventually, expect_next, in_namespaces, named, server, wait_for_change,
};
use futures::StreamExt;
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Secret},
};
use kube_client::{Api, Client};
use kube_core::{ObjectMeta, Resource};
use kube_runtime::{
    Controller,
    controller::{Action, Related},
    reflector::{self, ObjectRef, Store},
    watcher::{Config, Event, watcher},
};
use kube_testserver::{Fault, Match};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use std::{
    borrow::Cow,
    convert::Infallible,
    fmt::Debug,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
};

/// A ConfigMap. Each of its types counts how often one is decoded.
#[derive(Clone, Debug)]
struct Counted<const OF: usize>(ConfigMap);

static DECODED: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// The threads that decoded a [`Counted<5>`].
static THREADS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

impl<'de, const OF: usize> Deserialize<'de> for Counted<OF> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DECODED[OF].fetch_add(1, Ordering::Relaxed);
        if OF == 5 {
            THREADS.lock().unwrap().push(thread::current().id());
        }
        ConfigMap::deserialize(deserializer).map(Self)
    }
}

impl<const OF: usize> Resource for Counted<OF> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        ConfigMap::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        ConfigMap::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        ConfigMap::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        ConfigMap::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

/// Fills the store, relists, and returns how many objects that decoded. `start` starts the controller.
async fn decoded_by_relist<const OF: usize, K>(
    start: impl FnOnce(Client) -> (Controller<K>, Store<Counted<OF>>),
) -> usize
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let (server, client) = server();
    let maps = config_maps(&client);
    for name in ["a", "b", "c"] {
        maps.add(named(name)).await;
    }
    let (controller, store) = start(client);
    let reconcile = async |_: Arc<K>, _| Ok::<_, Infallible>(Action::await_change());
    let running = controller.run(reconcile, wait_for_change, Arc::new(())).for_each(|_| async {});
    let running = tokio::spawn(running);
    store.wait_until_ready().await.unwrap();
    let visible = |name: &str| store.get(&ObjectRef::new(name).within("default"));
    let before = visible("a").unwrap();
    assert_eq!(DECODED[OF].swap(0, Ordering::Relaxed), 3);
    let expired = server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    maps.add(named("d")).await;
    eventually(async || visible("d").is_some()).await;
    assert_eq!((store.len(), expired.hits()), (4, 1), "after a relist");
    assert!(Arc::ptr_eq(&before, &visible("a").unwrap()));
    running.abort();
    DECODED[OF].load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_relist_decodes_only_what_the_cache_does_not_have() {
    fn own<const OF: usize>(
        config: Config,
    ) -> impl FnOnce(Client) -> (Controller<Counted<OF>>, Store<Counted<OF>>) {
        |client| {
            let controller = Controller::new(Api::default_namespaced(client), config);
            let store = controller.store();
            (controller, store)
        }
    }
    assert_eq!(decoded_by_relist(own::<0>(Config::default())).await, 1);
    assert_eq!(decoded_by_relist(own::<1>(Config::default().page_size(1))).await, 1);
    assert_eq!(decoded_by_relist(own::<2>(Config::default().streaming_lists())).await, 1);
}

#[tokio::test]
async fn so_do_the_relists_of_namespaces_and_of_related_objects() {
    let in_namespaces = |client| {
        let controller = in_namespaces::<Counted<3>>(client, ["default"], Config::default());
        let store = controller.store();
        (controller, store)
    };
    assert_eq!(decoded_by_relist(in_namespaces).await, 1);
    let related = |client: Client| {
        let (store, writer) = reflector::store::<Counted<4>>();
        let controller = Controller::<Secret>::new(Api::all(client.clone()), Config::default())
            .owns_related(Related::api(Api::default_namespaced(client), Config::default()).store(writer));
        (controller, store)
    };
    assert_eq!(decoded_by_relist(related).await, 1);
}

/// Not a controller: every object is decoded, and a thread that frees what another one has allocated costs CPU time.
#[test]
fn the_reader_of_a_relist_decodes_all_of_its_objects() {
    const COUNT: usize = 40;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, client) = server();
        for number in 0..COUNT {
            let mut map: ConfigMap = named(&format!("map-{number}"));
            map.data = Some([("text".to_owned(), "x".repeat(50_000))].into());
            config_maps(&client).add(map).await;
        }
        for config in [Config::default(), Config::default().streaming_lists()] {
            let mut events = pin!(watcher(Api::<Counted<5>>::default_namespaced(client.clone()), config));
            while !matches!(expect_next(&mut events).await, Ok(Event::InitDone)) {}
            THREADS.lock().unwrap().clear();
            let _expired = server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
            server.end_watches();
            while !matches!(expect_next(&mut events).await, Ok(Event::InitDone)) {}
            assert_eq!(*THREADS.lock().unwrap(), [thread::current().id(); COUNT]);
        }
    });
}
