//! The settings of a member.

use super::rendezvous::PartitionBy;
use crate::leader_election;
use std::time::Duration;

/// Settings that no member can follow.
pub type InvalidConfig = leader_election::InvalidConfig;

/// How a member joins a group.
///
/// The durations default to those of leader election: 15 s, 10 s and 2 s. All members of a group should use the same settings, and must use
/// the same [`PartitionBy`].
#[derive(Debug, Clone)]
pub struct Config {
    pub(super) lease: leader_election::Config,
    pub(super) partition_by: PartitionBy,
}

impl Config {
    /// Joins `group`, whose members have their Leases in `namespace`: names that begin with the name of the group, and the label
    /// `sharding-group`.
    pub fn new(group: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { lease: leader_election::Config::new(group, namespace), partition_by: PartitionBy::default() }
    }

    /// The name of this process in the group. It must be unique, and is part of the name of its Lease.
    ///
    /// Default: `$POD_NAME`, or else the host name (in a pod, its name), then `-` and a random suffix.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.lease = self.lease.identity(identity);
        self
    }

    /// How long the other members count on this one after the last renewal that they saw. Rounded up to whole seconds.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease = self.lease.lease_duration(duration);
        self
    }

    /// A member that could not renew for this long starts no reconcile any more. Running ones are cancelled within the rest of the lease
    /// duration.
    #[must_use]
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.lease = self.lease.renew_deadline(deadline);
        self
    }

    /// The time between two renewals.
    #[must_use]
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.lease = self.lease.retry_period(period);
        self
    }

    /// What decides on the member that reconciles an object. Default: namespace and name.
    #[must_use]
    pub fn partition_by(mut self, partition_by: PartitionBy) -> Self {
        self.partition_by = partition_by;
        self
    }

    /// The identity, as a part of a Lease's name.
    pub(super) fn lease_identity(&self) -> String {
        let identity = self.lease.identity.clone().unwrap_or_else(leader_election::default_identity);
        let allowed =
            |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
        identity.to_ascii_lowercase().chars().map(allowed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_a_part_of_a_name() {
        let config = Config::new("group", "default").identity("Web_0,é");
        assert_eq!(config.lease_identity(), "web-0--");
        let identity = Config::new("group", "default").lease_identity();
        assert!(
            identity.chars().all(|letter| letter.is_ascii_lowercase()
                || letter.is_ascii_digit()
                || ".-".contains(letter))
        );
        assert_ne!(identity, Config::new("group", "default").lease_identity());
    }
}
