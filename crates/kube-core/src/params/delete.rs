//! Deleting objects.

use serde::{Serialize, Serializer};

/// How the garbage collector treats the dependents of a deleted object; on the wire the variant's name.
///
/// ```
/// use kube_core::params::{DeleteParams, PropagationPolicy};
/// use serde_json::to_value;
///
/// assert_eq!(DeleteParams::background().propagation_policy, Some(PropagationPolicy::Background));
/// assert_eq!(to_value(PropagationPolicy::Orphan)?, "Orphan");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum PropagationPolicy {
    /// Dependents stay: the garbage collector removes their owner references before the object is deleted.
    Orphan,
    /// The object is deleted immediately, the dependents afterwards.
    Background,
    /// Dependents are deleted first: the object stays, with a `deletionTimestamp` and the finalizer `foregroundDeletion`, until
    /// those with `blockOwnerDeletion` are gone.
    Foreground,
}

/// The required state of the object; if it differs, the server responds with 409.
///
/// The uid prevents deleting a newer object of the same name, the resourceVersion prevents deleting an object that has
/// changed since it was read.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{ResourceExt, params::{DeleteParams, Preconditions}};
///
/// let read: Pod = serde_json::from_str(r#"{"metadata": {"name": "a", "uid": "f3a1"}}"#)?;
/// let this_one = Preconditions { uid: read.uid(), ..Preconditions::default() };
/// let dp = DeleteParams::default().preconditions(this_one);
/// assert_eq!(serde_json::to_string(&dp)?, r#"{"preconditions":{"uid":"f3a1"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The required `resourceVersion`; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The required uid; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Options of a deletion; serializes as the request body, the `DeleteOptions` of the API.
///
/// The defaults depend on the kind of the object.
///
/// ```
/// use kube_core::params::DeleteParams;
/// assert_eq!(serde_json::to_string(&DeleteParams::default())?, "{}");
/// assert_ne!(DeleteParams::orphan(), DeleteParams::background());
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
    /// The server processes the request, including admission, but deletes nothing; `["All"]` on the wire. Off by default.
    #[serde(serialize_with = "as_list", skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Seconds until forced deletion, 0 for immediately; `None` for the default of the kind: for pods their
    /// `terminationGracePeriodSeconds`, 30 unless set. No other built-in kind has a grace period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    /// How dependents are treated; `None` for the default of the kind, which is background, but orphan for `Job` and
    /// `ReplicationController`: their pods stay by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<PropagationPolicy>,
    /// The required state of the object; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
}

impl DeleteParams {
    /// With [`PropagationPolicy::Background`]: dependents are deleted afterwards.
    pub fn background() -> Self {
        Self::with(PropagationPolicy::Background)
    }

    /// With [`PropagationPolicy::Foreground`]: dependents are deleted first.
    pub fn foreground() -> Self {
        Self::with(PropagationPolicy::Foreground)
    }

    /// With [`PropagationPolicy::Orphan`]: dependents stay.
    pub fn orphan() -> Self {
        Self::with(PropagationPolicy::Orphan)
    }

    /// Sets [`dry_run`](Self::dry_run): nothing is deleted.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Sets [`grace_period_seconds`](Self::grace_period_seconds). With 0, a pod's object is removed while its containers may
    /// still run.
    #[must_use]
    pub fn grace_period(mut self, secs: u32) -> Self {
        self.grace_period_seconds = Some(secs);
        self
    }

    /// Sets the [required state](Preconditions) of the object.
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
