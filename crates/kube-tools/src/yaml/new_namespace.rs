//! Objects in a namespace that is new: the same run creates it, or an earlier one has just created it.

use std::collections::HashSet;
use std::time::Duration;

use kube_client::error::Error;
use tokio::time::{Instant, sleep};

use super::places::Places;
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

/// Writes an object; again, as long as it is refused because its namespace is so new that it has no ServiceAccount.
pub(super) async fn write_patiently(
    settings: &Settings,
    places: &Places,
    target: &Target,
    verb: &Verb,
    is_new: bool,
) -> Written {
    let (until, mut pause) = (Instant::now() + LIMIT, FIRST_PAUSE);
    loop {
        let written = write(settings, places, target, verb).await;
        if !lacks_service_account(&written, target, is_new) || Instant::now() + pause > until {
            return written;
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Only the text of the server tells it from other refusals. Every namespace gets the ServiceAccount `default`, so one that lacks it is
/// new, whoever has created it.
fn lacks_service_account(written: &Written, target: &Target, is_new: bool) -> bool {
    let ObjectOutcome::Failed(ObjectError::Request(Error::Api(status))) = &written.outcome else {
        return false;
    };
    let lacks = |account: &str| {
        status.is_forbidden()
            && status.message.contains(&format!("error looking up service account {account}"))
    };
    let namespace = target.id.namespace.as_deref().unwrap_or_default();
    lacks(&format!("{namespace}/default:")) || is_new && lacks("")
}
