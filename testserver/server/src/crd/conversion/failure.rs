//! Why objects were not converted, and what a server responds then.

use http::StatusCode;

use crate::{
    scheme::Endpoint,
    status_error::{Cause, Details, StatusError},
    storage::Stored,
    webhook::{Interruption, WebhookCall},
};

/// Why objects were not converted.
#[derive(Debug)]
pub(crate) enum Unconverted {
    /// A webhook has to be called first.
    NeedsWebhook(Box<WebhookCall>),
    Failed {
        /// The place of the object that failed. `None`: all of them.
        at: Option<usize>,
        why: String,
    },
}

impl From<WebhookCall> for Unconverted {
    fn from(call: WebhookCall) -> Self {
        Self::NeedsWebhook(Box::new(call))
    }
}

/// The failure for an object that is not stored.
impl From<Unconverted> for Interruption {
    fn from(unconverted: Unconverted) -> Self {
        unconverted.or(|_, why| StatusError::unexplained(why))
    }
}

impl Unconverted {
    /// The failure to read a stored object.
    pub(crate) fn in_read(self, endpoint: &Endpoint, object: &Stored) -> Interruption {
        self.or(|_, why| StatusError::internal(corrupt("", endpoint, object, &why)))
    }

    /// The failure to read an object that is written, or was just written.
    pub(crate) fn in_write(self, object: &Stored) -> Interruption {
        self.or(|_, why| StatusError::unexplained(undecodable(object, &why)))
    }

    /// The failure to list these objects.
    pub(crate) fn in_list<S: AsRef<Stored>>(self, endpoint: &Endpoint, objects: &[S]) -> Interruption {
        self.or(|at, why| {
            let failed = match at {
                Some(at) => objects.get(at..=at),
                None => Some(objects),
            };
            unlisted(endpoint, failed.unwrap_or_default(), &why)
        })
    }

    /// The failure to start a watch, for which a genuine server has to list all objects of the kind.
    pub(crate) fn in_watch<S: AsRef<Stored>>(self, endpoint: &Endpoint, objects: &[S]) -> Interruption {
        match self.in_list(endpoint, objects) {
            Interruption::Refused(unlisted) => {
                let why = format!(
                    "storage is (re)initializing: failed to list <unspecified>: {}",
                    unlisted.message
                );
                let again = Details { retry_after_seconds: 1, ..Details::default() };
                StatusError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", why).about(again).into()
            }
            needed @ Interruption::NeedsWebhook(_) => needed,
        }
    }

    fn or(self, refusal: impl FnOnce(Option<usize>, String) -> StatusError) -> Interruption {
        match self {
            Self::NeedsWebhook(call) => Interruption::NeedsWebhook(call),
            Self::Failed { at, why } => refusal(at, why).into(),
        }
    }
}

fn undecodable(object: &Stored, why: &str) -> String {
    format!("object not decodable revision={}: {why}", object.revision)
}

/// `registry` is where the storage has the objects.
fn corrupt(registry: &str, endpoint: &Endpoint, object: &Stored, why: &str) -> String {
    let key = key(registry, endpoint, object);
    let why = undecodable(object, why);
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    )
}

fn key(registry: &str, endpoint: &Endpoint, object: &Stored) -> String {
    format!("{registry}/{}/{}/{}", endpoint.group(), endpoint.plural(), object.key)
}

fn unlisted<S: AsRef<Stored>>(endpoint: &Endpoint, failed: &[S], why: &str) -> StatusError {
    const REGISTRY: &str = "/registry";
    let cause = |object: &S| Cause {
        reason: "UnexpectedServerResponse".into(),
        message: corrupt(REGISTRY, endpoint, object.as_ref(), why),
        field: key(REGISTRY, endpoint, object.as_ref()),
    };
    let causes: Vec<Cause> = failed.iter().map(cause).collect();
    let (group, plural) = (endpoint.group(), endpoint.plural());
    let mut message = format!("failed to read one or more {plural}.{group} from the storage: ");
    message += causes.first().map_or(why, |first| &first.message);
    if causes.len() > 1 {
        message += &format!(" (and {} more)", causes.len() - 1);
    }
    StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "StorageReadError", message).about(Details {
        name: "list".into(),
        group: group.into(),
        kind: plural.into(),
        causes,
        ..Details::default()
    })
}
