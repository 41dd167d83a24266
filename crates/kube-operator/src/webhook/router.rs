//! The webhooks of a program, and their paths.

use std::{collections::HashSet, sync::Arc};

use axum::{Router, extract::Request, routing::post};

use super::{
    admission::{self, AdmittedObject, Handler, Mutate, Validate},
    body_budget::BodyBudget,
    configurations::{Registry, Sort, WebhookConfigurations, WebhookService, default_path},
    conversion::Convert,
    endpoint::{Endpoint, Work},
    error::WebhooksError,
    metrics,
    registration::Registration,
};

const MIB: usize = 1024 * 1024;
/// Two objects as large as the API server accepts (3 MiB), and the rest of the review.
const ADMISSION_LIMIT: usize = 7 * MIB;
/// A list is converted in one review.
const CONVERSION_LIMIT: usize = 128 * MIB;
/// One conversion review of the largest size, or many admission reviews.
const IN_FLIGHT_LIMIT: usize = 128 * MIB;
const CONVERT: &str = "/convert";

/// The admission and conversion webhooks of a program: a builder of a [`Router`].
///
/// The example of the [module](super) shows all three kinds.
#[derive(Debug)]
pub struct Webhooks {
    admission: Vec<(String, HandlerOf)>,
    converters: Vec<Box<dyn Convert>>,
    admission_limit: usize,
    conversion_limit: usize,
    in_flight_limit: usize,
    registry: Registry,
}

struct HandlerOf(Handler);

impl Default for Webhooks {
    fn default() -> Self {
        Self::new()
    }
}

impl Webhooks {
    /// No webhook.
    pub fn new() -> Self {
        Self {
            admission: Vec::new(),
            converters: Vec::new(),
            admission_limit: ADMISSION_LIMIT,
            conversion_limit: CONVERSION_LIMIT,
            in_flight_limit: IN_FLIGHT_LIMIT,
            registry: Registry::new(CONVERT),
        }
    }

    /// Adds a validating handler at [`validate_path`] of its kind.
    #[must_use]
    pub fn validate<K>(self, handler: impl Validate<K>) -> Self
    where
        K: AdmittedObject<DynamicType = ()>,
    {
        self.validate_at(validate_path::<K>(), handler)
    }

    /// Adds a validating handler at a path of its own, for several kinds if `K` is [`DynamicObject`](kube_core::DynamicObject).
    #[must_use]
    pub fn validate_at<K: AdmittedObject>(self, path: impl Into<String>, handler: impl Validate<K>) -> Self {
        self.with::<K>(path.into(), admission::validating(handler), Sort::Validating)
    }

    /// Adds a mutating handler at [`mutate_path`] of its kind.
    #[must_use]
    pub fn mutate<K>(self, handler: impl Mutate<K>) -> Self
    where
        K: AdmittedObject<DynamicType = ()>,
    {
        self.mutate_at(mutate_path::<K>(), handler)
    }

    /// Adds a mutating handler at a path of its own, for several kinds if `K` is [`DynamicObject`](kube_core::DynamicObject).
    #[must_use]
    pub fn mutate_at<K: AdmittedObject>(self, path: impl Into<String>, handler: impl Mutate<K>) -> Self {
        self.with::<K>(path.into(), admission::mutating(handler), Sort::Mutating)
    }

    /// Adds the conversion of a kind. All are at `/convert`: see [`conversion_path`](Self::conversion_path).
    #[must_use]
    pub fn convert(mut self, versions: impl Convert) -> Self {
        self.registry.converts(versions.group(), versions.kind());
        self.converters.push(Box::new(versions));
        self
    }

    /// The path of all conversions, instead of `/convert`.
    #[must_use]
    pub fn conversion_path(mut self, path: impl Into<String>) -> Self {
        self.registry.set_conversion_path(path.into());
        self
    }

    /// How the API server calls the admission webhook at this path: see [`configurations`](Self::configurations). The order of the calls
    /// does not matter; the last one for a path counts.
    #[must_use]
    pub fn registration(mut self, path: impl Into<String>, registration: Registration) -> Self {
        self.registry.register(path.into(), registration);
        self
    }

    /// The webhook configurations with which API servers call these handlers, both named `name`, with the entries sorted by name.
    ///
    /// Paths, kinds and versions are those of the handlers; the rest is in [`Registration`]. `caBundle` is left to the source of the
    /// certificates. [`Manifests`](crate::manifests::Manifests) writes them with all that an operator needs beside them.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_core::admission::AdmissionRequest;
    /// use kube_operator::webhook::{WebhookService, Webhooks};
    ///
    /// # async fn check(_: AdmissionRequest<ConfigMap>) -> Result<(), String> { Ok(()) }
    /// let service = WebhookService { namespace: "tools".into(), name: "checker".into(), port: 443 };
    /// let configurations = Webhooks::new().validate(check).configurations("checker", &service)?;
    /// let entry = &configurations.validating.expect("a validating webhook").webhooks.unwrap_or_default()[0];
    /// assert_eq!(entry.name, "validate.v1.configmaps.core");
    /// assert_eq!(entry.failure_policy.as_deref(), Some("Fail"));
    /// assert!(configurations.mutating.is_none());
    /// # Ok::<(), kube_operator::webhook::WebhooksError>(())
    /// ```
    ///
    /// # Errors
    /// If a registration has no handler or a timeout that servers refuse, or if nothing says which objects a handler is for.
    pub fn configurations(
        &self,
        name: &str,
        service: &WebhookService,
    ) -> Result<WebhookConfigurations, WebhooksError> {
        self.registry.configurations(name, service)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The largest body of an admission review, in bytes. 7 MiB by default: old and new object may have 3 MiB each.
    #[must_use]
    pub fn admission_limit(mut self, bytes: usize) -> Self {
        self.admission_limit = bytes;
        self
    }

    /// The largest body of a conversion review, in bytes. 128 MiB by default: the API server sends all objects of a list in one review.
    #[must_use]
    pub fn conversion_limit(mut self, bytes: usize) -> Self {
        self.conversion_limit = bytes;
        self
    }

    /// How many bytes of request bodies may be in memory at the same time, for all webhooks together. 128 MiB by default.
    ///
    /// A body counts with what has arrived of it. Further requests wait in their order, until their timeout, except for one body at a time,
    /// which may exceed this. A body has to arrive within 5 s, and a second more for each MiB. Decoded objects need several times the size
    /// of their body, so choose this by the memory limit of the container.
    #[must_use]
    pub fn in_flight_limit(mut self, bytes: usize) -> Self {
        self.in_flight_limit = bytes;
        self
    }

    /// The webhooks as routes, to be merged with other routes.
    ///
    /// # Errors
    /// If two webhooks have one path or convert one kind, if a path is invalid, or if a registration has no webhook.
    pub fn router(self) -> Result<Router, WebhooksError> {
        self.registry.check()?;
        let (mut paths, mut kinds) = (HashSet::new(), HashSet::new());
        for converter in &self.converters {
            let kind = format!("{}.{}", converter.kind(), converter.group());
            if !kinds.insert(kind.clone()) {
                return Err(WebhooksError::DuplicateConversion(kind));
            }
        }
        let budget = BodyBudget::new(self.in_flight_limit);
        let admission = self.admission.into_iter().map(|(path, HandlerOf(handler))| Endpoint {
            path,
            work: Work::Admission(handler),
            body_limit: self.admission_limit,
            budget: budget.clone(),
            log: Arc::default(),
        });
        let converters: Arc<[_]> = self.converters.into();
        let conversion = (!converters.is_empty()).then(|| Endpoint {
            path: self.registry.conversion_path().to_owned(),
            work: Work::Conversion(converters),
            body_limit: self.conversion_limit,
            budget: budget.clone(),
            log: Arc::default(),
        });
        let mut router = Router::new();
        for endpoint in admission.chain(conversion) {
            let path = endpoint.path.clone();
            if !is_path(&path) {
                return Err(WebhooksError::InvalidPath(path));
            }
            if !paths.insert(path.clone()) {
                return Err(WebhooksError::DuplicatePath(path));
            }
            metrics::register(&path);
            let endpoint = Arc::new(endpoint);
            let respond = move |request: Request| async move { endpoint.respond(request).await };
            router = router.route(&path, post(respond));
        }
        Ok(router)
    }

    fn with<K: AdmittedObject>(mut self, path: String, handler: Handler, sort: Sort) -> Self {
        self.registry.add::<K>(path.clone(), sort);
        self.admission.push((path, HandlerOf(handler)));
        self
    }
}

impl std::fmt::Debug for HandlerOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handler")
    }
}

impl std::fmt::Debug for dyn Convert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.kind(), self.group())
    }
}

/// The path of the validating webhook of a kind, as controller-runtime chooses it.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, networking::v1::Ingress};
/// use kube_operator::webhook::{mutate_path, validate_path};
///
/// assert_eq!(validate_path::<Deployment>(), "/validate-apps-v1-deployment");
/// assert_eq!(mutate_path::<Ingress>(), "/mutate-networking-k8s-io-v1-ingress");
/// ```
pub fn validate_path<K: AdmittedObject<DynamicType = ()>>() -> String {
    default_path::<K>(Sort::Validating, &())
}

/// The path of the mutating webhook of a kind: see [`validate_path`].
pub fn mutate_path<K: AdmittedObject<DynamicType = ()>>() -> String {
    default_path::<K>(Sort::Mutating, &())
}

/// Without characters that routes give a meaning, or that need to be encoded.
fn is_path(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    path.starts_with('/') && path.chars().all(plain)
}

#[cfg(test)]
#[path = "router_tests.rs"]
pub(super) mod tests;
