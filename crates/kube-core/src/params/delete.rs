//! Deleting objects.

use serde::{Serialize, Serializer};

/// What becomes of the objects that the deleted one owns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum PropagationPolicy {
    /// They stay and lose their owner.
    Orphan,
    /// The garbage collector deletes them afterwards.
    Background,
    /// They are deleted first; the object stays, marked for deletion, until they are gone.
    Foreground,
}

/// The object is deleted only in this state; otherwise the server answers with a conflict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The expected resource version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The expected uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// How objects are deleted; serializes to the body of the request.
///
/// ```
/// use kube_core::params::DeleteParams;
/// let dp = DeleteParams::foreground().grace_period(5).dry_run();
/// assert_eq!(
///     serde_json::to_value(&dp)?,
///     serde_json::json!({"dryRun": ["All"], "gracePeriodSeconds": 5, "propagationPolicy": "Foreground"}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteParams {
    /// Lets the server do everything but delete.
    #[serde(serialize_with = "as_list", skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Seconds until the object is removed by force, 0 for at once; `None` for the default of the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    /// What becomes of owned objects; `None` for the default of the kind, background for most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<PropagationPolicy>,
    /// The state in which the object must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
}

impl DeleteParams {
    /// Owned objects are deleted afterwards.
    pub fn background() -> Self {
        Self::with(PropagationPolicy::Background)
    }

    /// Owned objects are deleted first.
    pub fn foreground() -> Self {
        Self::with(PropagationPolicy::Foreground)
    }

    /// Owned objects stay.
    pub fn orphan() -> Self {
        Self::with(PropagationPolicy::Orphan)
    }

    /// Lets the server do everything but delete.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Removes the object by force after so many seconds.
    #[must_use]
    pub fn grace_period(mut self, secs: u32) -> Self {
        self.grace_period_seconds = Some(secs);
        self
    }

    /// Deletes only in this state.
    #[must_use]
    pub fn preconditions(mut self, preconditions: Preconditions) -> Self {
        self.preconditions = Some(preconditions);
        self
    }

    fn with(policy: PropagationPolicy) -> Self {
        Self { propagation_policy: Some(policy), ..Self::default() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn as_list<S: Serializer>(dry_run: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    let stages: &[&str] = if *dry_run { &["All"] } else { &[] };
    stages.serialize(serializer)
}
