//! [`Registration`]: how an API server is to call one admission webhook.

use std::time::Duration;

use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube_core::admission::Operation;

/// What an API server waits at most, and what a configuration may say.
const MAX_TIMEOUT: u64 = 30;

/// How an API server calls one admission webhook: what of a webhook configuration does not follow from the type of the handler.
///
/// Given by path to [`Webhooks::registration`](super::Webhooks::registration), and used by
/// [`Webhooks::configurations`](super::Webhooks::configurations). Without one, the defaults of this type hold.
///
/// ```
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::admission::{AdmissionRequest, Operation};
/// use kube_operator::webhook::{FailurePolicy, Registration, Webhooks, validate_path};
///
/// # async fn check(_: AdmissionRequest<ConfigMap>) -> Result<(), String> { Ok(()) }
/// let registration = Registration::new()
///     .operations([Operation::Create, Operation::Update, Operation::Delete])
///     .failure_policy(FailurePolicy::Ignore)
///     .match_condition("not-kubelets", "!('system:nodes' in request.userInfo.groups)")
///     .timeout(Duration::from_secs(3));
/// let webhooks = Webhooks::new().validate(check).registration(validate_path::<ConfigMap>(), registration);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registration {
    pub(super) operations: Option<Vec<Operation>>,
    pub(super) resources: Vec<Resources>,
    pub(super) failure_policy: FailurePolicy,
    pub(super) exact: Option<bool>,
    pub(super) side_effects_on_dry_run: bool,
    pub(super) reinvoked: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) match_conditions: Vec<MatchCondition>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) object_selector: Option<LabelSelector>,
}

/// What the API server does with a request whose webhook cannot be called or does not answer in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It refuses the request: nothing passes unseen, but nothing can be written while no replica serves. The default. What the operator
    /// itself needs in order to start is [excluded](Registration::namespaces).
    #[default]
    Fail,
    /// It goes on without the webhook.
    Ignore,
}

/// Resources of one API group, such as `deployments` of `apps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resources {
    pub(super) group: String,
    pub(super) versions: Vec<String>,
    pub(super) resources: Vec<String>,
}

impl FailurePolicy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

impl Registration {
    /// Creations and updates, `failurePolicy: Fail`, `sideEffects: None`, a timeout of 10 s, no condition and no selector.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The operations that are reviewed. By default creations and updates.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = Some(operations.into_iter().collect());
        self
    }

    /// Resources that are reviewed, instead of those of the handler's type: for handlers of any kind, and for subresources such as
    /// `deployments/scale`. Further calls add further ones. The core group is `""`; `*` is every group, version or resource.
    #[must_use]
    pub fn resources<T: Into<String>>(
        mut self,
        group: impl Into<String>,
        versions: impl IntoIterator<Item = T>,
        resources: impl IntoIterator<Item = T>,
    ) -> Self {
        let texts = |all: Vec<T>| all.into_iter().map(Into::into).collect();
        self.resources.push(Resources {
            group: group.into(),
            versions: texts(versions.into_iter().collect()),
            resources: texts(resources.into_iter().collect()),
        });
        self
    }

    /// What happens when the webhook cannot be called. By default [`FailurePolicy::Fail`].
    #[must_use]
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.failure_policy = policy;
        self
    }

    /// `matchPolicy: Exact`: only requests for the version of the handler are reviewed. By default the handlers decide: with one for
    /// each of several versions of a kind it is `Exact`, so that each request is reviewed once, and otherwise `Equivalent`, so that the
    /// server converts objects of the other versions.
    #[must_use]
    pub fn exact_match(mut self, exact: bool) -> Self {
        self.exact = Some(exact);
        self
    }

    /// `sideEffects: NoneOnDryRun` instead of `None`: the handler changes something beside the object, except in dry runs, which it
    /// recognizes by [`AdmissionRequest::dry_run`](kube_core::admission::AdmissionRequest::dry_run).
    #[must_use]
    pub fn side_effects_except_on_dry_run(mut self) -> Self {
        self.side_effects_on_dry_run = true;
        self
    }

    /// `reinvocationPolicy: IfNeeded`: a mutating webhook is called again if another one changed the object after it. By default `Never`.
    #[must_use]
    pub fn reinvoked(mut self) -> Self {
        self.reinvoked = true;
        self
    }

    /// How long the API server waits, in whole seconds from 1 to 30, which is what it permits. 10 s by default. The handler has a tenth
    /// less (at most half a second), so that the server reads its answer and not its own timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A CEL expression that must be true for the webhook to be called, with a name for messages. Several must all be true; a server
    /// accepts 64.
    #[must_use]
    pub fn match_condition(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.match_conditions.push(MatchCondition { name: name.into(), expression: expression.into() });
        self
    }

    /// Only objects in namespaces with these labels.
    ///
    /// A webhook with [`FailurePolicy::Fail`] on what the operator needs in order to start (Pods, Secrets, ServiceAccounts, Services,
    /// Leases, Deployments and what belongs to them) has in addition `kubernetes.io/metadata.name NotIn` the namespace of its Service:
    /// while no replica serves, it would keep each from starting. Exclude other namespaces that a cluster needs, such as `kube-system`,
    /// here.
    #[must_use]
    pub fn namespaces(mut self, selector: LabelSelector) -> Self {
        self.namespace_selector = Some(selector);
        self
    }

    /// Only objects with these labels, before or after the change.
    #[must_use]
    pub fn objects(mut self, selector: LabelSelector) -> Self {
        self.object_selector = Some(selector);
        self
    }

    /// The seconds of the timeout, or `None` if a server would refuse them.
    pub(super) fn timeout_seconds(&self) -> Option<i32> {
        let timeout = self.timeout.unwrap_or(Duration::from_secs(10));
        let whole = timeout.subsec_nanos() == 0 && (1..=MAX_TIMEOUT).contains(&timeout.as_secs());
        i32::try_from(timeout.as_secs()).ok().filter(|_| whole)
    }
}
