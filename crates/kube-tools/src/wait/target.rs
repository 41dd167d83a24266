//! [`WaitTarget`]: the object that is waited for.

use std::fmt;

use kube_core::{ApiResource, DynamicObject, Request, Resource};

/// An object to wait for: its kind, namespace and name.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_client::api::ApiResource;
/// use kube_tools::wait::WaitTarget;
///
/// let web = WaitTarget::new(&ApiResource::erase::<Deployment>(&()), Some("shop"), "web");
/// assert_eq!(web.to_string(), r#"deployments.apps "web" in namespace "shop""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitTarget {
    /// Path of the collection, such as `/apis/apps/v1/namespaces/shop/deployments`.
    collection: String,
    name: String,
}

impl WaitTarget {
    /// The object `name` of the kind `resource`; the namespace is `None` for kinds that have none.
    #[must_use]
    pub fn new(resource: &ApiResource, namespace: Option<&str>, name: &str) -> Self {
        Self::in_collection(DynamicObject::url_path(resource, namespace), name)
    }

    pub(crate) fn in_collection(path: impl Into<String>, name: &str) -> Self {
        Self { collection: path.into(), name: name.to_owned() }
    }

    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace of the object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let (rest, _plural) = self.collection.rsplit_once('/')?;
        let (rest, namespace) = rest.rsplit_once('/')?;
        rest.ends_with("/namespaces").then_some(namespace)
    }

    pub(super) fn request(&self) -> Request {
        Request::new(self.collection.clone())
    }
}

impl fmt::Display for WaitTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = self.collection.rsplit('/').next().unwrap_or_default();
        let mut segments = self.collection.trim_start_matches('/').split('/');
        match (segments.next(), segments.next()) {
            (Some("apis"), Some(group)) => write!(f, "{plural}.{group} {:?}", self.name)?,
            _ => write!(f, "{plural} {:?}", self.name)?,
        }
        match self.namespace() {
            Some(namespace) => write!(f, " in namespace {namespace:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_named_by_resource_and_namespace() {
        for (path, text, namespace) in [
            ("/api/v1/namespaces/web/pods", r#"pods "a" in namespace "web""#, Some("web")),
            ("/api/v1/namespaces", r#"namespaces "a""#, None),
            ("/api/v1/nodes", r#"nodes "a""#, None),
            (
                "/apis/apps/v1/namespaces/web/deployments",
                r#"deployments.apps "a" in namespace "web""#,
                Some("web"),
            ),
            ("/apis/example.com/v1/namespaces", r#"namespaces.example.com "a""#, None),
        ] {
            let target = WaitTarget::in_collection(path, "a");
            assert_eq!((target.to_string().as_str(), target.namespace()), (text, namespace), "{path}");
        }
    }
}
