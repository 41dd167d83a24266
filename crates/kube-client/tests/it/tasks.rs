//! How many tasks are alive.

use std::time::Duration;

/// Waits until at most this many tasks are alive.
pub(crate) async fn wait_for_tasks(tasks: usize) {
    for _ in 0..500 {
        if alive_tasks() <= tasks {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} tasks are alive, expected {tasks}", alive_tasks());
}

pub(crate) fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}
