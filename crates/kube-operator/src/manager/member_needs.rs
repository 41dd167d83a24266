//! What a program needs on its members: found out by making their controllers for a cluster that is not there.

use super::{
    members::{Members, OnEach, WritesOnEach},
    permissions::NeededRequests,
    triggering::TriggersHub,
};
use crate::{
    clusters::{Cluster, ClusterName},
    rbac::Permissions,
};
use kube_client::Client;
use kube_core::panic::panic_message;
use kube_runtime::controller::Workers;
use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// The name of the cluster that is not there.
const MEMBER: &str = "member";

/// What a program needs on its members.
#[derive(Clone, Default)]
pub(crate) struct MemberNeeds {
    on_each: Vec<OnEach>,
    triggers: Vec<TriggersHub>,
    writes: Vec<WritesOnEach>,
}

impl MemberNeeds {
    pub(super) fn of(members: &Members) -> Self {
        let Members { on_each, triggers, writes, .. } = members;
        Self { on_each: on_each.clone(), triggers: triggers.clone(), writes: writes.clone() }
    }

    /// Whether it does nothing on members.
    pub(crate) fn is_empty(&self) -> bool {
        self.on_each.is_empty() && self.triggers.is_empty() && self.writes.is_empty()
    }

    /// Each part with its permissions, where `client` is that of a member. It is not used for requests.
    ///
    /// # Errors
    /// With what a function of the program panicked.
    pub(crate) fn parts(&self, client: Client) -> Result<Vec<(String, Permissions)>, String> {
        let name = ClusterName::new(MEMBER).map_err(|error| error.to_string())?;
        let cluster = Cluster::new(name, client, BTreeMap::new());
        let parts = catch_unwind(AssertUnwindSafe(|| self.requests(&cluster)));
        let parts = parts.map_err(|panic| panic_message(&*panic).to_owned())?;
        let with_permissions = |(part, needed): (String, NeededRequests)| (part, needed.permissions());
        Ok(parts.into_iter().map(with_permissions).collect())
    }

    fn requests(&self, cluster: &Cluster) -> Vec<(String, NeededRequests)> {
        let lane = Workers::new(0, 0).lane(MEMBER);
        let writes = self.writes.iter().map(|writes| {
            let (of, needed) = writes(cluster);
            (format!("Manager::writes_on_each of {of}"), needed)
        });
        let watches = |part: String, paths: &[String]| {
            let mut needed = NeededRequests::default();
            paths.iter().for_each(|path| needed.add_watch(path));
            (part, needed)
        };
        let controllers = self.on_each.iter().map(|each| {
            let controller = (each.make)(cluster, lane.clone());
            watches(format!("the controller {}", controller.name), &controller.paths)
        });
        let triggers = self.triggers.iter().map(|triggers| {
            let watch = (triggers.make)(cluster);
            watches(format!("the watch {}", watch.work.name), &[watch.path])
        });
        let mut identity = NeededRequests::default();
        identity.add_identity();
        let identity = ("telling clusters apart".to_owned(), identity);
        writes.chain(controllers).chain(triggers).chain([identity]).collect()
    }
}

impl fmt::Debug for MemberNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberNeeds").field("controllers", &self.on_each.len()).finish_non_exhaustive()
    }
}
