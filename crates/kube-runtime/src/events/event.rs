//! What an event says, its reporter, and the object it is about.

use k8s_openapi::api::core::v1::ObjectReference;
use std::hash::{Hash, Hasher};

/// Something that happened to an object.
///
/// Servers accept at most 1024 bytes for the note, 128 for `action` and `reason`, and 128 for the instance of the [`Reporter`]. What is
/// longer is truncated.
pub struct Event {
    /// Whether it is expected or a problem.
    pub type_: EventType,
    /// Why it happened, as one word in upper camel case, such as `ScalingReplicaSet`.
    pub reason: String,
    /// What happened, as text for people.
    pub note: Option<String>,
    /// What was done, as one word in upper camel case, such as `Scaling`.
    pub action: String,
    /// A second object that is involved.
    pub secondary: Option<ObjectReference>,
}

/// Whether an event is expected or a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Expected: for information only.
    Normal,
    /// A problem that may need attention.
    Warning,
}

impl EventType {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The component that publishes events.
///
/// ```
/// use kube_runtime::events::Reporter;
///
/// let reporter = Reporter::from("example.com/foo-controller");
/// assert_eq!(reporter.instance, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reporter {
    /// The name of the controller, qualified by a domain, such as `example.com/foo-controller`.
    pub controller: String,
    /// The instance of the controller, such as the pod's name. Default: the name of the controller.
    pub instance: Option<String>,
}

impl From<String> for Reporter {
    fn from(controller: String) -> Self {
        Self { controller, instance: None }
    }
}

impl From<&str> for Reporter {
    fn from(controller: &str) -> Self {
        controller.to_owned().into()
    }
}

/// The object that an event is about. References are equal if all fields but
/// `resourceVersion` are.
#[derive(Clone, Debug)]
pub struct Reference(ObjectReference);

impl Reference {
    fn identity(&self) -> [Option<&str>; 6] {
        let Self(it) = self;
        [&it.api_version, &it.kind, &it.namespace, &it.name, &it.uid, &it.field_path].map(Option::as_deref)
    }
}

impl From<&ObjectReference> for Reference {
    fn from(reference: &ObjectReference) -> Self {
        Self(reference.clone())
    }
}

impl PartialEq for Reference {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Reference {}

impl Hash for Reference {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}
