//! What is configured about admission: the plugins that are on, webhooks, policies, and the sums of quotas.

use std::collections::BTreeSet;

use super::{AdmissionPlugin, Objects, Policies, QuotaLedger, Webhooks};
use crate::{
    scheme::Resource,
    storage::{Change, Key, Storage},
};

/// The API group of webhook configurations and policies.
const HOOKS: &str = "admissionregistration.k8s.io";

/// What decides about writes: the plugins that are on, webhooks and policies as last configured, and what quotas count.
#[derive(Debug)]
pub(crate) struct AdmissionControl {
    /// Those that are on, in the order in which they see a write.
    pub(crate) plugins: Vec<AdmissionPlugin>,
    pub(crate) webhooks: Webhooks,
    pub(crate) policies: Policies,
    pub(crate) quotas: QuotaLedger,
}

impl AdmissionControl {
    pub(crate) fn new(disabled: &BTreeSet<AdmissionPlugin>) -> Self {
        let enabled = AdmissionPlugin::ALL.iter().filter(|plugin| !disabled.contains(plugin));
        Self {
            plugins: enabled.copied().collect(),
            webhooks: Webhooks::default(),
            policies: Policies::default(),
            quotas: QuotaLedger::default(),
        }
    }

    pub(crate) fn admits_by(&self, plugin: AdmissionPlugin) -> bool {
        self.plugins.contains(&plugin)
    }

    /// Whether webhooks or policies may review deletions, connections and subresources too.
    pub(crate) fn reviews_every_request(&self) -> bool {
        !self.webhooks.is_empty() || !self.policies.is_empty()
    }

    /// Counts a change for the quotas, and reads webhooks and policies after a change of their configuration. Returns the quotas whose
    /// status changes.
    pub(crate) fn observe(&mut self, storage: &Storage, resource: &Resource, change: &Change) -> Vec<Key> {
        let quotas = self.record_usage(storage, resource, change);
        if resource.group == HOOKS {
            self.reload(storage);
        }
        quotas
    }

    /// Reads webhooks and policies.
    pub(crate) fn reload(&mut self, storage: &Storage) {
        self.policies = self.read_policies(storage);
        if let (Some(mutating), Some(validating)) = (
            storage.table(HOOKS, "mutatingwebhookconfigurations"),
            storage.table(HOOKS, "validatingwebhookconfigurations"),
        ) {
            self.webhooks = Webhooks::read(&storage.store, mutating, validating);
        }
    }

    /// The policies of the plugins that are on.
    fn read_policies(&self, storage: &Storage) -> Policies {
        let mut policies = Policies::read(self.objects(storage));
        if !self.admits_by(AdmissionPlugin::MutatingAdmissionPolicy) {
            policies.mutating.clear();
        }
        if !self.admits_by(AdmissionPlugin::ValidatingAdmissionPolicy) {
            policies.validating.clear();
        }
        policies
    }

    /// What the plugins read.
    pub(crate) fn objects<'a>(&'a self, storage: &'a Storage) -> Objects<'a> {
        Objects { storage, quotas: &self.quotas }
    }
}
