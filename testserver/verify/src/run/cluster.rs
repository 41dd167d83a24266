//! The cluster of a run.

use std::time::Duration;

use kube_testserver::{ApiServer, Builder, BuiltInController};

use super::times::SLOW;
use crate::{
    panics::TestFailure,
    plan::{Plan, RunFault},
    scenario::Scenario,
};

/// The garbage collector of a cluster is never there at once.
const COLLECTS_AFTER: Duration = Duration::from_secs(4);

/// A server in the same state for the same seed, at another time for another seed.
pub(super) fn server(
    scenario: &Scenario,
    plan: &Plan,
    seed: u32,
    failure: &TestFailure,
) -> Result<(ApiServer, jiff::Timestamp), String> {
    let day = jiff::SignedDuration::from_hours(24 * 37 * i64::from(seed));
    let start = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().map_err(|error| error.to_string())? + day;
    let builder = ApiServer::builder().seed(u64::from(seed)).start_time(start).history(100_000);
    let configured = failure.catch(|| "`cluster`".to_owned(), || (scenario.cluster)(builder));
    let mut builder = configured.ok_or("there is no cluster")?;
    let collects_after = if plan.has(RunFault::SlowGarbageCollection) { SLOW } else { COLLECTS_AFTER };
    if builder.is_on(BuiltInController::GarbageCollection) {
        builder = builder.with_delay(BuiltInController::GarbageCollection, collects_after);
    }
    if plan.has(RunFault::SlowWorkloads) {
        for controller in slow_controllers(&builder) {
            builder = builder.with_delay(controller, SLOW);
        }
    }
    builder.service().map(|server| (server, start)).map_err(|error| chain(&error))
}

/// The controllers of a cluster that bring pods up.
pub(crate) fn slow_controllers(builder: &Builder) -> Vec<BuiltInController> {
    let both = [BuiltInController::Kubelet, BuiltInController::Workloads];
    both.into_iter().filter(|controller| builder.is_on(*controller)).collect()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
