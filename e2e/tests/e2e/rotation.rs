//! Credentials that are exchanged over TLS during watches and a thousand requests a second: none fails, and nothing is listed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::KubeConfigOptions;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Config};
use kube_testserver::TestServer;
use tokio::task::JoinHandle;

use crate::test_env::{Requires, embedded_client, rejection, run, unique};
use crate::users::UserServer;

const WATCHES: u32 = 20;
/// The most requests that run at once, however slow the server is.
const IN_FLIGHT: usize = 50;
/// How many requests have to succeed after each rotation: those that ran at that time, and many more.
const REQUESTS: u64 = 300;
/// After this, something counts as lost.
const LIMIT: Duration = Duration::from_secs(60);

/// Certificate, token, another user, another address of the same server.
#[test]
fn credentials_that_are_set_disturb_neither_watches_nor_requests() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(users) = UserServer::start(env).await? else { return Ok(()) };
            let client = Client::try_from(users.config("token-admin").await?)?;
            let writer = Client::try_from(users.config("admin").await?)?;
            let thousand = Duration::from_millis(1);
            let traffic = Traffic::start(&client, &writer, &users.namespace, thousand).await?;
            for user in ["admin", "token-viewer", "viewer", "token-admin"] {
                client.set_credentials(users.config(user).await?).await?;
                traffic.goes_on().await.with_context(|| user.to_owned())?;
            }
            let mut elsewhere = users.config("admin").await?;
            let url = elsewhere.cluster_url.to_string().replace("127.0.0.1", "localhost");
            ensure!(url.contains("localhost"), "{url} is no address of loopback");
            elsewhere.cluster_url = url.parse()?;
            client.set_credentials(elsewhere).await?;
            traffic.goes_on().await.context("another address")
        }
        .boxed()
    })
}

#[test]
fn a_followed_file_that_changes_disturbs_neither_watches_nor_requests() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(users) = UserServer::start(env).await? else { return Ok(()) };
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("config");
            users.write("token-admin", &path)?;
            let config = Config::from_kubeconfig_file(&path, &KubeConfigOptions::default()).await?;
            let client = Client::try_from(config.follow()?)?;
            let writer = Client::try_from(users.config("admin").await?)?;
            // The file is read within 10 s, so this takes longer: fewer requests a second.
            let spared = Duration::from_millis(4);
            let traffic = Traffic::start(&client, &writer, &users.namespace, spared).await?;
            let maps: Api<ConfigMap> = Api::namespaced(client, &users.namespace);
            let code = async || -> anyhow::Result<u16> {
                Ok(rejection(maps.delete("not-there", &DeleteParams::default()).await)?.code)
            };
            assert_eq!(code().await?, 404, "who may delete is told that there is nothing");
            users.write("viewer", &path)?;
            let used = async {
                while code().await? != 403 {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                anyhow::Ok(())
            };
            tokio::time::timeout(LIMIT, used).await.context("the file is not read")??;
            traffic.goes_on().await
        }
        .boxed()
    })
}

/// As when the certificates of a control plane are created again: afterwards the old ones are worth nothing.
#[test]
fn another_ca_disturbs_neither_watches_nor_requests() -> anyhow::Result<()> {
    run(Requires::EmbeddedServer, |_| {
        async move {
            // One state behind two sockets, each of which has a CA of its own.
            let old = TestServer::builder().tls().with_rbac().start().await?;
            let new = TestServer::builder().tls().with_rbac().api(old.api()).start().await?;
            let (client, writer) = (embedded_client(&old).await?, embedded_client(&new).await?);
            let thousand = Duration::from_millis(1);
            let traffic = Traffic::start(&client, &writer, "default", thousand).await?;
            let kubeconfig = kube::config::Kubeconfig::from_yaml(&new.kubeconfig())?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            client.set_credentials(config).await?;
            traffic.goes_on().await.context("watches of the old socket")?;
            old.shutdown().await;
            traffic.goes_on().await.context("watches that are resumed on the new socket")
        }
        .boxed()
    })
}

/// Watches and requests of one client.
struct Traffic {
    watches: Vec<Watch>,
    /// Ends with the first error.
    requests: JoinHandle<kube::Result<()>>,
    succeeded: Arc<AtomicU64>,
    /// Of another client, whose credentials stay.
    maps: Api<ConfigMap>,
}

impl Traffic {
    /// Starts a request in each `interval`, as long as no more than [`IN_FLIGHT`] run.
    async fn start(
        client: &Client,
        writer: &Client,
        namespace: &str,
        interval: Duration,
    ) -> anyhow::Result<Self> {
        let maps = Api::namespaced(writer.clone(), namespace);
        let name = add(&maps).await?;
        let watched: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let watches = (0..WATCHES).map(|number| Watch::start(watched.clone(), number)).collect();
        let succeeded = Arc::<AtomicU64>::default();
        let requests = tokio::spawn(get_repeatedly(watched, name, interval, Arc::clone(&succeeded)));
        let traffic = Self { watches, requests, succeeded, maps };
        traffic.goes_on().await.context("before the first rotation")?;
        Ok(traffic)
    }

    /// Waits until what ran has succeeded, many more requests too, and each watch has shown a change without a list.
    async fn goes_on(&self) -> anyhow::Result<()> {
        let enough = self.succeeded.load(Ordering::Relaxed) + REQUESTS;
        let name = add(&self.maps).await?;
        let goes_on = async {
            while self.succeeded.load(Ordering::Relaxed) < enough && !self.requests.is_finished() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            for watch in &self.watches {
                watch.shows(&name).await;
            }
        };
        tokio::time::timeout(LIMIT, goes_on).await.context("requests or watches have stopped")?;
        ensure!(!self.requests.is_finished(), "a request has failed");
        let lists: Vec<_> = self.watches.iter().map(|watch| watch.lists.load(Ordering::Relaxed)).collect();
        ensure!(lists.iter().all(|lists| *lists == 1), "each watch has listed once: {lists:?}");
        Ok(())
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.requests.abort();
    }
}

/// Counts requests in the order in which they began: when one is counted, so are all that began before it.
async fn get_repeatedly(
    maps: Api<ConfigMap>,
    name: String,
    interval: Duration,
    succeeded: Arc<AtomicU64>,
) -> kube::Result<()> {
    let mut interval = tokio::time::interval(interval);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let ticks = stream::unfold(interval, async |mut interval| Some((interval.tick().await, interval)));
    let gets = ticks.map(|_| maps.get(&name)).buffered(IN_FLIGHT);
    let outcome = gets.try_for_each(async |_| {
        succeeded.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    outcome.await.inspect_err(|error| eprintln!("a request has failed: {error:?}"))
}

/// Creates an empty one, and returns its name.
async fn add(maps: &Api<ConfigMap>) -> anyhow::Result<String> {
    let name = unique("rotated");
    let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
    maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await?;
    Ok(name)
}

/// A watch that fills a store, and how often it has listed.
struct Watch {
    store: Store<ConfigMap>,
    lists: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Watch {
    /// One with an odd number is ended by the server after 2 s, and so goes on with the new credentials.
    fn start(maps: Api<ConfigMap>, number: u32) -> Self {
        let (store, writer) = reflector::store();
        let lists = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&lists);
        let config = watcher::Config::default();
        let config = if number % 2 == 1 { config.timeout(2) } else { config };
        let events = watcher(maps, config).default_backoff().reflect(writer);
        let task = tokio::spawn(events.for_each(move |event| {
            match event {
                Ok(watcher::Event::Init) => {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                Err(error) => eprintln!("watch {number}: {error}"),
            }
            std::future::ready(())
        }));
        Self { store, lists, task }
    }

    async fn shows(&self, name: &str) {
        while self.store.find(|map| map.metadata.name.as_deref() == Some(name)).is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
