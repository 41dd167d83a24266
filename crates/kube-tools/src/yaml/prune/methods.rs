//! The methods of [`Applier`] and [`Report`] about pruning.

use crate::apply_set::{ApplySet, ApplySetError, PrunedObject};
use crate::yaml::applier::Applier;
use crate::yaml::report::Report;

impl Applier {
    /// After a successful [`apply`](Self::apply), deletes the objects that were applied with this set before and are not among those of the
    /// run, as `kubectl apply --prune --applyset` does; both may take turns. [`ApplySet`] has the rules and the permissions. By default
    /// nothing is pruned.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_client::api::PatchParams;
    /// use kube_tools::apply_set::ApplySet;
    /// use kube_tools::yaml::{Applier, Objects};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let applier = Applier::new(client).prune(ApplySet::secret("default", "shop"));
    /// let map = |name: &str| Objects::parse(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}"));
    /// applier.apply(&map("old")?, &PatchParams::apply("my-script")).await.into_result()?;
    /// let report = applier.apply(&map("new")?, &PatchParams::apply("my-script")).await;
    /// assert_eq!(report.to_string(), "configmap/new created\nconfigmap/old pruned\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Ordering
    /// Before the first object is written, the parent of the set records all kinds and namespaces; its own namespace has to exist. Objects
    /// are pruned last: after all others were written, and are ready if the run [waits for that](Self::wait_ready).
    ///
    /// # Errors
    /// Nothing is pruned after an object that failed or is not ready; a later run finds what is left. If the set is refused, or discovery
    /// cannot tell the kind of an object, no object is written. A member that another object owns is kept: its line is a warning, no error.
    /// [`Report::prune_error`] has the reason. A run without any object is refused, because it would delete all members.
    ///
    /// # Dry run
    /// Prunes nothing, and reports what would be pruned.
    #[must_use]
    pub fn prune(mut self, set: ApplySet) -> Self {
        self.settings.apply_set = Some(set);
        self
    }
}

impl Report {
    /// What was pruned, or would be after a dry run (feature `apply-set`).
    pub fn pruned(&self) -> &[PrunedObject] {
        &self.pruned.objects
    }

    /// Why the apply set was refused, or why objects of it could not be pruned (feature `apply-set`).
    pub fn prune_error(&self) -> Option<&ApplySetError> {
        self.pruned.error.as_ref()
    }
}
