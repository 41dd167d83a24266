//! Whether what the stores of a controller show is of the clusters to which their clients lead.

use crate::controller::observe::Observer;
use kube_client::reconcile::cluster_changes;

/// No reconcile may write to one cluster what it has read of another. Costs one comparison of a number as long as clients stay where they
/// are.
#[derive(Debug, Default)]
pub(super) struct ShownClusters {
    /// How often clients had been led to other clusters when all watches were known to show the present ones.
    changes: u64,
}

impl ShownClusters {
    /// Whether each watch shows the cluster to which its client leads.
    pub(super) fn are_present(&mut self, observer: &Observer) -> bool {
        let changes = cluster_changes();
        if self.changes != changes && observer.watches_show_present_clusters() {
            self.changes = changes;
        }
        self.changes == changes
    }

    /// Whether that is to be asked again.
    pub(super) fn may_have_changed(&self) -> bool {
        self.changes != cluster_changes()
    }
}
