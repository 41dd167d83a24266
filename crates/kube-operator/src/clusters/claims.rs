//! Which provider has a name: the one that announced it first. No I/O.

use super::{
    event::{ClusterEvent, ClusterSpec},
    name::ClusterName,
};
use std::collections::BTreeMap;

/// The number of a provider.
pub(super) type Source = usize;

/// All names that are announced, each with its claims in the order of their announcement. The first has it.
#[derive(Debug, Default)]
pub(super) struct Claims(BTreeMap<ClusterName, Vec<Claim>>);

#[derive(Debug)]
struct Claim {
    source: Source,
    spec: Box<ClusterSpec>,
}

/// What changes for the fleet.
#[derive(Debug)]
pub(super) enum Change {
    Upsert(Box<ClusterSpec>),
    Remove(ClusterName),
}

/// A provider announces a name that another one has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) name: ClusterName,
    pub(super) source: Source,
    pub(super) holder: Source,
}

impl Claims {
    /// An event of a provider.
    ///
    /// # Errors
    /// Another one has the name; once for each provider and name.
    pub(super) fn apply(&mut self, source: Source, event: ClusterEvent) -> Result<Vec<Change>, Claimed> {
        match event {
            ClusterEvent::Upsert(spec) => self.upsert(source, spec),
            ClusterEvent::Removed(name) => Ok(self.remove(source, name)),
            ClusterEvent::InitDone => Ok(Vec::new()),
        }
    }

    /// Whether this provider has announced the cluster, and how many have the name or get it before: 0 for the one that has it.
    pub(super) fn place(&self, source: Source, name: &ClusterName) -> Option<usize> {
        self.0.get(name)?.iter().position(|claim| claim.source == source)
    }

    fn upsert(&mut self, source: Source, spec: Box<ClusterSpec>) -> Result<Vec<Change>, Claimed> {
        let claims = self.0.entry(spec.name.clone()).or_default();
        match claims.iter().position(|claim| claim.source == source) {
            Some(0) => {
                claims[0].spec = spec.clone();
                Ok(vec![Change::Upsert(spec)])
            }
            Some(later) => {
                claims[later].spec = spec;
                Ok(Vec::new())
            }
            None => {
                let name = spec.name.clone();
                claims.push(Claim { source, spec: spec.clone() });
                match claims[0].source {
                    holder if holder != source => Err(Claimed { name, source, holder }),
                    _ => Ok(vec![Change::Upsert(spec)]),
                }
            }
        }
    }

    fn remove(&mut self, source: Source, name: ClusterName) -> Vec<Change> {
        let Some(claims) = self.0.get_mut(&name) else { return Vec::new() };
        let Some(place) = claims.iter().position(|claim| claim.source == source) else { return Vec::new() };
        claims.remove(place);
        if place > 0 {
            return Vec::new();
        }
        let next = claims.first().map(|claim| Change::Upsert(claim.spec.clone()));
        if next.is_none() {
            self.0.remove(&name);
        }
        // Another provider's cluster of this name is another cluster.
        [Change::Remove(name)].into_iter().chain(next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_client::Config;

    fn name(text: &str) -> ClusterName {
        text.parse().unwrap()
    }

    fn upsert(text: &str, host: &str) -> ClusterEvent {
        ClusterSpec::new(name(text), Config::new(format!("https://{host}").parse().unwrap())).into()
    }

    /// Such as `+east https://a/` and `-east`.
    fn texts(changes: &[Change]) -> Vec<String> {
        let text = |change: &Change| match change {
            Change::Upsert(spec) => format!("+{} {}", spec.name, spec.config.cluster_url),
            Change::Remove(name) => format!("-{name}"),
        };
        changes.iter().map(text).collect()
    }

    #[test]
    fn a_later_claimant_never_replaces_an_earlier_one() {
        let mut claims = Claims::default();
        assert_eq!(texts(&claims.apply(0, upsert("east", "a")).unwrap()), ["+east https://a/"]);
        let claimed = claims.apply(1, upsert("east", "b")).unwrap_err();
        assert_eq!(claimed, Claimed { name: name("east"), source: 1, holder: 0 });
        assert!(claims.apply(1, upsert("east", "c")).unwrap().is_empty(), "the error is returned once");
        assert_eq!(texts(&claims.apply(0, upsert("east", "d")).unwrap()), ["+east https://d/"]);
        assert_eq!(texts(&claims.apply(1, upsert("west", "b")).unwrap()), ["+west https://b/"]);
    }

    #[test]
    fn what_the_holder_removes_goes_to_the_next_claimant_as_another_cluster() {
        let mut claims = Claims::default();
        claims.apply(0, upsert("east", "a")).unwrap();
        claims.apply(1, upsert("east", "b")).unwrap_err();
        claims.apply(2, upsert("east", "c")).unwrap_err();
        claims.apply(1, upsert("east", "b2")).unwrap();
        let removed = claims.apply(0, ClusterEvent::Removed(name("east"))).unwrap();
        assert_eq!(texts(&removed), ["-east", "+east https://b2/"]);
        assert_eq!([0, 1, 2].map(|source| claims.place(source, &name("east"))), [None, Some(0), Some(1)]);
        assert!(claims.apply(2, ClusterEvent::Removed(name("east"))).unwrap().is_empty());
        assert_eq!(texts(&claims.apply(1, ClusterEvent::Removed(name("east"))).unwrap()), ["-east"]);
        assert!(claims.0.is_empty(), "nothing is kept");
    }

    #[test]
    fn what_was_never_announced_can_be_removed() {
        let mut claims = Claims::default();
        assert!(claims.apply(0, ClusterEvent::Removed(name("east"))).unwrap().is_empty());
        claims.apply(0, upsert("east", "a")).unwrap();
        assert!(claims.apply(1, ClusterEvent::Removed(name("east"))).unwrap().is_empty(), "not by another");
    }
}
