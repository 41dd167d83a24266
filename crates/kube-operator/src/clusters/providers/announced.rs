//! What a provider has announced, and the events of objects of the hub as clusters.

use super::first::First;
use crate::clusters::{
    error::ClusterError,
    event::{ClusterEvent, ClusterSpec},
    name::ClusterName,
    unusable::{Problem, Unusable},
};
use futures::{Stream, StreamExt, stream};
use kube_client::error::ErrorChain;
use kube_core::{Resource, ResourceExt};
use kube_runtime::watcher::{self, Event};
use std::collections::{BTreeSet, VecDeque};
use tokio::time::{Instant, timeout_at};

/// The names that a provider has announced. No I/O.
#[derive(Debug, Default)]
pub(super) struct Announced {
    names: BTreeSet<ClusterName>,
    /// Those of objects that are there and could not be used up to now.
    unusable: BTreeSet<ClusterName>,
    /// While a list runs: what it had so far, usable or not.
    listed: Option<BTreeSet<ClusterName>>,
}

impl Announced {
    /// A list begins.
    pub(super) fn begin(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// There is an object of this name. One that cannot be used keeps what was announced of it.
    pub(super) fn seen(&mut self, name: &ClusterName) {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.clone());
        }
        if !self.names.contains(name) {
            self.unusable.insert(name.clone());
        }
    }

    /// It is announced.
    pub(super) fn add(&mut self, name: ClusterName) {
        self.unusable.remove(&name);
        self.names.insert(name);
    }

    /// There is no such object any more. Returns whether it was announced.
    pub(super) fn remove(&mut self, name: &ClusterName) -> bool {
        self.unusable.remove(name);
        self.names.remove(name)
    }

    /// The list is complete. Returns what was announced and is not in it.
    pub(super) fn end(&mut self) -> Vec<ClusterName> {
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<_> = self.names.difference(&listed).cloned().collect();
        self.names.retain(|name| listed.contains(name));
        self.unusable.retain(|name| listed.contains(name));
        gone
    }
}

/// The events of objects of the hub, each of which stands for a cluster.
///
/// A watch that fails, and an object that cannot be used, is an error; what was announced stays.
pub(super) fn of_objects<K: Resource + Send + 'static>(
    watch: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    name_of: NameOf,
    spec_of: impl AsyncSpec<K>,
    unusable: Unusable,
) -> impl Stream<Item = Result<ClusterEvent, ClusterError>> + Send {
    let (announced, first) = (Announced::default(), First::default());
    let reader = ObjectReader { announced, first, name_of, spec_of, unusable };
    let state = (Box::pin(watch), reader, VecDeque::new());
    stream::unfold(state, |(mut watch, mut reader, mut pending)| async move {
        loop {
            if let Some(event) = pending.pop_front() {
                return Some((event, (watch, reader, pending)));
            }
            let next = match reader.first.until() {
                Some(until) => timeout_at(until, watch.next()).await,
                None => Ok(watch.next().await),
            };
            match next {
                Ok(event) => match event? {
                    Ok(event) => pending.extend(reader.read(event).await),
                    Err(error) => {
                        reader.cannot_read(&error);
                        pending.push_back(Err(ClusterError::Watch(Box::new(error))));
                    }
                },
                Err(_elapsed) => pending.extend(reader.first_read()),
            }
        }
    })
}

/// The name of the cluster for which an object with this namespace and name stands.
pub(super) type NameOf = fn(Option<&str>, &str) -> Result<ClusterName, ClusterError>;

/// Reads the cluster for which an object stands.
pub(super) trait AsyncSpec<K>: Send + Sync + 'static {
    fn read(
        &self,
        object: K,
        name: ClusterName,
    ) -> impl Future<Output = Result<ClusterSpec, ClusterError>> + Send;
}

struct ObjectReader<S> {
    announced: Announced,
    first: First,
    name_of: NameOf,
    spec_of: S,
    unusable: Unusable,
}

impl<S> ObjectReader<S> {
    /// Objects of a list that cannot be decoded exist.
    fn cannot_read(&mut self, error: &watcher::Error) {
        for (namespace, name) in error.undecodable_names() {
            let place = place(namespace, name);
            // Without a name it cannot have been announced.
            let Ok(name) = (self.name_of)(namespace, name) else { continue };
            self.announced.seen(&name);
            let why = ErrorChain(error).to_string();
            self.unusable.add(&place, Problem { name: Some(name), labels: None, why });
        }
    }

    /// What it says of the first list, once that is complete.
    fn first_read(&mut self) -> Vec<Result<ClusterEvent, ClusterError>> {
        self.first.read(&self.announced.unusable, Instant::now())
    }

    async fn read<K: Resource + Send>(&mut self, event: Event<K>) -> Vec<Result<ClusterEvent, ClusterError>>
    where
        S: AsyncSpec<K>,
    {
        let is_list = matches!(event, Event::InitDone);
        let mut events = self.changes(event).await;
        if is_list || self.first.until().is_some() {
            events.extend(self.first_read());
        }
        events
    }

    async fn changes<K: Resource + Send>(
        &mut self,
        event: Event<K>,
    ) -> Vec<Result<ClusterEvent, ClusterError>>
    where
        S: AsyncSpec<K>,
    {
        let name_of = |object: &K| (self.name_of)(object.namespace().as_deref(), &object.name_any());
        let place = |object: &K| place(object.namespace().as_deref(), &object.name_any());
        match event {
            Event::Init => {
                self.announced.begin();
                self.unusable.begin();
                Vec::new()
            }
            Event::InitDone => {
                self.unusable.end();
                self.announced.end().into_iter().map(ClusterEvent::Removed).map(Ok).collect()
            }
            Event::InitApply(object) | Event::Apply(object) => {
                let place = place(&object);
                let name = match name_of(&object) {
                    Ok(name) => name,
                    Err(error) => return vec![Err(error)],
                };
                let labels = Some(object.labels().clone());
                self.announced.seen(&name);
                let spec = self.spec_of.read(object, name.clone()).await;
                match &spec {
                    Ok(_) => {
                        self.unusable.remove(&place);
                        self.announced.add(name);
                    }
                    Err(error) => {
                        let (name, why) = (Some(name), error.to_string());
                        self.unusable.add(&place, Problem { name, labels, why });
                    }
                }
                vec![spec.map(ClusterEvent::from)]
            }
            Event::Delete(object) => {
                self.unusable.remove(&place(&object));
                match name_of(&object) {
                    Ok(name) if self.announced.remove(&name) => vec![Ok(ClusterEvent::Removed(name))],
                    _ => Vec::new(), // it was never announced
                }
            }
        }
    }
}

/// An object, in words.
fn place(namespace: Option<&str>, name: &str) -> String {
    format!("{}/{name}", namespace.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ClusterName {
        ClusterName::new(text).unwrap()
    }

    #[test]
    fn a_list_removes_what_is_gone_and_keeps_what_cannot_be_used() {
        let mut announced = Announced::default();
        announced.begin();
        for text in ["a", "b", "c"] {
            announced.seen(&name(text));
            announced.add(name(text));
        }
        assert_eq!(announced.end(), []);
        announced.begin();
        announced.seen(&name("a"));
        announced.add(name("a"));
        announced.seen(&name("b")); // unusable now
        assert_eq!(announced.end(), [name("c")]);
        assert!(announced.remove(&name("b")) && !announced.remove(&name("c")));
        announced.begin();
        announced.begin(); // the list failed and began anew
        announced.seen(&name("a"));
        assert_eq!((announced.end(), announced.end()), (vec![], vec![]));
    }

    #[test]
    fn what_is_there_and_was_never_usable_is_known_until_it_is_or_goes() {
        let mut announced = Announced::default();
        announced.begin();
        for text in ["a", "b", "c"] {
            announced.seen(&name(text));
        }
        announced.add(name("a"));
        announced.seen(&name("a")); // unusable now, but it is known
        announced.end();
        assert_eq!(announced.unusable, [name("b"), name("c")].into());
        announced.remove(&name("b"));
        announced.begin();
        announced.end();
        assert!(announced.unusable.is_empty());
    }
}
