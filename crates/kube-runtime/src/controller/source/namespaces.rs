//! The collections that a source watches: one, or one per namespace, so that a namespace that cannot be listed does not delay the others.

use crate::{
    served::ServedGate,
    watcher::{self, Selected},
};
use kube_client::{Api, client::Prune};
use kube_core::{NamespaceScope, Resource};
use std::collections::{BTreeMap, BTreeSet};

/// The collections that a source watches.
pub(crate) struct Apis<A> {
    /// The collection, of the whole cluster or of one namespace, unless there is one per namespace.
    pub(super) api: Api<A>,
    pub(super) by_namespace: Option<BTreeMap<String, Api<A>>>,
    /// Of a kind that comes and goes.
    pub(super) served: Option<ServedGate>,
}

impl<A: Resource> Apis<A> {
    /// One collection per namespace. A namespace that is named twice is watched once.
    pub(crate) fn in_namespaces(self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self
    where
        A::Scope: NamespaceScope,
    {
        let with_api = |namespace: String| (self.api.clone().constrain(&namespace), namespace);
        let apis = namespaces.into_iter().map(Into::into).map(with_api);
        let by_namespace = apis.map(|(api, namespace)| (namespace, api)).collect();
        Self { by_namespace: Some(by_namespace), ..self }
    }

    /// They are watched while their kind is served.
    pub(crate) fn while_served(self, kind: ServedGate) -> Self {
        Self { served: Some(kind), ..self }
    }

    /// Whether they are collections of namespaces.
    pub(crate) fn is_namespaced(&self) -> bool {
        self.by_namespace.is_some() || self.api.resource_url().contains("/namespaces/")
    }

    /// Their API paths.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = |api: &Api<A>| api.resource_url().to_owned();
        match &self.by_namespace {
            None => vec![path(&self.api)],
            Some(apis) => apis.values().map(path).collect(),
        }
    }

    /// The namespaces that they are limited to, if they are.
    fn namespaces(&self) -> Option<BTreeSet<String>> {
        match &self.by_namespace {
            None => Some(BTreeSet::from([self.api.namespace()?.to_owned()])),
            Some(apis) => Some(apis.keys().cloned().collect()),
        }
    }

    /// The objects that watches of them with this configuration select.
    pub(super) fn selected(&self, config: &watcher::Config) -> Selected {
        Selected::of(config, self.namespaces()).at(&self.api)
    }

    /// The fields that the decoder skips in all of them.
    pub(super) fn pruned(&self) -> Prune {
        self.api.pruned().clone()
    }

    /// All of them, in the order of the namespaces.
    pub(super) fn into_vec(self) -> Vec<Api<A>> {
        match self.by_namespace {
            None => vec![self.api],
            Some(apis) => apis.into_values().collect(),
        }
    }
}

impl<A> From<Api<A>> for Apis<A> {
    fn from(api: Api<A>) -> Self {
        Self { api, by_namespace: None, served: None }
    }
}
