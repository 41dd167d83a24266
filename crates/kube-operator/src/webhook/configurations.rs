//! The webhook configurations of a program, from its handlers.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::admissionregistration::v1::{
        MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
        ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions,
};
use kube_core::{ObjectMeta, Resource, admission::Operation};

use super::{
    error::WebhooksError,
    own_namespace,
    registration::{Registration, Resources},
};

/// The Service by which API servers reach the webhooks of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookService {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its port, 443 in most cases.
    pub port: u16,
}

/// The webhook configurations of a program, made by [`Webhooks::configurations`](super::Webhooks::configurations). `None` where it has no
/// webhook of that sort. `caBundle` is empty: [`SelfSigned`](super::certificates::SelfSigned) or cert-manager fill it in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookConfigurations {
    /// With an entry for each mutating handler.
    pub mutating: Option<MutatingWebhookConfiguration>,
    /// With an entry for each validating handler.
    pub validating: Option<ValidatingWebhookConfiguration>,
}

/// What API servers have to know of the webhooks of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    admission: Vec<Admission>,
    /// By path.
    registrations: BTreeMap<String, Registration>,
    conversion_path: String,
    conversions: Vec<Conversion>,
}

#[derive(Clone, Debug)]
struct Admission {
    path: String,
    sort: Sort,
    /// What the type of the handler says.
    resources: Option<Resources>,
    /// Of the entry, at the default path.
    name: Option<String>,
}

/// A kind that the program converts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) group: String,
    pub(crate) kind: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Mutating,
    Validating,
}

impl WebhookService {
    fn admission(&self, path: &str) -> WebhookClientConfig {
        let service = ServiceReference {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            path: Some(path.to_owned()),
            port: Some(self.port.into()),
        };
        WebhookClientConfig { service: Some(service), ..WebhookClientConfig::default() }
    }

    fn conversion(&self, path: &str) -> apiextensions::WebhookClientConfig {
        let service = apiextensions::ServiceReference {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            path: Some(path.to_owned()),
            port: Some(self.port.into()),
        };
        apiextensions::WebhookClientConfig { service: Some(service), ..Default::default() }
    }
}

impl Admission {
    fn of<K: Resource<DynamicType: 'static>>(path: String, sort: Sort) -> Self {
        // The type of a fixed kind is `()`; others stand for any kind.
        let unit: &dyn std::any::Any = &();
        let Some(dyntype) = unit.downcast_ref::<K::DynamicType>() else {
            return Self { path, sort, resources: None, name: None };
        };
        let (group, version, plural) = (K::group(dyntype), K::version(dyntype), K::plural(dyntype));
        let domain = if group.is_empty() { "core" } else { &group };
        let name = (path == default_path::<K>(sort, dyntype))
            .then(|| format!("{}.{version}.{plural}.{domain}", sort.verb()));
        let resources = Resources {
            group: group.to_string(),
            versions: vec![version.into_owned()],
            resources: vec![plural.into_owned()],
        };
        Self { path, sort, resources: Some(resources), name }
    }

    /// A name with at least three parts, as API servers require it, that differs from those of all other paths.
    fn entry_name(&self, program: &str) -> String {
        self.name.clone().unwrap_or_else(|| {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
            let slug: String = self.path.chars().map(plain).collect();
            format!("{}.{}.{program}", slug.trim_matches('-'), self.sort.verb())
        })
    }
}

impl Sort {
    fn verb(self) -> &'static str {
        match self {
            Self::Mutating => "mutate",
            Self::Validating => "validate",
        }
    }
}

/// The path of the webhook of a kind, as controller-runtime chooses it.
pub(super) fn default_path<K: Resource>(sort: Sort, dyntype: &K::DynamicType) -> String {
    let (group, version) = (K::group(dyntype).replace('.', "-"), K::version(dyntype));
    format!("/{}-{group}-{version}-{}", sort.verb(), K::kind(dyntype).to_lowercase())
}

impl Registry {
    /// Without webhooks.
    pub(super) fn new(conversion_path: &str) -> Self {
        Self { conversion_path: conversion_path.to_owned(), ..Self::default() }
    }

    /// The path of all conversions.
    pub(super) fn conversion_path(&self) -> &str {
        &self.conversion_path
    }

    pub(super) fn set_conversion_path(&mut self, path: String) {
        self.conversion_path = path;
    }

    pub(super) fn add<K: Resource<DynamicType: 'static>>(&mut self, path: String, sort: Sort) {
        self.admission.push(Admission::of::<K>(path, sort));
    }

    pub(super) fn register(&mut self, path: String, registration: Registration) {
        self.registrations.insert(path, registration);
    }

    pub(super) fn converts(&mut self, group: String, kind: String) {
        self.conversions.push(Conversion { group, kind });
    }

    pub(crate) fn conversions(&self) -> &[Conversion] {
        &self.conversions
    }

    /// How the API server calls the conversion of a CRD; `None` if the program does not convert it.
    pub(crate) fn conversion_of(
        &self,
        crd: &apiextensions::CustomResourceDefinition,
        service: &WebhookService,
    ) -> Option<apiextensions::CustomResourceConversion> {
        let is_kind = |it: &Conversion| it.group == crd.spec.group && it.kind == crd.spec.names.kind;
        self.conversions.iter().any(is_kind).then(|| apiextensions::CustomResourceConversion {
            strategy: "Webhook".into(),
            webhook: Some(apiextensions::WebhookConversion {
                client_config: Some(service.conversion(&self.conversion_path)),
                conversion_review_versions: vec!["v1".into()],
            }),
        })
    }

    /// Every registration has a webhook: a path with a slip would change nothing.
    pub(super) fn check(&self) -> Result<(), WebhooksError> {
        let is_known = |path: &str| self.admission.iter().any(|it| it.path == path);
        match self.registrations.keys().find(|path| !is_known(path)) {
            None => Ok(()),
            Some(path) => {
                let paths: Vec<_> = self.admission.iter().map(|it| it.path.as_str()).collect();
                Err(WebhooksError::UnknownPath { path: path.clone(), expected: paths.join(", ") })
            }
        }
    }

    pub(crate) fn configurations(
        &self,
        name: &str,
        service: &WebhookService,
    ) -> Result<WebhookConfigurations, WebhooksError> {
        self.check()?;
        let mut entries = Vec::new();
        for admission in &self.admission {
            entries.push((admission.sort, self.entry(admission, name, service)?));
        }
        entries.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let (mut mutating, mut validating) = (Vec::new(), Vec::new());
        for (sort, entry) in entries {
            match sort {
                Sort::Validating => validating.push(entry),
                Sort::Mutating => mutating.push(self.mutating(entry)),
            }
        }
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let mutating = Some(mutating).filter(|entries| !entries.is_empty());
        let validating = Some(validating).filter(|entries| !entries.is_empty());
        Ok(WebhookConfigurations {
            mutating: mutating.map(|entries| MutatingWebhookConfiguration {
                metadata: metadata.clone(),
                webhooks: Some(entries),
            }),
            validating: validating.map(|entries| ValidatingWebhookConfiguration {
                metadata: metadata.clone(),
                webhooks: Some(entries),
            }),
        })
    }

    fn entry(
        &self,
        admission: &Admission,
        name: &str,
        service: &WebhookService,
    ) -> Result<ValidatingWebhook, WebhooksError> {
        let path = &admission.path;
        let registration = self.registrations.get(path).cloned().unwrap_or_default();
        let Some(timeout) = registration.timeout_seconds() else {
            let timeout = registration.timeout.unwrap_or_default();
            return Err(WebhooksError::InvalidTimeout { path: path.clone(), timeout });
        };
        let resources = self.resources(admission);
        if resources.is_empty() {
            return Err(WebhooksError::NoResources(path.clone()));
        }
        let operations =
            registration.operations.clone().unwrap_or(vec![Operation::Create, Operation::Update]);
        let operations: Vec<_> = operations.iter().map(|it| operation(it).to_owned()).collect();
        let rule = |resources: &Resources| RuleWithOperations {
            api_groups: Some(vec![resources.group.clone()]),
            api_versions: Some(resources.versions.clone()),
            operations: Some(operations.clone()),
            resources: Some(resources.resources.clone()),
            scope: None,
        };
        let namespace_selector = own_namespace::selector(&registration, &resources, &service.namespace);
        let namespace_selector = namespace_selector.map_err(|needed| WebhooksError::BlocksItself {
            path: path.clone(),
            needed,
            namespace: service.namespace.clone(),
        })?;
        let exact = registration.exact.unwrap_or_else(|| self.has_other_versions(admission));
        let none_on_dry_run = registration.side_effects_on_dry_run;
        Ok(ValidatingWebhook {
            name: admission.entry_name(name),
            admission_review_versions: vec!["v1".into()],
            client_config: service.admission(path),
            failure_policy: Some(registration.failure_policy.as_str().into()),
            match_conditions: Some(registration.match_conditions).filter(|it| !it.is_empty()),
            match_policy: Some(if exact { "Exact" } else { "Equivalent" }.into()),
            namespace_selector,
            object_selector: registration.object_selector,
            rules: Some(resources.iter().map(rule).collect()),
            side_effects: if none_on_dry_run { "NoneOnDryRun" } else { "None" }.into(),
            timeout_seconds: Some(timeout),
        })
    }

    fn mutating(&self, entry: ValidatingWebhook) -> MutatingWebhook {
        let path = entry.client_config.service.as_ref().and_then(|service| service.path.as_ref());
        let reinvoked = path.and_then(|path| self.registrations.get(path)).is_some_and(|it| it.reinvoked);
        MutatingWebhook {
            admission_review_versions: entry.admission_review_versions,
            client_config: entry.client_config,
            failure_policy: entry.failure_policy,
            match_conditions: entry.match_conditions,
            match_policy: entry.match_policy,
            name: entry.name,
            namespace_selector: entry.namespace_selector,
            object_selector: entry.object_selector,
            reinvocation_policy: Some(if reinvoked { "IfNeeded" } else { "Never" }.into()),
            rules: entry.rules,
            side_effects: entry.side_effects,
            timeout_seconds: entry.timeout_seconds,
        }
    }

    fn resources(&self, admission: &Admission) -> Vec<Resources> {
        let registered = self.registrations.get(&admission.path).map(|it| it.resources.clone());
        let registered = registered.filter(|it| !it.is_empty());
        registered.unwrap_or_else(|| admission.resources.iter().cloned().collect())
    }

    /// Whether another handler of this sort is for another version of one of the same resources.
    fn has_other_versions(&self, admission: &Admission) -> bool {
        let own = self.resources(admission);
        let others =
            self.admission.iter().filter(|it| it.sort == admission.sort && it.path != admission.path);
        others.flat_map(|it| self.resources(it)).any(|other| {
            own.iter().any(|own| {
                own.group == other.group
                    && own.versions != other.versions
                    && own.resources.iter().any(|it| other.resources.contains(it))
            })
        })
    }
}

fn operation(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

#[cfg(test)]
#[path = "configurations_tests.rs"]
mod tests;
