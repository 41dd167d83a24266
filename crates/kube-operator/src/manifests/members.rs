//! What the members of a fleet need: a ServiceAccount for their kubeconfigs, and its roles.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube_core::ObjectMeta;
use serde_json::Value;

use super::{
    error::ManifestsError,
    objects::check_name,
    offline::offline_client,
    placement::{Objects, Placement, metadata},
    roles,
    settings::Manifests,
};
use crate::rbac::Permissions;

impl Manifests {
    /// What [`for_members`](Self::for_members) installs on each member, in the order in which it can be applied; nothing without that.
    /// [Edits](Self::edit) are of the other objects.
    ///
    /// # Errors
    /// As [`granted_on_members`](Self::granted_on_members), and for a namespace that is none.
    pub fn member_objects(&self) -> Result<Vec<Value>, ManifestsError> {
        let granted = self.granted_on_members()?;
        let Some(namespace) = self.members.clone() else { return Ok(Vec::new()) };
        check_name("the name of the operator", &self.name)?;
        check_name("the namespace on members", &namespace)?;
        let placement =
            Placement { namespace: namespace.clone(), watched: BTreeMap::new(), watched_text: String::new() };
        let mut objects = Objects::default();
        objects.add(&Namespace {
            metadata: ObjectMeta { name: Some(namespace), ..ObjectMeta::default() },
            ..Namespace::default()
        })?;
        objects.add(&ServiceAccount { metadata: metadata(self, &placement), ..ServiceAccount::default() })?;
        // The member may be the hub of another one, or a member of two hubs: each of those has its own namespace there.
        let roles = format!("{}:{}", placement.namespace, self.name);
        roles::bound(self, &roles, &granted, &placement, &mut objects)?;
        Ok(objects.into_list())
    }

    /// What the roles of members permit, as [`granted`](Self::granted) says of those of the hub: nothing without
    /// [`for_members`](Self::for_members).
    ///
    /// # Errors
    /// If the manager does nothing on members, if a function that makes a controller panics, or if there are
    /// [permissions on members](Self::permissions_on_members) and no manifests for them.
    pub fn granted_on_members(&self) -> Result<Permissions, ManifestsError> {
        let further = self.further_on_members.clone();
        let Some(namespace) = &self.members else {
            return match further.is_empty() {
                true => Ok(further),
                false => Err(ManifestsError::inconsistent(
                    "there are permissions on members",
                    "expected Manifests::for_members",
                )),
            };
        };
        let needs = &self.facts.members;
        if needs.is_empty() {
            let expected = "expected a manager with controller_on_each, reconciler_on_each, trigger_hub or writes_on_each";
            return Err(ManifestsError::inconsistent("there are manifests for members", expected));
        }
        let parts = needs.parts(offline_client(namespace)).map_err(|panic| {
            let expected =
                format!("expected functions that can make them for any cluster; one panicked: {panic}");
            ManifestsError::inconsistent("the controllers of members", expected)
        })?;
        Ok(parts.into_iter().map(|(_, permissions)| permissions).fold(further, Permissions::union))
    }
}
