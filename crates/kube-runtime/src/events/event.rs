//! What is published, by whom, and about what.

use k8s_openapi::api::core::v1::ObjectReference;
use std::hash::{Hash, Hasher};

/// Something that happened to an object.
///
/// The server takes at most 128 bytes of action and reason each. A note longer than 1024 bytes is cut.
pub struct Event {
    /// Whether it is as it should be.
    pub type_: EventType,
    /// Why it happened, as one word in camel case, such as `ScalingReplicaSet`.
    pub reason: String,
    /// What happened, for people.
    pub note: Option<String>,
    /// What was done, as one word in camel case, such as `Scaling`.
    pub action: String,
    /// Another object that had to do with it.
    pub secondary: Option<ObjectReference>,
}

/// Whether an event is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// It is.
    Normal,
    /// Somebody should have a look.
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

/// Who publishes events.
///
/// ```
/// use kube_runtime::events::Reporter;
///
/// let reporter = Reporter::from("example.com/foo-controller");
/// assert_eq!(reporter.instance, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reporter {
    /// The controller, in domain form, such as `example.com/foo-controller`.
    pub controller: String,
    /// Which of its processes, such as the pod's name. `None` publishes the name of the controller instead.
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

/// The object that an event is about, told by kind, name, namespace and uid: its versions are the same object.
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
