//! The fault rules of a server: which rule a request hits, and how often each was hit.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;

use super::{Fault, Match};
use crate::route::RequestInfo;

/// The fault rules of one server, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultRules(Arc<Mutex<Vec<RuleEntry>>>);

#[derive(Debug)]
struct RuleEntry {
    matching: Match,
    fault: Fault,
    count: Arc<Mutex<Count>>,
}

#[derive(Debug)]
struct Count {
    matched: u64,
    hit: u64,
    rng_state: u64,
}

/// A rule of a server: counts its hits and can be removed. Dropping it changes nothing.
#[derive(Clone)]
pub struct FaultRule {
    rules: FaultRules,
    count: Arc<Mutex<Count>>,
}

impl FaultRules {
    pub(crate) fn add(&self, matching: Match, fault: Fault) -> FaultRule {
        let count = Arc::new(Mutex::new(Count { matched: 0, hit: 0, rng_state: matching.seed() }));
        self.0.lock().push(RuleEntry { matching, fault, count: count.clone() });
        FaultRule { rules: self.clone(), count }
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// The fault of the first rule that hits a request. Later rules do not count the request.
    pub(crate) fn matching_fault(&self, request: impl FnOnce() -> RequestInfo) -> Option<Fault> {
        let rules = self.0.lock();
        if rules.is_empty() {
            return None;
        }
        let request = request();
        let hit = rules.iter().find(|rule| rule.matching.covers(&request) && rule.count());
        hit.map(|rule| rule.fault.clone())
    }
}

impl RuleEntry {
    fn count(&self) -> bool {
        let mut count = self.count.lock();
        count.matched += 1;
        let random = next_random(&mut count.rng_state);
        let hits = self.matching.hits(count.matched, random);
        count.hit += u64::from(hits);
        hits
    }
}

impl FaultRule {
    /// The number of requests hit so far.
    pub fn hits(&self) -> u64 {
        self.count.lock().hit
    }

    /// Removes the rule. Faults in progress continue: a stalled request stays stalled.
    pub fn remove(&self) {
        self.rules.0.lock().retain(|rule| !Arc::ptr_eq(&rule.count, &self.count));
    }
}

impl fmt::Debug for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultRule").field("hits", &self.hits()).finish_non_exhaustive()
    }
}

/// SplitMix64, as a number in [0, 1).
fn next_random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(u32::MAX);
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching_fault(rules: &FaultRules) -> Option<Fault> {
        rules.matching_fault(|| RequestInfo { verb: "get".into(), path: "/version".into(), resource: None })
    }

    #[test]
    fn the_first_matching_rule_applies_and_counts() {
        let rules = FaultRules::default();
        let first = rules.add(Match::any().nth(2), Fault::Cut);
        let second = rules.add(Match::any().times(1), Fault::Stall);
        assert!(matches!(matching_fault(&rules), Some(Fault::Stall)));
        assert!(matches!(matching_fault(&rules), Some(Fault::Cut)));
        assert!(matching_fault(&rules).is_none());
        assert_eq!((first.hits(), second.hits()), (1, 1));
        let third = rules.add(Match::any(), Fault::Reset);
        assert!(matching_fault(&rules).is_some());
        third.remove();
        assert!(matching_fault(&rules).is_none());
        assert_eq!(third.hits(), 1);
    }

    #[test]
    fn random_hits_are_uniform_and_reproducible() {
        let hits = |seed| {
            let rules = FaultRules::default();
            rules.add(Match::any().chance(0.25, seed), Fault::Cut);
            (0..4000).map(|_| matching_fault(&rules).is_some()).collect::<Vec<_>>()
        };
        let count = hits(7).iter().filter(|hit| **hit).count();
        assert!((850..1150).contains(&count), "{count}");
        assert_eq!(hits(7), hits(7));
        assert_ne!(hits(7), hits(8));
    }
}
