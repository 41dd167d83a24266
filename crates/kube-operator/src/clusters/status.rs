//! [`ClusterStatus`]: how a cluster is, as data.

use super::name::ClusterName;
use crate::status::{ConditionStatus, Conditions, InvalidCondition};
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
    /// Its configuration cannot be used, it is the hub, a controller ended with an error, a first list fails although the cluster answers,
    /// such as that of a kind that is not installed, or reconciles do not end although they were aborted, also if it was removed.
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
    /// Why its controllers go on with the configuration before the one that is announced now: that cannot be used, such as a Secret without
    /// a kubeconfig, its address leads to the cluster of another name, or it does not say which cluster it leads to.
    pub outdated: Option<String>,
}

/// A cluster that is asked for is not [`Synced`](ClusterState::Synced). `{}` says what it is instead and why. It does not say for how long:
/// a text that changes each second would be a write each second where it is in a status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterNotReady {
    /// No provider has announced it, or it has left.
    #[error("there is no cluster {0}")]
    Unknown(ClusterName),
    /// It cannot be used now.
    #[error("cluster {} is {}{}", .0.name, .0.state, Reason(.0.reason.as_deref()))]
    State(ClusterStatus),
}

impl ClusterState {
    /// All states.
    pub(super) const ALL: [Self; 6] =
        [Self::Connecting, Self::Synced, Self::Unreachable, Self::Forbidden, Self::Failed, Self::Leaving];

    /// Says that a cluster has this state now.
    pub(super) fn log(self, cluster: &ClusterName, reason: Option<&str>) {
        match reason {
            Some(reason) => tracing::warn!(%cluster, state = %self, reason, "a cluster cannot be used now"),
            None => tracing::info!(%cluster, state = %self, "a cluster changes its state"),
        }
    }

    /// Whether the cluster does not work, and there is a reason.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Unreachable | Self::Forbidden | Self::Failed)
    }
}

impl ClusterStatus {
    /// Sets the condition of this type, such as `EastReady` of an object that is in several clusters: `True` if the cluster is synced,
    /// `False` if it cannot be used, else `Unknown`. The reason is the state, such as `Unreachable`; the message is why, or why its
    /// configuration is [outdated](Self::outdated).
    ///
    /// # Errors
    /// As [`Conditions::set`].
    ///
    /// ```
    /// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    /// use kube_operator::{clusters::{ClusterName, Fleet}, status::Conditions};
    ///
    /// /// The object of the hub that stands for a cluster.
    /// fn show(fleet: &Fleet, name: &ClusterName, conditions: &mut Vec<Condition>) -> Result<(), Box<dyn std::error::Error>> {
    ///     if let Some(status) = fleet.status(name) {
    ///         status.set_condition(&mut Conditions::new(conditions, None), "Ready")?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn set_condition(
        &self,
        conditions: &mut Conditions<'_>,
        type_: &str,
    ) -> Result<bool, InvalidCondition> {
        let (status, reason) = match self.state {
            ClusterState::Synced => (ConditionStatus::True, "Synced"),
            ClusterState::Unreachable => (ConditionStatus::False, "Unreachable"),
            ClusterState::Forbidden => (ConditionStatus::False, "Forbidden"),
            ClusterState::Failed => (ConditionStatus::False, "Failed"),
            ClusterState::Connecting => (ConditionStatus::Unknown, "Connecting"),
            ClusterState::Leaving => (ConditionStatus::Unknown, "Leaving"),
        };
        let message = self.reason.as_ref().or(self.outdated.as_ref());
        conditions.set(type_, status, reason, message.map_or("", String::as_str))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// In a status that is compared and written, another text is another write, and that another event.
    #[test]
    fn the_text_of_a_cluster_that_cannot_be_used_stays_while_it_does_not_change() {
        let text = |seconds| {
            let (name, since) = (ClusterName::new("west").unwrap(), Duration::from_secs(seconds));
            let (state, reason) = (ClusterState::Unreachable, Some("refused".to_owned()));
            ClusterNotReady::State(ClusterStatus { name, state, since, reason, outdated: None }).to_string()
        };
        assert_eq!((text(37), text(38)), (text(38), "cluster west is unreachable: refused".to_owned()));
    }

    #[test]
    fn a_condition_says_how_the_cluster_is_and_why() {
        let mut list = Vec::new();
        let mut set = |state, reason: Option<&str>, outdated: Option<&str>| {
            let (name, since) = (ClusterName::new("east").unwrap(), Duration::ZERO);
            let [reason, outdated] = [reason, outdated].map(|text| text.map(str::to_owned));
            let status = ClusterStatus { name, state, since, reason, outdated };
            let changed = status.set_condition(&mut Conditions::new(&mut list, Some(3)), "Ready").unwrap();
            let condition = &list[0];
            (changed, format!("{} {}: {}", condition.status, condition.reason, condition.message))
        };
        assert_eq!(set(ClusterState::Connecting, None, None), (true, "Unknown Connecting: ".into()));
        assert_eq!(set(ClusterState::Synced, None, None), (true, "True Synced: ".into()));
        assert_eq!(set(ClusterState::Synced, None, None), (false, "True Synced: ".into()));
        let refused = set(ClusterState::Unreachable, Some("connection refused"), Some("busy"));
        assert_eq!(refused, (true, "False Unreachable: connection refused".into()));
        let outdated = set(ClusterState::Synced, None, Some("its new address is not used yet: busy"));
        assert_eq!(outdated, (true, "True Synced: its new address is not used yet: busy".into()));
    }
}
