//! Objects in a namespace that the same run creates.

use std::collections::HashSet;
use std::time::Duration;

use kube_client::error::Error;
use tokio::time::{Instant, sleep};

use super::resolve::Target;
use super::result::{ObjectError, ObjectOutcome, ObjectResult};
use super::settings::Settings;
use super::write::{Verb, write};
use super::written::Written;

/// A controller gives each new namespace its ServiceAccount `default`, without which pods are refused. It is waited for so long.
const LIMIT: Duration = Duration::from_secs(30);
/// The time between two attempts, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The namespaces that a run has created, or would create.
#[derive(Default)]
pub(super) struct NewNamespaces(HashSet<String>);

impl NewNamespaces {
    pub(super) fn extend(&mut self, names: impl IntoIterator<Item = String>) {
        self.0.extend(names);
    }

    /// The namespace of the object, if it is new.
    pub(super) fn of<'a>(&self, target: &'a Target) -> Option<&'a str> {
        target.id.namespace.as_deref().filter(|namespace| self.0.contains(*namespace))
    }
}

/// The name of the object, if it is a namespace and new.
pub(super) fn created_namespace(result: &ObjectResult) -> Option<String> {
    let is_namespace = (result.id.group.as_str(), result.id.kind.as_str()) == ("", "Namespace");
    (is_namespace && matches!(result.outcome, ObjectOutcome::Created)).then(|| result.id.name.clone())
}

/// Writes an object of a new namespace, again as long as its ServiceAccount is missing.
pub(super) async fn write_in_new_namespace(settings: &Settings, target: &Target, verb: &Verb) -> Written {
    let (until, mut pause) = (Instant::now() + LIMIT, FIRST_PAUSE);
    loop {
        let written = write(settings, target, verb).await;
        if !lacks_service_account(&written) || Instant::now() + pause > until {
            return written;
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Only the text of the server tells it from other refusals.
fn lacks_service_account(written: &Written) -> bool {
    let ObjectOutcome::Failed(ObjectError::Request(Error::Api(status))) = &written.outcome else {
        return false;
    };
    status.is_forbidden() && status.message.contains("error looking up service account")
}
