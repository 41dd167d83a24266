//! Per-key exponential backoff: how long a key that failed waits for its retry (client-go's
//! `ItemExponentialFailureRateLimiter`, with jitter).

use crate::{capacity::release, delay::MAX_DELAY};
use fastrand::Rng;
use hashbrown::HashMap;
use std::{hash::Hash, time::Duration};

/// The consecutive failures of keys `K`. The delay of a key doubles with each of its failures.
///
/// A key that was deleted and created anew has another uid: its failures begin anew. No clock; all randomness comes from `rng`. Uses memory
/// only for keys whose last run failed.
#[derive(Debug)]
pub(crate) struct KeyBackoff<K> {
    failures: HashMap<K, Failures>,
    range: BackoffRange,
    rng: Rng,
}

#[derive(Debug)]
struct Failures {
    uid: Option<Box<str>>,
    count: u32,
}

/// The delay after the first failure, and the maximum delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackoffRange {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
}

impl Default for BackoffRange {
    fn default() -> Self {
        Self { min: Duration::from_millis(5), max: Duration::from_secs(1000) }
    }
}

impl<K: Eq + Hash> KeyBackoff<K> {
    pub(crate) fn new(range: BackoffRange, rng: Rng) -> Self {
        Self { failures: HashMap::new(), range, rng }
    }

    /// Counts one more failure of the object with this key and uid, and returns the delay of its retry.
    ///
    /// Jitter shortens the delay by up to one half, so that keys that fail together are not retried together.
    pub(crate) fn next_delay(&mut self, key: K, uid: Option<&str>) -> Duration {
        let previous = self.failures(&key, uid);
        let full = self.range.delay_after(previous);
        let delay = full.mul_f64(0.5 + self.rng.f64() / 2.0);
        let failures = Failures { uid: uid.map(Into::into), count: previous.saturating_add(1) };
        self.failures.insert(key, failures);
        delay.min(full)
    }

    /// The consecutive failures of the object with this key and uid.
    pub(crate) fn failures(&self, key: &K, uid: Option<&str>) -> u32 {
        self.failures.get(key).filter(|failures| failures.uid.as_deref() == uid).map_or(0, |it| it.count)
    }

    /// Resets the failure count of `key`.
    pub(crate) fn forget(&mut self, key: &K) {
        // Mostly nothing has failed, and then no key is hashed.
        if !self.failures.is_empty() {
            self.failures.remove(key);
            release(&mut self.failures);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.failures.len()
    }
}

impl BackoffRange {
    /// The delay without jitter of a key that had failed `previous` times before.
    fn delay_after(self, previous: u32) -> Duration {
        let factor = 2_u32.checked_pow(previous).unwrap_or(u32::MAX);
        self.min.saturating_mul(factor).min(self.max).min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn backoff(seed: u64) -> KeyBackoff<&'static str> {
        KeyBackoff::new(BackoffRange::default(), fastrand::Rng::with_seed(seed))
    }

    #[test]
    fn the_default_delays_double_from_5_ms_to_1000_s() {
        let delays =
            [0, 1, 2, 17, 18, 31, 32, u32::MAX].map(|previous| BackoffRange::default().delay_after(previous));
        let expected = [5, 10, 20, 655_360, 1_000_000, 1_000_000, 1_000_000, 1_000_000];
        assert_eq!(delays, expected.map(Duration::from_millis));
    }

    #[test]
    fn delays_are_capped_at_ten_years() {
        let range = BackoffRange { min: Duration::MAX, max: Duration::MAX };
        assert_eq!(range.delay_after(0), MAX_DELAY);
        let mut backoff = KeyBackoff::new(range, fastrand::Rng::with_seed(1));
        assert!(backoff.next_delay("key", None) >= MAX_DELAY / 2);
    }

    #[test]
    fn each_key_backs_off_alone_and_forgetting_it_resets_the_delay() {
        let mut backoff = backoff(1);
        for _ in 0..10 {
            backoff.next_delay("bad", None);
        }
        assert!(backoff.next_delay("other", None) <= Duration::from_millis(5));
        assert!(backoff.next_delay("bad", None) >= Duration::from_millis(5 << 9));
        backoff.forget(&"bad");
        assert!(backoff.next_delay("bad", None) <= Duration::from_millis(5));
        backoff.forget(&"bad");
        backoff.forget(&"other");
        assert_eq!(backoff.len(), 0, "a key without failures uses no memory");
    }

    #[test]
    fn another_object_with_the_same_key_starts_anew() {
        let mut backoff = backoff(1);
        for _ in 0..20 {
            backoff.next_delay("key", Some("first"));
        }
        assert_eq!(
            (backoff.failures(&"key", Some("first")), backoff.failures(&"key", Some("second"))),
            (20, 0)
        );
        assert!(backoff.next_delay("key", Some("second")) <= Duration::from_millis(5));
        assert_eq!((backoff.failures(&"key", Some("second")), backoff.len()), (1, 1));
    }

    #[test]
    fn keys_that_do_not_fail_any_more_take_little_memory() {
        let mut backoff = KeyBackoff::new(BackoffRange::default(), fastrand::Rng::with_seed(1));
        let memory = allocation_counter::measure(|| {
            for key in 0..10_000 {
                backoff.next_delay(key, Some("uid"));
            }
            (0..10_000).for_each(|key| backoff.forget(&key));
        });
        assert!(memory.bytes_current < 10_000, "{memory:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_delay_is_between_half_and_all_of_the_exponential_delay(seed in any::<u64>(), failures in 1..60_u32) {
            let mut backoff = backoff(seed);
            for previous in 0..failures {
                let (delay, full) = (backoff.next_delay("key", None), BackoffRange::default().delay_after(previous));
                prop_assert!(delay >= full / 2 && delay <= full, "{:?} of {:?}", delay, full);
            }
        }

        #[test]
        fn jitter_spreads_the_retries_of_keys_that_fail_together(seed in any::<u64>()) {
            let mut backoff = KeyBackoff::new(BackoffRange::default(), fastrand::Rng::with_seed(seed));
            let delays: std::collections::BTreeSet<_> = (0..20).map(|key| backoff.next_delay(key, None)).collect();
            prop_assert!(delays.len() > 10);
        }
    }
}
