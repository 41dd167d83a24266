//! A cache that is filled, and then relisted after its watch has expired.

use std::hash::Hash;
use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::kube::Client;
use super::super::kube::runtime::reflector::{Lookup, Store};
use super::control;
use crate::growth;
use crate::measure::{self, Metrics, Stopwatch, millis_between, unix_nanos};

/// Longer than any list takes.
const LIMIT: Duration = Duration::from_secs(900);

/// A cache that is not filled yet.
pub(crate) struct Cache<K: Lookup + Clone + 'static>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(crate) store: Store<K>,
    /// Fills the store. Nothing is requested before it is polled.
    pub(crate) filling: BoxFuture<'static, ()>,
    /// The number of completed lists.
    pub(crate) lists: watch::Receiver<usize>,
}

/// A filled cache.
pub(super) struct Filled<K: Lookup + Clone + 'static>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) store: Store<K>,
    lists: watch::Receiver<usize>,
    filling: JoinHandle<()>,
    count: usize,
    rss: f64,
}

impl<K: Lookup + Clone + 'static> Cache<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Fills the cache with the `count` objects of the server.
    pub(super) async fn fill(self, client: &Client, count: usize) -> anyhow::Result<(Filled<K>, Metrics)> {
        let Self { store, filling, lists } = self;
        control::connect(client).await?;
        let watch = Stopwatch::start();
        let filling = tokio::spawn(filling);
        store.wait_until_ready().await?;
        let (wall, cpu) = watch.stop();
        let rss = measure::rss()?;
        // The kernel updates both now and then, so the peak may lag behind.
        let peak = measure::peak_rss()?.max(rss);
        let filled = Filled { store, lists, filling, count, rss };
        filled.check()?;
        let metrics = [
            (growth::FILL.into(), wall),
            (growth::FILL_CPU.into(), cpu),
            (growth::FILLED_RSS.into(), rss),
            (growth::FILLED_PEAK.into(), peak),
        ];
        Ok((filled, metrics.into()))
    }
}

impl<K: Lookup + Clone + 'static> Filled<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Makes the watch expire. No object has changed.
    pub(super) async fn relist(&mut self, client: &Client) -> anyhow::Result<Metrics> {
        measure::reset_peak_rss()?;
        let relist = Stopwatch::start();
        control::expire(client).await?;
        let relisted = tokio::time::timeout(LIMIT, self.lists.wait_for(|lists| *lists >= 2)).await;
        relisted.context("no relist")?.context("the watch has ended")?;
        let (relisted_at, (_, cpu)) = (unix_nanos(), relist.stop());
        let peak = measure::peak_rss()?;
        self.check()?;
        let listed_at = control::listed_at(client).await?;
        Ok([
            ("ms of the relist".into(), millis_between(listed_at, relisted_at)),
            ("ms CPU time of the relist".into(), cpu),
            ("peak RSS of the relist ÷ RSS when filled".into(), peak / self.rss),
        ]
        .into())
    }

    fn check(&self) -> anyhow::Result<()> {
        let found = self.store.len();
        anyhow::ensure!(found == self.count, "the store has {found} of {} objects", self.count);
        Ok(())
    }
}

impl<K: Lookup + Clone + 'static> Drop for Filled<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn drop(&mut self) {
        self.filling.abort();
    }
}
