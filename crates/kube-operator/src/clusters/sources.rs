//! The events of all providers, as changes of the fleet. Their errors are logged.

use super::{
    claims::{Change, Claimed, Claims},
    error::ClusterError,
    event::{ClusterEvent, ClusterEvents, Clusters},
    fleet::Fleet,
    name::ClusterName,
    tasks::fails,
    unusable::Unusable,
};
use futures::{
    StreamExt,
    stream::{self, BoxStream, SelectAll, select_all},
};
use kube_core::panic::panic_message;
use kube_runtime::watcher::WatchMonitor;
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
};

/// All providers.
pub(super) struct Sources {
    events: SelectAll<NumberedEvents>,
    /// What each is, in words.
    names: Vec<String>,
    claims: Claims,
    /// Those that have not announced yet what they have.
    unsynced: BTreeSet<usize>,
    /// What shows the watches of those that have some.
    watches: Vec<Option<WatchMonitor>>,
    /// What each has and cannot use.
    unusable: Vec<Unusable>,
    /// Those that cannot be read.
    failing: BTreeSet<usize>,
    fleet: Fleet,
}

/// How the providers are.
#[derive(Debug, Default)]
pub(super) struct Provided {
    /// How many cannot be read now.
    pub(super) failing: usize,
    /// Clusters that keep what was announced before, because what is announced now cannot be used, and why.
    pub(super) outdated: BTreeMap<ClusterName, String>,
    /// How many objects, files or contexts are no clusters, because they never could be used.
    pub(super) unusable: usize,
}

/// Each event with the number of its provider.
type NumberedEvents = BoxStream<'static, (usize, Result<ClusterEvent, ClusterError>)>;

impl Sources {
    /// Tells the fleet of each provider that has announced what it has: when it says so, or ends otherwise than by a panic.
    pub(super) fn new(providers: Vec<Clusters>, fleet: Fleet) -> Self {
        let names: Vec<String> = providers.iter().map(|provider| provider.source().to_owned()).collect();
        let watches = providers.iter().map(|provider| provider.watches.clone()).collect();
        let unusable = providers.iter().map(|provider| provider.unusable.clone()).collect();
        let numbered = |(source, Clusters { events, unusable, .. }): (usize, Clusters)| {
            let end = stream::once(async { Ok(ClusterEvent::InitDone) });
            guarded(events.chain(end).boxed(), unusable).map(move |event| (source, event)).boxed()
        };
        let events = select_all(providers.into_iter().enumerate().map(numbered));
        let (unsynced, claims) = ((0..names.len()).collect(), Claims::default());
        Self { events, names, claims, unsynced, watches, unusable, failing: BTreeSet::new(), fleet }
    }

    /// Whether nothing comes any more.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// What the next event changes. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Vec<Change> {
        let Some((source, event)) = self.events.next().await else { return Vec::new() };
        if matches!(event, Ok(ClusterEvent::InitDone)) && self.unsynced.remove(&source) {
            self.fleet.provider_has_synced();
        }
        let changes = event.and_then(|event| {
            self.claims.apply(source, event).map_err(|Claimed { name, source, holder }| {
                ClusterError::Claimed {
                    name,
                    source_name: self.names[source].clone(),
                    holder: self.names[holder].clone(),
                }
            })
        });
        changes.unwrap_or_else(|error| {
            let provider = &self.names[source];
            if matches!(error, ClusterError::Panicked(_) | ClusterError::SenderDropped) {
                self.failing.insert(source);
                tracing::error!(
                    provider,
                    %error,
                    "a provider of clusters ends; what it has announced stays, and what else there is is not known until the program restarts"
                );
            } else if !is_outage(&error) {
                tracing::error!(provider, %error, "a cluster cannot be used; all others are not affected");
            } else if self.failing.insert(source) {
                tracing::warn!(
                    provider,
                    %error,
                    "the clusters of a provider cannot be read now; those that it has announced stay, and it is tried again"
                );
            }
            Vec::new()
        })
    }

    /// How the providers are now. Says which can be read again.
    pub(super) fn look(&mut self) -> Provided {
        let mut provided = Provided { failing: self.count_failing(), ..Provided::default() };
        for (source, unusable) in self.unusable.iter().enumerate() {
            for problem in unusable.problems() {
                let place = problem.name.as_ref().and_then(|name| self.claims.place(source, name));
                match (place, &problem.name) {
                    (Some(0), Some(name)) => drop(provided.outdated.insert(name.clone(), problem.why)),
                    (Some(_), _) => {} // another provider's cluster has the name
                    (None, _) => provided.unusable += usize::from(unusable.wants(&problem)),
                }
            }
        }
        provided
    }

    fn count_failing(&mut self) -> usize {
        let (watches, names, unusable) = (&self.watches, &self.names, &self.unusable);
        self.failing.retain(|source| {
            let watch = watches[*source].as_ref();
            let fail = unusable[*source].is_unreadable()
                || watch.is_some_and(|watch| watch.snapshot().iter().any(fails));
            if !fail {
                tracing::info!(provider = names[*source], "the clusters of a provider can be read again");
            }
            fail
        });
        self.failing.len()
    }
}

/// Whether a provider cannot be read, rather than single objects. A watch says so at each attempt.
fn is_outage(error: &ClusterError) -> bool {
    match error {
        ClusterError::Watch(error) => error.undecodable_names().next().is_none(),
        ClusterError::Directory { .. } => true,
        _ => false,
    }
}

/// Nothing follows a panic.
fn guarded(events: ClusterEvents, unusable: Unusable) -> ClusterEvents {
    let events = AssertUnwindSafe(events).catch_unwind();
    let panicked = move |panic: Box<dyn std::any::Any + Send>| {
        unusable.set_unreadable(true);
        ClusterError::Panicked(panic_message(&*panic).to_owned())
    };
    events.map(move |event| event.unwrap_or_else(|panic| Err(panicked(panic)))).boxed()
}
