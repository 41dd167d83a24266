//! Ends a run in which the operator keeps the thread: a loop without an await, or a call that blocks. Nothing else could end it, as all
//! of a run is on one thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// How long the operator may keep the thread, on a slow machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// How often the run shows that it is alive, in its own time.
const BEAT: Duration = Duration::from_secs(5);

/// Watches a run until it is dropped.
pub(crate) struct Watchdog {
    beats: Arc<AtomicU64>,
    /// Its end is that of the watch.
    _run: Sender<()>,
}

impl Watchdog {
    /// `stuck` is called, on a thread of its own, if no [`beat`](Self::beat) comes for so long.
    pub(crate) fn start(patience: Duration, stuck: impl FnOnce() + Send + 'static) -> Self {
        let beats = Arc::new(AtomicU64::new(0));
        let (run, ended) = channel::<()>();
        let counted = beats.clone();
        thread::spawn(move || {
            let mut before = counted.load(Ordering::Relaxed);
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(patience) {
                let now = counted.load(Ordering::Relaxed);
                if now == before {
                    return stuck();
                }
                before = now;
            }
        });
        Self { beats, _run: run }
    }

    /// Shows that other tasks get their turn, for as long as it is polled.
    pub(crate) fn beat(&self) -> impl Future<Output = ()> + Send + 'static {
        let beats = self.beats.clone();
        async move {
            loop {
                tokio::time::sleep(BEAT).await;
                beats.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Tells what keeps the thread, and ends the process: a thread cannot be ended.
pub(crate) fn end_process(plan: &str) {
    eprintln!(
        "\nkube-verify: in the run with the plan `{plan}`, the operator has kept its thread for {} s: \
         expected no loop without an await and no call that blocks (`std::thread::sleep`, a lock, I/O of the standard library)\n",
        PATIENCE.as_secs()
    );
    std::process::exit(101);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_beat_is_stuck() {
        let (stuck, told) = channel();
        let watchdog = Watchdog::start(Duration::from_millis(20), move || stuck.send(()).unwrap());
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(watchdog);
    }

    #[test]
    fn a_run_that_beats_or_has_ended_is_not() {
        let (stuck, told) = channel::<()>();
        let watchdog = Watchdog::start(Duration::from_secs(3600), move || drop(stuck));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            tokio::spawn(watchdog.beat());
            tokio::time::sleep(10 * BEAT).await;
        });
        assert!(watchdog.beats.load(Ordering::Relaxed) >= 9);
        drop(watchdog);
        // The thread has ended, and its sender with it.
        assert!(
            told.recv_timeout(Duration::from_secs(60))
                .is_err_and(|error| error == RecvTimeoutError::Disconnected)
        );
    }
}
