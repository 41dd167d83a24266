//! The settings of a member.

use super::rendezvous::PartitionBy;
use crate::leader_election::{self, MAX_LABEL, MAX_NAME, check_name, is_name};
use std::time::Duration;
use twox_hash::XxHash64;

/// Settings that no member can follow.
pub type InvalidConfig = leader_election::InvalidConfig;

/// How a member joins a group.
///
/// The durations default to those of leader election: 15 s, 10 s and 2 s. All members of a group should use the same settings, and must use
/// the same [`PartitionBy`].
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) lease: leader_election::Config,
    pub(super) partition_by: PartitionBy,
}

impl Config {
    /// Joins `group`, whose members have their Leases in `namespace`: names that begin with the name of the group, and the label
    /// `sharding-group`. A group is at most 63 lower-case letters, digits, `-` and `.`.
    pub fn new(group: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { lease: leader_election::Config::new(group, namespace), partition_by: PartitionBy::default() }
    }

    /// The name of this process in the group. It must be unique, and is part of the name of its Lease. One that cannot be is replaced by a
    /// similar one with a hash: see [`Membership::identity`](super::Membership::identity).
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

    /// Where the Leases are.
    #[cfg(feature = "manager")]
    pub(crate) fn namespace(&self) -> &str {
        &self.lease.namespace
    }

    /// # Errors
    ///
    /// The first setting that no member can follow.
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        let group = &self.lease.name;
        if group.is_empty() {
            return Err(InvalidConfig::Empty { field: "group" });
        }
        check_name("group", group, MAX_LABEL)?;
        self.lease.validate()
    }

    /// The identity, as the end of a Lease's name.
    pub(super) fn lease_identity(&self) -> String {
        match &self.lease.identity {
            Some(identity) => name_part(identity),
            None => name_part(&leader_election::default_identity().to_ascii_lowercase().replace('_', "-")),
        }
    }
}

/// The longest identity that fits into a name after any group.
const MAX_IDENTITY: usize = MAX_NAME - MAX_LABEL - 1;

/// `identity` if it can end the name of an object. Otherwise a similar text that can, with a hash, so that different identities stay
/// different.
fn name_part(identity: &str) -> String {
    if identity.len() <= MAX_IDENTITY && is_name(identity) {
        return identity.to_owned();
    }
    let hash = format!("-{:016x}", XxHash64::oneshot(0, identity.as_bytes()));
    let replaced = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let similar: String =
        identity.to_ascii_lowercase().chars().map(replaced).take(MAX_IDENTITY - hash.len()).collect();
    similar.trim_start_matches('-').to_owned() + &hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_identity_ends_a_valid_name_and_different_ones_differ() {
        let long = "web".repeat(80);
        let given =
            ["web-0", "Web-0", "Web_0,é", "web-0.", ".web-0", "web-0..b", "-", "_", "é", "Web_0;é", &long];
        let names: HashSet<String> = given
            .into_iter()
            .map(|identity| Config::new("group", "default").identity(identity).lease_identity())
            .collect();
        assert_eq!(names.len(), given.len(), "{names:?}");
        for name in &names {
            let lease = format!("{}-{name}", "g".repeat(MAX_LABEL));
            assert!(is_name(&lease) && lease.len() <= MAX_NAME, "{lease}");
        }
        for valid in ["web-0", "web-0.example.com", &"w".repeat(MAX_IDENTITY)] {
            assert_eq!(Config::new("group", "default").identity(valid).lease_identity(), valid);
        }
        let similar = Config::new("group", "default").identity("Web_0,é").lease_identity();
        assert!(similar.starts_with("web-0---"), "{similar}");
    }

    #[test]
    fn default_identities_are_valid_and_differ() {
        let identity = || Config::new("group", "default").lease_identity();
        assert!(is_name(&identity()));
        assert_ne!(identity(), identity());
    }

    #[test]
    fn a_group_that_the_server_would_refuse_is_an_error_that_names_it() {
        let config = |group: &str| Config::new(group, "default").validate();
        assert_eq!(config("my-operator.example.com"), Ok(()));
        assert_eq!(config(&"g".repeat(63)), Ok(()));
        assert_eq!(config(""), Err(InvalidConfig::Empty { field: "group" }));
        for group in ["My-Group", "a_b", "a-", "é", &"g".repeat(64)] {
            let error = config(group).expect_err(group).to_string();
            assert!(error.starts_with(&format!("Lease settings: group is {group:?}, but must ")), "{error}");
            assert!(error.contains("at most 63 characters"), "{error}");
        }
        let identity = Config::new("group", "default").identity("").validate();
        assert_eq!(identity, Err(InvalidConfig::Empty { field: "identity" }));
        let namespace = Config::new("group", "Default").validate().expect_err("capital").to_string();
        assert!(namespace.starts_with("Lease settings: namespace is"), "{namespace}");
    }
}
