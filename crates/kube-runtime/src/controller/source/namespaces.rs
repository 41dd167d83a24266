//! The collections that a source watches: one, or one per namespace, so that a namespace that cannot be listed does not delay the others.

use kube_client::Api;
use kube_core::Resource;
use std::collections::BTreeMap;

/// The collections that a source watches.
pub(crate) enum Apis<A> {
    /// Of the whole cluster, or of one namespace.
    One(Api<A>),
    /// One per namespace.
    ByNamespace(BTreeMap<String, Api<A>>),
}

impl<A> Apis<A> {
    /// One collection per namespace. A namespace that is named twice is watched once.
    pub(crate) fn in_namespaces(
        namespaces: impl IntoIterator<Item: Into<String>>,
        api: impl Fn(&str) -> Api<A>,
    ) -> Self {
        let with_api = |namespace: String| (api(&namespace), namespace);
        let apis = namespaces.into_iter().map(Into::into).map(with_api);
        Self::ByNamespace(apis.map(|(api, namespace)| (namespace, api)).collect())
    }

    /// Their API paths.
    pub(super) fn paths(&self) -> Vec<String>
    where
        A: Resource,
    {
        match self {
            Self::One(api) => vec![api.resource_url().to_owned()],
            Self::ByNamespace(apis) => apis.values().map(|api| api.resource_url().to_owned()).collect(),
        }
    }

    /// All of them, in the order of the namespaces.
    pub(super) fn into_vec(self) -> Vec<Api<A>> {
        match self {
            Self::One(api) => vec![api],
            Self::ByNamespace(apis) => apis.into_values().collect(),
        }
    }
}

impl<A> From<Api<A>> for Apis<A> {
    fn from(api: Api<A>) -> Self {
        Self::One(api)
    }
}
