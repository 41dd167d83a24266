//! A controller under load loses no change, and reconciles changes before relisted objects. A smaller version of
//! `cargo run --release -p kube-runtime --example churn` under paused time: the latencies are those of the queue.

mod load;

use load::{Plan, run};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn changes_do_not_wait_for_relisted_objects() {
    fastrand::seed(7);
    // Ten at a time, 5 ms each: up to 2000 reconciles per second.
    let plan = Plan {
        objects: 2000,
        rate: 200,
        churn: Duration::from_secs(3),
        work: Duration::from_millis(5),
        concurrency: 10,
    };
    let report = run(plan).await.unwrap();
    assert_eq!(report.lost, 0, "{report:?}");
    assert!(report.filled >= Duration::from_secs(1), "{report:?}");
    assert!(report.churn.count > 400, "{report:?}");
    assert!(report.churn.p50 <= Duration::from_millis(5), "{report:?}");
    assert!(report.churn.p99 <= Duration::from_millis(20), "{report:?}");
    // Meanwhile all objects are reconciled once more, which takes a second. Changes overtake them.
    assert!(report.relisted >= Duration::from_secs(1), "{report:?}");
    // Changes during the gap between two watches wait for the relist, but not until the relisted objects are reconciled.
    assert!(report.relist.max <= Duration::from_millis(300), "{report:?}");
}
