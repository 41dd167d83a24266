//! A clock that goes on while the machine is suspended.
//!
//! Others may take a Lease over while this machine sleeps. tokio's clock, `CLOCK_MONOTONIC`, stands still then, so by it the Lease would be
//! valid when the machine wakes up. The difference to `CLOCK_BOOTTIME` is how long it slept. Only Linux tells both; elsewhere this is
//! tokio's clock.

use std::{fmt, sync::Arc, time::Duration};
use tokio::time::{Instant, error::Elapsed, sleep_until, timeout_at};

/// Its instants are those of tokio, later by the time of suspension since it was made.
#[derive(Clone)]
pub(crate) struct Clock {
    suspended: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Clock {
    /// By the clocks of the operating system.
    pub(crate) fn system() -> Self {
        Self::with(system::suspended())
    }

    /// `suspended` returns for how long the machine has been suspended so far.
    pub(crate) fn with(suspended: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { suspended: Arc::new(suspended) }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::now() + (self.suspended)()
    }

    /// The instant in which tokio's clock shows what this one shows at `at`, unless the machine is suspended before.
    pub(crate) fn in_tokio_time(&self, at: Instant) -> Instant {
        at.checked_sub((self.suspended)()).unwrap_or_else(Instant::now)
    }

    /// Late by the time for which the machine is suspended meanwhile.
    pub(crate) async fn sleep_until(&self, at: Instant) {
        sleep_until(self.in_tokio_time(at)).await;
    }

    /// The same holds for the limit.
    pub(crate) async fn timeout_at<F: Future>(&self, at: Instant, future: F) -> Result<F::Output, Elapsed> {
        timeout_at(self.in_tokio_time(at), future).await
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&(self.suspended)()).finish()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    use std::time::Duration;

    /// The time of suspension from now on.
    pub(super) fn suspended() -> impl Fn() -> Duration {
        let before = boot_time_ahead().1;
        move || boot_time_ahead().0.saturating_sub(before)
    }

    /// By how much `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`, at least and at most: the reads are not simultaneous. The difference
    /// between the least and an earlier most one is never more than the machine was suspended.
    fn boot_time_ahead() -> (Duration, Duration) {
        let first = read(ClockId::Monotonic);
        let boot = read(ClockId::Boottime);
        let last = read(ClockId::Monotonic);
        (boot.saturating_sub(last), boot.saturating_sub(first))
    }

    fn read(clock: ClockId) -> Duration {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        let (seconds, nanoseconds) = (u64::try_from(tv_sec), u32::try_from(tv_nsec));
        Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::time::Duration;

    pub(super) fn suspended() -> impl Fn() -> Duration {
        || Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[tokio::test(start_paused = true)]
    async fn it_is_ahead_of_tokio_by_the_time_of_suspension() {
        let seconds = Arc::new(AtomicU64::new(0));
        let slept = Arc::clone(&seconds);
        let clock = Clock::with(move || Duration::from_secs(slept.load(Ordering::Relaxed)));
        let (before, limit) = (clock.now(), clock.now() + Duration::from_secs(10));
        assert_eq!(before, Instant::now());
        seconds.store(4, Ordering::Relaxed);
        assert_eq!(clock.now() - before, Duration::from_secs(4));
        clock.sleep_until(limit).await;
        assert_eq!((clock.now(), before.elapsed()), (limit, Duration::from_secs(6)));
        assert!(clock.timeout_at(limit, std::future::pending::<()>()).await.is_err());
    }

    /// No machine is suspended during a test.
    #[test]
    fn the_clocks_of_a_machine_that_is_not_suspended_do_not_drift() {
        let suspended = system::suspended();
        assert!((0..10_000).all(|_| suspended().is_zero()));
    }
}
