//! All sources of a controller, merged into one stream of triggers.

use super::{
    backoff::SourceBackoff,
    guarded::GuardedSource,
    initial_sync::{InitialSync, SyncWatchdog},
    trigger::{Trigger, TriggerStream},
};
use crate::{
    backoff::Backoff,
    controller::{config::Config, scope::Coverage},
    served::{ServedGate, while_served},
    watcher::{self, CollectionEvent, ListChoice, WatchRegistry, WatchSettings},
};
use futures::{
    Stream,
    stream::{self, BoxStream},
};
use kube_client::Api;
use kube_core::Resource;
use std::sync::Arc;

/// The events of a watch that the controller makes.
pub(super) type EventStream<T> = BoxStream<'static, watcher::ErasedResult<CollectionEvent<T>>>;

/// Opens a source once the settings of all sources are known: when the controller runs.
pub(super) type OpenSource = Box<dyn FnOnce(&SourceSettings) -> TriggerStream + Send>;

/// A source, with its name for people.
pub(crate) struct NamedSource {
    pub(super) name: String,
    pub(super) open: OpenSource,
}

/// The sources of a controller besides that of its own objects.
pub(crate) struct Sources {
    sources: Vec<NamedSource>,
    /// The number of sources that emit [`Trigger::RelatedSynced`].
    synced_count: usize,
    /// The API paths of the watches.
    paths: Vec<String>,
    backoff: SourceBackoff,
    lists: ListChoice,
    sync: InitialSync,
    /// What shows related objects, and the stores that reconciles read.
    pub(crate) coverage: Coverage,
}

impl Sources {
    pub(crate) fn new() -> Self {
        let (backoff, sync) = (SourceBackoff::PerSource, InitialSync::default());
        Self {
            sources: Vec::new(),
            synced_count: 0,
            paths: Vec::new(),
            backoff,
            lists: ListChoice::default(),
            sync,
            coverage: Coverage::default(),
        }
    }

    /// The first lists of the watches among the sources.
    pub(crate) fn initial_sync(&self) -> InitialSync {
        self.sync.clone()
    }

    /// Adds a custom stream.
    pub(crate) fn add_stream(
        &mut self,
        name: impl Into<String>,
        triggers: impl Stream<Item = watcher::ErasedResult<Trigger>> + Send + 'static,
    ) {
        let open = Box::new(|settings: &SourceSettings| settings.backoff.apply(triggers));
        self.sources.push(NamedSource { name: name.into(), open });
    }

    /// Adds watches of related objects, which wait after failures by themselves and emit [`Trigger::RelatedSynced`].
    pub(super) fn add_watches(&mut self, name: String, paths: Vec<String>, open: OpenSource) {
        self.paths.extend(paths);
        self.synced_count += 1;
        self.sources.push(NamedSource { name, open });
    }

    /// The API paths of the watches.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// How many sources emit [`Trigger::RelatedSynced`].
    pub(crate) fn synced_count(&self) -> usize {
        self.synced_count
    }

    pub(crate) fn share_backoff(&mut self, backoff: impl Backoff + 'static) {
        self.backoff = SourceBackoff::shared(backoff);
    }

    /// All watches list as `choice` says.
    pub(crate) fn listing(&mut self, choice: ListChoice) {
        self.lists = choice;
    }

    /// Merges all sources with `own`, that of the controller's own objects. A failing source does not delay the others. Their watches are
    /// registered in `watches`.
    ///
    /// Three wrappers belong together: each watch is tracked until its first list ([`SourceSettings::watch`]), each source is guarded
    /// against its panics, and a watchdog over all of them reports which of the tracked lists are missing.
    pub(crate) fn merge<R: Fn() -> bool + Unpin>(
        self,
        own: NamedSource,
        watches: Option<Arc<WatchRegistry>>,
        store_is_ready: R,
        config: &Config,
    ) -> impl Stream<Item = watcher::ErasedResult<Trigger>> + Unpin + use<R> {
        let Self { sources, backoff, lists, sync, .. } = self;
        let settings = SourceSettings {
            backoff,
            lists,
            sync: sync.clone(),
            watches,
            waits_for_own_writes: config.waits_for_own_writes(),
            skips_own_writes: config.skips_own_writes(),
        };
        let open = |source: NamedSource| GuardedSource::new(source.name, (source.open)(&settings));
        let triggers = stream::select_all([own].into_iter().chain(sources).map(open));
        SyncWatchdog::new(triggers, sync, store_is_ready, config)
    }
}

/// What all sources of a controller share.
#[derive(Clone)]
pub(crate) struct SourceSettings {
    pub(super) backoff: SourceBackoff,
    lists: ListChoice,
    /// The first lists of the watches.
    sync: InitialSync,
    /// Where monitors find the watches. `None` if the controller has no monitor.
    watches: Option<Arc<WatchRegistry>>,
    /// Whether watches without a store say how far they have got.
    pub(super) waits_for_own_writes: bool,
    /// Whether triggers say which change they are about.
    pub(super) skips_own_writes: bool,
}

impl SourceSettings {
    /// The events of a watch of objects of `kind`, made by the controller.
    pub(super) fn watch<A, T, S>(
        &self,
        api: Api<A>,
        kind: &str,
        watch: impl FnOnce(Api<A>, WatchSettings) -> S,
    ) -> EventStream<T>
    where
        A: Resource,
        T: Send + 'static,
        S: Stream<Item = watcher::ErasedResult<CollectionEvent<T>>> + Send + 'static,
    {
        let path = api.resource_url().to_owned();
        self.sync.track(&path, watch(api, self.of_watch(kind)))
    }

    /// Like [`watch`](Self::watch), while the kind is served if `served` says when.
    pub(super) fn watch_served<A, T, S>(
        &self,
        served: Option<ServedGate>,
        api: Api<A>,
        kind: &str,
        watch: impl Fn(Api<A>, WatchSettings) -> S + Send + 'static,
    ) -> EventStream<T>
    where
        A: Resource + 'static,
        T: Send + 'static,
        S: Stream<Item = watcher::ErasedResult<CollectionEvent<T>>> + Send + 'static,
    {
        let Some(served) = served else { return self.watch(api, kind, watch) };
        let (path, settings, kind) = (api.resource_url().to_owned(), self.clone(), kind.to_owned());
        let open = move || watch(api.clone(), settings.of_watch(&kind));
        self.sync.track(&path, while_served(served, open))
    }

    fn of_watch(&self, kind: &str) -> WatchSettings {
        let retry = self.backoff.for_watch();
        let settings = match &self.watches {
            Some(registry) => WatchSettings::registered(retry, Arc::clone(registry), kind.to_owned()),
            None => retry.into(),
        };
        settings.listing(self.lists)
    }
}
