//! The task that watches definitions and runs discovery.

use super::{
    availability::Discovered,
    definitions::{Change, changes},
    schedule::{Answer, Schedule},
    wanted::Shared,
};
use crate::delay::until;
use futures::StreamExt;
use kube_client::Discovery;
use kube_core::{ApiResource, GroupVersionKind, discovery::ApiCapabilities};
use std::{pin::pin, sync::Arc};
use tokio::time::Instant;

/// Does not end.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut schedule = Schedule::new(Instant::now());
    let mut changes = pin!(changes(&shared.client));
    let mut refused = [false; 2];
    let mut is_failing = false;
    loop {
        tokio::select! {
            biased;
            () = shared.asked.notified() => schedule.asked(Instant::now()),
            Some((watch, change)) = changes.next() => {
                let now = Instant::now();
                refused[watch] = change == Change::Refused;
                match change {
                    Change::Defined(group) if shared.wants(&group) => schedule.defined(now),
                    Change::Deleted(group) if shared.wants(&group) => {
                        shared.deleted(&group);
                        schedule.changed(now);
                    }
                    Change::Listed => schedule.changed(now),
                    Change::Defined(_) | Change::Deleted(_) | Change::Refused => {}
                }
                schedule.set_blind(refused.contains(&true), now);
            }
            () = until(schedule.next()) => {
                let answer = discover(&shared, &mut is_failing).await;
                schedule.discovered(answer, Instant::now());
            }
        }
    }
}

/// `is_failing`: whether the log says that it fails.
async fn discover(shared: &Shared, is_failing: &mut bool) -> Answer {
    shared.mapper.invalidate();
    match shared.mapper.discovery().await {
        Ok(discovery) => {
            if std::mem::take(is_failing) {
                tracing::info!("discovery works again");
            }
            shared.answered(&*discovery)
        }
        Err(error) => {
            if !std::mem::replace(is_failing, true) {
                tracing::warn!(%error, "discovery failed, and is retried until it works: which kinds are served is as before");
            }
            Answer::Unclear
        }
    }
}

impl Discovered for Discovery {
    fn resource(&self, gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)> {
        self.resolve_gvk(gvk)
    }

    fn versions(&self, group: &str) -> Vec<String> {
        self.get(group).into_iter().flat_map(|group| group.versions().map(str::to_owned)).collect()
    }

    fn has_failed(&self, group: &str) -> bool {
        self.failed_groups().any(|failed| failed == group)
    }
}
