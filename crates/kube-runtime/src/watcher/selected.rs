//! Which objects a watch selects, so that nobody waits for an object that the watch never shows.

use super::Config;
use kube_core::{Selector, SelectorExt, reconcile::OwnWrite};
use std::collections::BTreeSet;

/// The objects of a kind that a watch selects. By default all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selected {
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
        Self { namespaces, labels: labels.parse().ok(), fields: terms.map(FieldTerm::of).collect() }
    }

    /// All objects.
    pub(crate) fn all() -> Self {
        Self { labels: Some(Selector::default()), ..Self::default() }
    }

    /// Whether the watch selects the object as it was written. `None` if that cannot be known here: a field selector other than by name or
    /// namespace, or a response without labels.
    pub(crate) fn includes(&self, write: &OwnWrite) -> Option<bool> {
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
        let labelled = Selected::of(&config().labels("app=web"), None);
        assert_eq!(labelled.includes(&write(None)), None, "the response had no labels");
    }
}
