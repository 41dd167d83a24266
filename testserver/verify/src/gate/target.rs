//! What a request is about.

use http::Method;

use crate::{
    kinds,
    plan::{Operation, Verb},
    state::{Names, ObjectName, qualified},
};

/// The object or collection of a path of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Plural and group.
    pub(super) resource: String,
    /// Empty for objects of the cluster and for all namespaces.
    pub(super) namespace: String,
    /// Empty for a collection.
    pub(super) name: String,
    /// Empty for the object itself.
    pub(super) subresource: String,
}

impl Target {
    /// `None` for what is no object: discovery, health.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // A namespace itself has the subresources `status` and `finalize`.
            ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (*namespace, rest)
            }
            _ => ("", rest),
        };
        let part = |at: usize| rest.get(at).map(|part| (*part).to_owned()).unwrap_or_default();
        let plural = part(0);
        let resource = kinds::resource(&plural, group);
        (!plural.is_empty()).then(|| Self {
            resource,
            namespace: namespace.to_owned(),
            name: part(1),
            subresource: part(2),
        })
    }

    /// What a request does here. `name` is that of the object, which a creation has in its body.
    pub(super) fn operation(&self, verb: Verb, name: &str, names: &Names) -> Operation {
        let resource = match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        };
        let name = match (name, self.namespace.as_str()) {
            ("", "") => "*".to_owned(),
            ("", namespace) => namespace.to_owned(),
            (name, namespace) => qualified(namespace, &names.template(&self.resource, name)),
        };
        Operation { verb, resource, name }
    }

    /// The object that is meant, if it has a name.
    pub(super) fn object_name(&self) -> ObjectName {
        let (resource, namespace) = (self.resource.clone(), self.namespace.clone());
        ObjectName { resource, namespace, name: self.name.clone() }
    }

    /// Leases, Events and questions about permissions are no part of what an operator is for: no fault, no judgement.
    pub(super) fn is_housekeeping(&self) -> bool {
        let (group, _) = kinds::split(&self.resource);
        let is_review = matches!(group, "authorization.k8s.io" | "authentication.k8s.io");
        self.is_lease() || self.is_event() || is_review
    }

    /// An Event, in either group.
    pub(super) fn is_event(&self) -> bool {
        matches!(kinds::split(&self.resource), ("" | "events.k8s.io", "events"))
    }

    /// A Lease, by which one process of several leads.
    pub(super) fn is_lease(&self) -> bool {
        kinds::split(&self.resource) == ("coordination.k8s.io", "leases")
    }
}

/// The verb of a request that writes.
pub(super) fn writing_verb(method: &Method, content_type: &str, target: &Target) -> Verb {
    match *method {
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::DELETE if target.name.is_empty() => Verb::DeleteCollection,
        Method::DELETE => Verb::Delete,
        _ if content_type.starts_with("application/apply-patch") => Verb::Apply,
        _ => Verb::Patch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read() {
        let read = |path: &str| {
            let target = Target::of(path)?;
            Some([target.resource, target.namespace, target.name, target.subresource].join("|"))
        };
        let cases = [
            ("/api/v1/pods", Some("pods|||")),
            ("/api/v1/namespaces/shop/pods/a/status", Some("pods|shop|a|status")),
            ("/apis/example.com/v1/namespaces/shop/pages", Some("pages.example.com|shop||")),
            ("/api/v1/namespaces", Some("namespaces|||")),
            ("/api/v1/namespaces/shop", Some("namespaces||shop|")),
            ("/api/v1/namespaces/shop/status", Some("namespaces||shop|status")),
            ("/apis", None),
            ("/apis/apps/v1", None),
            ("/version", None),
        ];
        for (path, expected) in cases {
            assert_eq!(read(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn only_the_kinds_of_kubernetes_are_left_out() {
        let is_housekeeping = |path: &str| Target::of(path).unwrap().is_housekeeping();
        for path in [
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
            "/api/v1/namespaces/default/events",
            "/apis/events.k8s.io/v1/namespaces/default/events",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ] {
            assert!(is_housekeeping(path), "{path}");
        }
        for path in [
            "/apis/cars.example.com/v1/namespaces/default/leases/a",
            "/apis/calendar.example.com/v1/namespaces/default/events",
        ] {
            assert!(!is_housekeeping(path), "{path}");
        }
    }

    #[test]
    fn operations_name_objects_and_collections() {
        let names = Names::default();
        let text = |path: &str, verb, name: &str| {
            Target::of(path).unwrap().operation(verb, name, &names).to_string()
        };
        assert_eq!(
            text("/api/v1/namespaces/shop/pods/a/status", Verb::Update, "a"),
            "update pods/status shop/a"
        );
        assert_eq!(text("/api/v1/pods", Verb::List, ""), "list pods *");
        assert_eq!(text("/api/v1/namespaces/default/pods", Verb::List, ""), "list pods default");
    }
}
