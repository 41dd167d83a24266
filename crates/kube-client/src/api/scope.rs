//! Where an [`Api`] looks: in a namespace or everywhere.

use kube_core::discovery::Scope;
use kube_core::{ApiResource, DynamicResourceScope, NamespaceScope, Resource};

use super::Api;
use crate::client::Client;

/// Where objects are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In all namespaces, or in none if the kind has no namespaces.
    Anywhere,
    /// Nowhere but in the cluster itself: the kind is known to have no namespaces.
    Cluster,
    Namespace(String),
}

impl Place {
    /// In this namespace; the empty one means all, as in client-go.
    pub(super) fn in_namespace(ns: &str) -> Self {
        if ns.is_empty() { Self::Anywhere } else { Self::Namespace(ns.to_owned()) }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Namespace(namespace) => Some(namespace),
            Self::Anywhere | Self::Cluster => None,
        }
    }
}

impl<K: Resource> Api<K> {
    /// All objects of a kind that is known only at run time, with the scope that discovery gave for it.
    ///
    /// The scope is remembered: narrowing a cluster-wide kind to a namespace leaves it as it is.
    ///
    /// ```
    /// # use kube_client::{Api, Client, api::{ApiResource, DynamicObject, GroupVersionKind}, client::Body};
    /// # use kube_client::discovery::Scope;
    /// # let server = tower::service_fn(|_: http::Request<Body>| async {
    /// #     Ok::<_, std::io::Error>(http::Response::new(Body::empty()))
    /// # });
    /// # let client = Client::new(server, "default");
    /// let nodes = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
    /// let api = Api::<DynamicObject>::dynamic(client, &nodes, &Scope::Cluster).constrain("web");
    /// assert_eq!(api.resource_url(), "/api/v1/nodes");
    /// ```
    pub fn dynamic(client: Client, dyntype: &K::DynamicType, scope: &Scope) -> Self
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let place = match scope {
            Scope::Cluster => Place::Cluster,
            Scope::Namespaced => Place::Anywhere,
        };
        Self::new(client, dyntype, place)
    }

    /// The same kind in namespace `ns`; in all namespaces if it is empty.
    #[must_use]
    pub fn constrain(self, ns: &str) -> Self
    where
        K::Scope: NamespaceScope,
    {
        self.moved_to(Place::in_namespace(ns))
    }

    /// The same kind in the client's default namespace.
    #[must_use]
    pub fn constrain_default(self) -> Self
    where
        K::Scope: NamespaceScope,
    {
        let place = Place::in_namespace(self.client.default_namespace());
        self.moved_to(place)
    }

    /// The same kind in all namespaces.
    #[must_use]
    pub fn unconstrain(self) -> Self
    where
        K::Scope: NamespaceScope,
    {
        self.moved_to(Place::Anywhere)
    }

    fn moved_to(mut self, place: Place) -> Self {
        if self.place != Place::Cluster {
            self.request.url_path =
                relocate(&self.request.url_path, self.place.namespace(), place.namespace());
            self.place = place;
        }
        self
    }
}

/// A path ends in `/PLURAL` or in `/namespaces/NS/PLURAL`.
fn relocate(path: &str, from: Option<&str>, to: Option<&str>) -> String {
    let (version, plural) = path.rsplit_once('/').unwrap_or(("", path));
    let version = match from {
        Some(_) => version.rsplitn(3, '/').last().unwrap_or_default(),
        None => version,
    };
    match to {
        Some(namespace) => format!("{version}/namespaces/{namespace}/{plural}"),
        None => format!("{version}/{plural}"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn paths_move_between_places() {
        for (all, inside) in [
            ("/api/v1/pods", "/api/v1/namespaces/web/pods"),
            ("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/web/deployments"),
        ] {
            assert_eq!(relocate(all, None, Some("web")), inside);
            assert_eq!(relocate(inside, Some("web"), None), all);
            assert_eq!(relocate(inside, Some("web"), Some("other")), inside.replace("web", "other"));
            assert_eq!(relocate(all, None, None), all);
        }
    }

    #[test]
    fn the_empty_namespace_is_the_whole_cluster() {
        let server = tower::service_fn(|_: http::Request<crate::client::Body>| async {
            Ok::<_, std::io::Error>(http::Response::new(crate::client::Body::empty()))
        });
        let client = Client::new(server, "");
        let all = || Api::<ConfigMap>::all(client.clone());
        for api in [
            all().constrain(""),
            all().constrain_default(),
            all().constrain("web").constrain(""),
            Api::namespaced(client.clone(), ""),
            Api::default_namespaced(client.clone()),
        ] {
            assert_eq!(api.resource_url(), "/api/v1/configmaps");
            assert_eq!(api.namespace(), None);
            assert_eq!(api.constrain("web").resource_url(), "/api/v1/namespaces/web/configmaps");
        }
    }
}
