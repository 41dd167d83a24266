//! [`ClusterStatus`]: how a cluster is, as data.

use super::name::ClusterName;
use serde::{Serialize, Serializer};
use std::{fmt, time::Duration};

/// How a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClusterState {
    /// It waits for its turn to start, is asked who it is, or its first lists are not complete.
    Connecting,
    /// The caches of all its controllers are in sync.
    Synced,
    /// It does not answer, or not in time. It is tried again.
    Unreachable,
    /// It refuses the credentials, or does not permit what the controllers need. It is tried again.
    Forbidden,
    /// Its configuration cannot be used, it is the hub, or a controller ended with an error.
    Failed,
    /// It was removed, and its controllers end.
    Leaving,
}

/// How a cluster is, since when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClusterStatus {
    /// The cluster.
    #[serde(serialize_with = "text")]
    pub name: ClusterName,
    /// How it is.
    pub state: ClusterState,
    /// For how long.
    #[serde(rename = "since_seconds", serialize_with = "seconds")]
    pub since: Duration,
    /// Why, for the states of failure.
    pub reason: Option<String>,
}

/// A cluster that is asked for is not [`Synced`](ClusterState::Synced). `{}` says what it is instead, since when and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterNotReady {
    /// No provider has announced it, or it has left.
    #[error("there is no cluster {0}")]
    Unknown(ClusterName),
    /// It cannot be used now.
    #[error("cluster {} is {} for {} s{}", .0.name, .0.state, .0.since.as_secs(), Reason(.0.reason.as_deref()))]
    State(ClusterStatus),
}

impl ClusterState {
    /// All states.
    pub(super) const ALL: [Self; 6] =
        [Self::Connecting, Self::Synced, Self::Unreachable, Self::Forbidden, Self::Failed, Self::Leaving];

    /// Whether the cluster does not work, and there is a reason.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Unreachable | Self::Forbidden | Self::Failed)
    }
}

struct Reason<'a>(Option<&'a str>);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

impl fmt::Display for ClusterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "connecting",
            Self::Synced => "synced",
            Self::Unreachable => "unreachable",
            Self::Forbidden => "forbidden",
            Self::Failed => "failed",
            Self::Leaving => "leaving",
        })
    }
}

fn text<S: Serializer>(name: &ClusterName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
