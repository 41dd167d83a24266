//! Where a CA bundle belongs in webhook configurations and CRDs. Pure.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// Which `clientConfig` call this webhook server.
#[derive(Clone, Debug)]
pub(super) struct Callee {
    pub(super) namespace: String,
    pub(super) service: String,
    /// The names of the certificate, for URLs.
    pub(super) names: Vec<String>,
}

impl Callee {
    fn is_called_by(&self, client_config: &Value) -> bool {
        let service = &client_config["service"];
        if service.is_object() {
            return service["namespace"] == *self.namespace && service["name"] == *self.service;
        }
        let url = client_config["url"].as_str().and_then(|url| url.parse::<http::Uri>().ok());
        let host = url.as_ref().and_then(http::Uri::host).map(|host| host.trim_matches(['[', ']']));
        host.is_some_and(|host| self.names.iter().any(|name| name == host))
    }
}

/// The bundles in an object where one belongs.
pub(super) fn found(object: &Value, callee: &Callee) -> Vec<Option<String>> {
    client_configs(object, callee).map(|(_, config)| bundle_in(config)).collect()
}

/// A JSON patch that sets the bundle, unless the object has changed meanwhile; `None` if it is there.
pub(super) fn patch(object: &Value, callee: &Callee, bundle: &str) -> Option<Value> {
    let differs = |(_, config): &(String, &Value)| bundle_in(config).as_deref() != Some(bundle);
    let encoded = json!(ByteString(bundle.as_bytes().to_vec()));
    let set = client_configs(object, callee)
        .filter(differs)
        .map(|(at, _)| json!({"op": "add", "path": format!("{at}/caBundle"), "value": encoded}));
    // With the version in the patch, the API server refuses it with a conflict if the object has another.
    let version = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"]});
    let operations: Vec<_> = std::iter::once(version).chain(set).collect();
    (operations.len() > 1).then(|| operations.into())
}

fn client_configs<'a>(object: &'a Value, callee: &'a Callee) -> impl Iterator<Item = (String, &'a Value)> {
    let hooks = object["webhooks"].as_array().into_iter().flatten().enumerate();
    let hooks = hooks.map(|(at, hook)| (format!("/webhooks/{at}/clientConfig"), &hook["clientConfig"]));
    let conversion = &object["spec"]["conversion"]["webhook"]["clientConfig"];
    let conversion = ("/spec/conversion/webhook/clientConfig".to_owned(), conversion);
    hooks.chain([conversion]).filter(|(_, config)| callee.is_called_by(config))
}

fn bundle_in(client_config: &Value) -> Option<String> {
    let ByteString(bytes) = serde_json::from_value(client_config["caBundle"].clone()).ok()?;
    String::from_utf8(bytes).ok().filter(|bundle| !bundle.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callee() -> Callee {
        Callee {
            namespace: "web".into(),
            service: "hooks".into(),
            names: vec!["hooks.test".into(), "::1".into()],
        }
    }

    fn applied(mut object: Value, bundle: &str) -> Value {
        let patch = patch(&object, &callee(), bundle).unwrap();
        let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
        object
    }

    #[test]
    fn only_webhooks_of_this_server_are_changed() {
        let service =
            |namespace: &str, name: &str| json!({"service": {"namespace": namespace, "name": name}});
        let object = json!({"metadata": {"name": "x", "resourceVersion": "7"}, "webhooks": [
            {"clientConfig": service("web", "hooks")},
            {"clientConfig": service("web", "other")},
            {"clientConfig": service("other", "hooks")},
            {"clientConfig": {"url": "https://hooks.test:9443/x", "caBundle": "b2xk"}},
            {"clientConfig": {"url": "https://[::1]/x"}},
            {"clientConfig": {"url": "https://elsewhere/x"}},
            {},
        ]});
        assert_eq!(found(&object, &callee()), [None, Some("old".into()), None]);
        let after = applied(object, "new");
        let bundles: Vec<_> = after["webhooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hook| &hook["clientConfig"]["caBundle"])
            .collect();
        let (new, none) = (json!("bmV3"), Value::Null);
        assert_eq!(bundles, [&new, &none, &none, &new, &new, &none, &none]);
        assert_eq!(patch(&after, &callee(), "new"), None);
    }

    #[test]
    fn a_crd_has_one_place_and_a_version_that_must_match() {
        let crd = json!({"metadata": {"resourceVersion": "7"}, "spec": {"conversion": {"strategy": "Webhook",
            "webhook": {"clientConfig": {"service": {"namespace": "web", "name": "hooks"}}}}}});
        let patch = patch(&crd, &callee(), "new").unwrap();
        assert_eq!(patch[0], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
        assert_eq!(patch[1]["path"], "/spec/conversion/webhook/clientConfig/caBundle");
        let none = json!({"metadata": {}, "spec": {"conversion": {"strategy": "None"}}});
        assert!(found(&none, &callee()).is_empty());
        assert_eq!(super::patch(&none, &callee(), "new"), None);
    }
}
