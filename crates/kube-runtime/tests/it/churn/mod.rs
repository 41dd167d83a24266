//! A controller that is kept busy loses nothing, and lets nobody wait for what is not urgent. A smaller version of
//! `cargo run --release -p kube-runtime --example churn`, by the clock of the test: the waiting times are those of the queue.

mod load;

use load::{Plan, run};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn changes_do_not_wait_for_everything_else() {
    fastrand::seed(7);
    // Ten at a time, 5 ms each: room for 2000 reconciles a second.
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
    // All are reconciled once more meanwhile, which takes seconds; changes overtake them.
    assert!(report.relisted >= Duration::from_millis(1500), "{report:?}");
    // Those that nobody could see before the watch was back waited for its pause, and for nothing else of the list.
    assert!(report.relist.max <= Duration::from_millis(1400), "{report:?}");
}
