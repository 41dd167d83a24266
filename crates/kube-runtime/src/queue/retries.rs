//! How long a key that failed waits for its next try.

use crate::delay::MAX_DELAY;
use ahash::AHashMap;
use fastrand::Rng;
use std::{hash::Hash, time::Duration};

/// Waiting times of keys `K`, each doubling with every further failure of its key.
///
/// Pure: what is random about it follows from `random`. Costs memory only for keys that keep failing.
#[derive(Debug)]
pub(crate) struct Retries<K> {
    failures: AHashMap<K, u32>,
    limits: RetryLimits,
    random: Rng,
}

/// Between which bounds waiting times grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryLimits {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { first: Duration::from_millis(5), longest: Duration::from_secs(1000) }
    }
}

impl<K: Eq + Hash> Retries<K> {
    pub(crate) fn new(limits: RetryLimits, random: Rng) -> Self {
        Self { failures: AHashMap::new(), limits, random }
    }

    /// Notes one more failure of `key`: how long it shall wait. Between a half and the whole of its present step, so
    /// that what failed together does not come back together.
    pub(crate) fn failed(&mut self, key: K) -> Duration {
        let earlier = self.failures.get(&key).copied().unwrap_or(0);
        let whole = self.limits.step(earlier);
        let wait = whole.mul_f64(0.5 + self.random.f64() / 2.0);
        self.failures.insert(key, earlier.saturating_add(1));
        wait.min(whole)
    }

    /// Starts over with `key`.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    #[cfg(test)]
    fn known(&self) -> usize {
        self.failures.len()
    }
}

impl RetryLimits {
    /// The longest wait after a failure that `earlier` ones came before.
    fn step(self, earlier: u32) -> Duration {
        let factor = 2_u32.checked_pow(earlier).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest).min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn retries(seed: u64) -> Retries<&'static str> {
        Retries::new(RetryLimits::default(), fastrand::Rng::with_seed(seed))
    }

    #[test]
    fn the_defaults_double_from_5_ms_to_1000_s() {
        let steps = [0, 1, 2, 17, 18, 31, 32, u32::MAX].map(|earlier| RetryLimits::default().step(earlier));
        let expected = [5, 10, 20, 655_360, 1_000_000, 1_000_000, 1_000_000, 1_000_000];
        assert_eq!(steps, expected.map(Duration::from_millis));
    }

    #[test]
    fn waits_without_end_are_cut() {
        let limits = RetryLimits { first: Duration::MAX, longest: Duration::MAX };
        assert_eq!(limits.step(0), MAX_DELAY);
        let mut retries = Retries::new(limits, fastrand::Rng::with_seed(1));
        assert!(retries.failed("key") >= MAX_DELAY / 2);
    }

    #[test]
    fn keys_do_not_wait_for_each_other_and_success_is_a_fresh_start() {
        let mut retries = retries(1);
        for _ in 0..10 {
            retries.failed("bad");
        }
        assert!(retries.failed("other") <= Duration::from_millis(5));
        assert!(retries.failed("bad") >= Duration::from_millis(5 << 9));
        retries.forget(&"bad");
        assert!(retries.failed("bad") <= Duration::from_millis(5));
        retries.forget(&"bad");
        retries.forget(&"other");
        assert_eq!(retries.known(), 0, "what does not fail costs nothing");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_wait_is_between_a_half_and_the_whole_of_its_step(seed in any::<u64>(), failures in 1..60_u32) {
            let mut retries = retries(seed);
            for earlier in 0..failures {
                let (wait, whole) = (retries.failed("key"), RetryLimits::default().step(earlier));
                prop_assert!(wait >= whole / 2 && wait <= whole, "{:?} of {:?}", wait, whole);
            }
        }

        #[test]
        fn keys_that_fail_together_come_back_apart(seed in any::<u64>()) {
            let mut retries = Retries::new(RetryLimits::default(), fastrand::Rng::with_seed(seed));
            let waits: std::collections::BTreeSet<_> = (0..20).map(|key| retries.failed(key)).collect();
            prop_assert!(waits.len() > 10);
        }
    }
}
