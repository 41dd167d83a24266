//! Which objects a watch selects, so that nobody waits for an object that the watch never shows.

use super::Config;
use kube_client::{Api, client::ServerAddress};
use kube_core::{Resource, Selector, SelectorExt, reconcile::OwnWrite};
use std::collections::BTreeSet;

/// The objects of a kind that a watch selects. By default all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selected {
    /// Where it watches, if that is known. A program may have clients of several clusters.
    server: ServerAddress,
    /// `None`: all.
    namespaces: Option<BTreeSet<String>>,
    /// `None`: they cannot be evaluated here.
    labels: Option<Selector>,
    fields: Vec<FieldTerm>,
}

/// One condition of a field selector.
#[derive(Debug, Clone)]
enum FieldTerm {
    Name {
        is: bool,
        value: String,
    },
    Namespace {
        is: bool,
        value: String,
    },
    /// It depends on the kind.
    Other,
}

impl Selected {
    /// What a watch with this configuration selects, in these namespaces, or in all.
    pub(crate) fn of(config: &Config, namespaces: Option<BTreeSet<String>>) -> Self {
        let labels = config.label_selector.as_deref().unwrap_or_default();
        let fields = config.field_selector.as_deref().unwrap_or_default();
        let terms = fields.split(',').map(str::trim).filter(|term| !term.is_empty());
        let server = ServerAddress::default();
        Self { server, namespaces, labels: labels.parse().ok(), fields: terms.map(FieldTerm::of).collect() }
    }

    /// What a watch of the collection of this `Api` selects.
    pub(crate) fn by<K: Resource>(api: &Api<K>, config: &Config) -> Self {
        Self::of(config, api.namespace().map(|namespace| [namespace.to_owned()].into())).at(api)
    }

    /// On the server of this `Api`.
    pub(crate) fn at<K: Resource>(self, api: &Api<K>) -> Self {
        Self { server: api.clone().into_client().server_address(), ..self }
    }

    /// All objects.
    pub(crate) fn all() -> Self {
        Self { labels: Some(Selector::default()), ..Self::default() }
    }

    /// Whether the watch selects the object as it was written. `None` if that cannot be known here: a field selector other than by name or
    /// namespace, or a response without labels.
    pub(crate) fn includes(&self, write: &OwnWrite) -> Option<bool> {
        if let (Some(watched), Some(server)) = (self.server.get(), &write.server)
            && watched != *server
        {
            return Some(false);
        }
        if let (Some(watched), Some(namespace)) = (&self.namespaces, &write.namespace)
            && !watched.contains(namespace)
        {
            return Some(false);
        }
        let labels = match (&self.labels, &write.labels) {
            (Some(selector), _) if selector.selects_all() => Some(true),
            (Some(selector), Some(labels)) => Some(selector.matches(labels)),
            _ => None,
        };
        self.fields.iter().map(|term| term.includes(write)).chain([labels]).reduce(and).flatten()
    }
}

impl FieldTerm {
    fn of(term: &str) -> Self {
        let (field, is, value) = match term.split_once("!=") {
            Some((field, value)) => (field, false, value),
            None => match term.split_once('=') {
                Some((field, value)) => (field, true, value.trim_start_matches('=')),
                None => return Self::Other,
            },
        };
        let value = value.trim().to_owned();
        match field.trim() {
            "metadata.name" => Self::Name { is, value },
            "metadata.namespace" => Self::Namespace { is, value },
            _ => Self::Other,
        }
    }

    fn includes(&self, write: &OwnWrite) -> Option<bool> {
        match self {
            Self::Name { is, value } => Some((write.name == *value) == *is),
            Self::Namespace { is, value } => {
                Some((write.namespace.as_deref().unwrap_or_default() == value) == *is)
            }
            Self::Other => None,
        }
    }
}

/// False if one is false, unknown if one is unknown.
fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    fn write(labels: Option<&str>) -> OwnWrite {
        let kind = if labels.is_some() { "Pod" } else { "Scale" };
        let metadata = json!({
            "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "1", "labels": { "app": labels },
        });
        let metadata = if labels.is_some() {
            metadata
        } else {
            json!({ "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "1" })
        };
        let response = json!({ "kind": kind, "metadata": metadata }).to_string();
        OwnWrite::of(&Method::PUT, &"/api/v1/namespaces/shop/pods/a".parse().unwrap(), response.as_bytes())
            .unwrap()
    }

    #[test]
    fn selectors_and_namespaces_decide() {
        let config = Config::default;
        let only = |namespace: &str| Some(BTreeSet::from([namespace.to_owned()]));
        for (config, namespaces, expected) in [
            (config(), None, Some(true)),
            (config(), only("shop"), Some(true)),
            (config(), only("other"), Some(false)),
            (config().labels("app=web"), None, Some(true)),
            (config().labels("app in (db, cache)"), None, Some(false)),
            (config().labels("app"), only("other"), Some(false)),
            (config().labels("= ="), None, None),
            (config().fields("metadata.name=a,metadata.namespace==shop"), None, Some(true)),
            (config().fields("metadata.name!=a"), None, Some(false)),
            (config().fields("spec.nodeName=node"), None, None),
            (config().fields("spec.nodeName=node,metadata.name=b"), None, Some(false)),
        ] {
            let selected = Selected::of(&config, namespaces);
            assert_eq!(selected.includes(&write(Some("web"))), expected, "{selected:?}");
        }
        assert_eq!(Selected::all().includes(&write(None)), Some(true));
        let at = |address: &str| {
            let config = kube_client::Config::new(address.parse().unwrap());
            kube_client::Client::with_transport(&config, kube_testserver::ApiServer::new()).unwrap()
        };
        let (client, mut write_there) = (at("http://one"), write(Some("web")));
        let selected = Selected::by(&Api::<ConfigMap>::all(client.clone()), &config());
        for (server, expected) in [(None, true), (Some("http://one/"), true), (Some("http://two/"), false)] {
            write_there.server = server.map(str::to_owned);
            assert_eq!(selected.includes(&write_there), Some(expected), "written to {server:?}");
        }
        drop(client);
        assert_eq!(selected.includes(&write_there), Some(true), "the client of the watch is gone");
        let labelled = Selected::of(&config().labels("app=web"), None);
        assert_eq!(labelled.includes(&write(None)), None, "the response had no labels");
    }
}
