//! The admission plugins that can be switched off, by name.

use std::{fmt, str::FromStr};

/// An admission plugin that can be switched off, under its name in `kube-apiserver --disable-admission-plugins`. All are on by default, as
/// on clusters.
///
/// ```
/// use kube_testserver::AdmissionPlugin;
///
/// assert_eq!("LimitRanger".parse(), Ok(AdmissionPlugin::LimitRanger));
/// let error = "LimitRange".parse::<AdmissionPlugin>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown admission plugin \"LimitRange\": expected one of "));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AdmissionPlugin {
    /// Sets the requests and limits that pods leave out, and refuses pods and claims outside of the limits, by the LimitRanges of their
    /// namespace.
    LimitRanger,
    /// Lets pods run as a service account of their namespace, `default` if they name none, and mounts its token as `kube-api-access-…`. On
    /// with [`BuiltInController::ServiceAccounts`](crate::BuiltInController::ServiceAccounts), which creates the accounts.
    ServiceAccount,
    /// Sets the priority of pods from their PriorityClass, and refuses a second default class.
    Priority,
    /// Lets pods tolerate for five minutes that their node is not ready or not reachable.
    DefaultTolerationSeconds,
    /// Sets the storage class of claims that name none.
    DefaultStorageClass,
    /// Sets overhead, node selector and tolerations of pods from their RuntimeClass, and refuses pods whose class does not exist.
    RuntimeClass,
    /// Sets the class of ingresses that name none.
    DefaultIngressClass,
    /// Evaluates MutatingAdmissionPolicies.
    MutatingAdmissionPolicy,
    /// Calls the webhooks of MutatingWebhookConfigurations.
    MutatingAdmissionWebhook,
    /// Evaluates ValidatingAdmissionPolicies.
    ValidatingAdmissionPolicy,
    /// Calls the webhooks of ValidatingWebhookConfigurations.
    ValidatingAdmissionWebhook,
    /// Refuses writes that exceed a ResourceQuota of their namespace. The status of quotas is up to date with or without it.
    ResourceQuota,
}

impl AdmissionPlugin {
    /// All plugins, in the order in which they see a write.
    pub const ALL: &[Self] = &[
        Self::LimitRanger,
        Self::ServiceAccount,
        Self::Priority,
        Self::DefaultTolerationSeconds,
        Self::DefaultStorageClass,
        Self::RuntimeClass,
        Self::DefaultIngressClass,
        Self::MutatingAdmissionPolicy,
        Self::MutatingAdmissionWebhook,
        Self::ValidatingAdmissionPolicy,
        Self::ValidatingAdmissionWebhook,
        Self::ResourceQuota,
    ];

    /// The name that `kube-apiserver` uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::LimitRanger => "LimitRanger",
            Self::ServiceAccount => "ServiceAccount",
            Self::Priority => "Priority",
            Self::DefaultTolerationSeconds => "DefaultTolerationSeconds",
            Self::DefaultStorageClass => "DefaultStorageClass",
            Self::RuntimeClass => "RuntimeClass",
            Self::DefaultIngressClass => "DefaultIngressClass",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
            Self::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            Self::MutatingAdmissionWebhook => "MutatingAdmissionWebhook",
            Self::ValidatingAdmissionWebhook => "ValidatingAdmissionWebhook",
            Self::ResourceQuota => "ResourceQuota",
        }
    }
}

impl fmt::Display for AdmissionPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is not that of an [`AdmissionPlugin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPlugin(String);

impl fmt::Display for UnknownPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = AdmissionPlugin::ALL.iter().map(|plugin| plugin.name()).collect();
        write!(f, "unknown admission plugin {:?}: expected one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPlugin {}

impl FromStr for AdmissionPlugin {
    type Err = UnknownPlugin;

    fn from_str(name: &str) -> Result<Self, UnknownPlugin> {
        let plugin = Self::ALL.iter().find(|plugin| plugin.name() == name);
        plugin.copied().ok_or_else(|| UnknownPlugin(name.to_owned()))
    }
}
