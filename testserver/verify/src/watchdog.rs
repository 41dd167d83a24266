//! Ends a run in which the operator keeps the thread: a loop without an await, or a call that blocks. Nothing else could end it, as all
//! of a run is on one thread.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// How long the operator may keep the thread, on a slow machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// How often the run shows that it is alive, in its own time.
const BEAT: Duration = Duration::from_secs(30);

thread_local! {
    /// Those of the run of this thread.
    static BEATS: RefCell<Weak<AtomicU64>> = const { RefCell::new(Weak::new()) };
}

/// The run of this thread has done something: a long time of its own may pass slowly.
pub(crate) fn beat_once() {
    if let Some(beats) = BEATS.with_borrow(Weak::upgrade) {
        beats.fetch_add(1, Ordering::Relaxed);
    }
}

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
        BEATS.set(Arc::downgrade(&beats));
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
    let text = format!(
        "\nkube-verify: in the run with the plan `{plan}`, the operator has kept its thread or simulated time for {} s: \
         expected no loop without an await, no call that blocks (`std::thread::sleep`, a lock, I/O of the standard library), \
         and no `spawn_blocking` that takes so long, as simulated time waits for it\n",
        PATIENCE.as_secs()
    );
    // Not `eprintln`, whose text `cargo test` keeps until the end of the test, and here the process ends. Nobody may read it.
    drop(io::stderr().write_all(text.as_bytes()));
    std::process::exit(101);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use kube_testserver::ApiServer;
    use tower::ServiceExt;

    use super::*;
    use crate::{
        gate::{ApiService, Session},
        kinds::Kinds,
        panics::TestFailure,
        plan::Plan,
        state::Names,
    };

    #[test]
    fn a_run_without_a_beat_is_stuck() {
        let (stuck, told) = channel();
        let watchdog = Watchdog::start(Duration::from_millis(20), move || stuck.send(()).unwrap());
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(watchdog);
    }

    #[tokio::test]
    async fn a_request_is_a_beat() {
        let watchdog = Watchdog::start(Duration::from_secs(3600), || {});
        let (server, plan) = (ApiServer::new(), Plan::default());
        let kinds = Kinds::discover(&server).await;
        let session =
            Session::new(server, Names::default(), kinds, &plan, Arc::from([]), TestFailure::default());
        let before = watchdog.beats.load(Ordering::Relaxed);
        let request = Request::get("/api/v1/pods").body(Full::new(Bytes::new())).unwrap();
        ApiService::new(&session, session.incarnation()).oneshot(request).await.unwrap();
        assert!(watchdog.beats.load(Ordering::Relaxed) > before);
    }

    /// This test again, in a process of its own.
    const STUCK: &str = "KUBE_VERIFY_TEST_STUCK";

    #[test]
    fn what_keeps_the_thread_is_told_although_tests_are_captured() {
        if std::env::var_os(STUCK).is_some() {
            let _watchdog = Watchdog::start(Duration::from_millis(20), || end_process("no fault"));
            thread::sleep(Duration::from_secs(60));
            return;
        }
        let test = "watchdog::tests::what_keeps_the_thread_is_told_although_tests_are_captured";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let ended = command.args([test, "--exact"]).env(STUCK, "1").output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert!(
            told.contains("in the run with the plan `no fault`, the operator has kept its thread or"),
            "{told}"
        );
        assert_eq!(ended.status.code(), Some(101));
    }

    #[test]
    fn simulated_time_waits_for_blocking_tasks() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let busy = || (0..10_000).for_each(|_| thread::yield_now());
        let is_first = runtime.block_on(async {
            tokio::select! {
                biased;
                () = tokio::time::sleep(BEAT) => false,
                done = tokio::task::spawn_blocking(busy) => done.is_ok(),
            }
        });
        assert!(is_first, "no beat comes meanwhile");
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
