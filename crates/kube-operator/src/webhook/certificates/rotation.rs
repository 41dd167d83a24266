//! What to do next about the certificate: a pure function.
//!
//! ```text
//! issue -> serve ... two thirds of the validity ... stage the next -> inject both CAs -> wait -> promote the next
//!       -> both CAs stay injected until the old certificate expires, so that a replica may serve it until then -> retire the old CA
//! ```

use serde::{Deserialize, Serialize};

use super::generation::{Generation, Timestamp};

/// How long both CAs are injected before the first replica serves the new certificate: API servers learn of it by watching.
pub(super) const PROPAGATION: u64 = 60;

/// The state that all replicas share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// Every replica serves this certificate, as soon as it has read it.
    pub(super) serving: Generation,
    /// Not served yet, but its CA is injected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<Next>,
    /// CAs of certificates that a replica may still serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) retired: Vec<Retired>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Next {
    pub(super) generation: Generation,
    /// When its CA had been injected everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) injected: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Retired {
    pub(super) ca: String,
    /// When its certificate expires.
    pub(super) until: Timestamp,
}

impl Stored {
    pub(super) fn new(serving: Generation) -> Self {
        Self { serving, next: None, retired: Vec::new() }
    }

    /// All CAs to trust, as PEM.
    pub(super) fn bundle(&self) -> String {
        let next = self.next.iter().map(|next| &next.generation.ca);
        let retired = self.retired.iter().map(|retired| &retired.ca);
        std::iter::once(&self.serving.ca).chain(next).chain(retired).map(String::as_str).collect()
    }
}

/// What to do, one step at a time: the state is read again after each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Issue a certificate and serve it: there is none, or it has expired.
    Issue,
    /// Issue the next certificate and store it beside the one that is served.
    Stage,
    /// Store this state.
    Store(Box<Stored>),
    /// Inject the bundle where it differs.
    Inject(String),
    /// Nothing for now.
    Wait,
}

/// Decides the next step. `injected` holds the bundles that were found where one belongs.
pub(super) fn next_step(
    stored: Option<&Stored>,
    injected: &[Option<String>],
    names: &[String],
    now: Timestamp,
) -> Step {
    let Some(stored) = stored else { return Step::Issue };
    let Stored { serving, next, retired } = stored;
    if serving.expires <= now {
        return Step::Issue;
    }
    if retired.iter().any(|retired| retired.until <= now) {
        let mut stored = stored.clone();
        stored.retired.retain(|retired| retired.until > now);
        return Step::Store(stored.into());
    }
    let renew_at = serving.issued + serving.expires.saturating_sub(serving.issued) / 3 * 2;
    // More names than wanted are good: replicas of two versions must agree on one certificate.
    let has_names = |generation: &Generation| names.iter().all(|name| generation.names.contains(name));
    let due = renew_at <= now || !has_names(serving);
    let usable = |next: &Next| next.generation.expires > now && has_names(&next.generation);
    if due && !next.as_ref().is_some_and(usable) {
        return Step::Stage;
    }
    let bundle = stored.bundle();
    if injected.iter().any(|found| found.as_ref() != Some(&bundle)) {
        return Step::Inject(bundle);
    }
    match next {
        None => Step::Wait,
        Some(Next { generation, injected: None }) => {
            let next = Next { generation: generation.clone(), injected: Some(now) };
            Step::Store(Box::new(Stored { next: Some(next), ..stored.clone() }))
        }
        // A clock that was set back must not hold this up for longer than one propagation.
        Some(Next { injected: Some(at), .. }) if now.abs_diff(*at) < PROPAGATION => Step::Wait,
        Some(Next { generation, .. }) => {
            let mut retired = retired.clone();
            retired.push(Retired { ca: serving.ca.clone(), until: serving.expires });
            Step::Store(Box::new(Stored { serving: generation.clone(), next: None, retired }))
        }
    }
}

/// The names of the certificate to issue. A staged one keeps those that other replicas have added.
pub(super) fn names_for(step: &Step, stored: Option<&Stored>, names: &[String]) -> Vec<String> {
    let kept = stored.filter(|_| *step == Step::Stage).into_iter().flat_map(|stored| {
        let staged = stored.next.iter().flat_map(|next| &next.generation.names);
        stored.serving.names.iter().chain(staged)
    });
    let mut all = names.to_vec();
    for name in kept {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

/// The state after a certificate was issued for [`Step::Issue`] or [`Step::Stage`].
pub(super) fn issued(stored: Option<Stored>, step: &Step, generation: Generation) -> Stored {
    match (stored, step) {
        (Some(stored), Step::Stage) => Stored { next: Some(Next { generation, injected: None }), ..stored },
        // The expired certificate is trusted by no one, so there is nothing to overlap.
        _ => Stored::new(generation),
    }
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
