//! What to do next about the certificate: a pure function.
//!
//! ```text
//! issue -> serve ... two thirds of the validity ... stage the next -> inject both CAs -> wait -> promote the next
//!       -> both CAs stay injected until the old certificate expires, so that a replica may serve it until then -> retire the old CA
//! ```

use serde::{Deserialize, Serialize};
use x509_parser::pem::Pem;

use super::generation::{Generation, SKEW, Timestamp};

/// How long both CAs are injected before the first replica serves the new certificate: API servers learn of it by watching.
pub(super) const PROPAGATION: u64 = 60;
/// How long the CAs stay injected that were found there when the state was lost: until each replica has read the new one.
const OVERLAP: u64 = 3600;
/// More than a rotation leaves.
const MAX_FOUND: usize = 4;

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
    /// Issue a certificate and serve it: there is none, or it has expired, or it is not valid yet because a clock was wrong.
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

/// Where a bundle belongs.
#[derive(Clone, Debug, Default)]
pub(super) struct Injected {
    /// The bundles that were found there.
    pub(super) bundles: Vec<Option<String>>,
    /// Some places could not be read or written.
    pub(super) incomplete: bool,
}

/// Decides the next step.
pub(super) fn next_step(
    stored: Option<&Stored>,
    injected: &Injected,
    names: &[String],
    now: Timestamp,
) -> Step {
    let Some(stored) = stored else { return Step::Issue };
    let Stored { serving, next, retired } = stored;
    let is_valid =
        |generation: &Generation| generation.expires > now && generation.issued <= now.saturating_add(SKEW);
    if !is_valid(serving) {
        return Step::Issue;
    }
    if retired.iter().any(|retired| retired.until <= now) {
        let mut stored = stored.clone();
        stored.retired.retain(|retired| retired.until > now);
        return Step::Store(stored.into());
    }
    let third = serving.expires.saturating_sub(serving.issued) / 3;
    let renew_at = serving.issued + 2 * third;
    // More names than wanted are good: replicas of two versions must agree on one certificate.
    let has_names = |generation: &Generation| names.iter().all(|name| generation.names.contains(name));
    let due = renew_at <= now || !has_names(serving);
    let usable = |next: &Next| is_valid(&next.generation) && has_names(&next.generation);
    if due && !next.as_ref().is_some_and(usable) {
        return Step::Stage;
    }
    let bundle = stored.bundle();
    if injected.bundles.iter().any(|found| found.as_ref() != Some(&bundle)) {
        return Step::Inject(bundle);
    }
    match next {
        None => Step::Wait,
        // A place that is out of reach for a moment must get the new CA before it is served; one that is for ever must not hold it up.
        Some(_) if injected.incomplete && now < renew_at + third / 2 => Step::Wait,
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
pub(super) fn issued(
    stored: Option<Stored>,
    step: &Step,
    generation: Generation,
    injected: &Injected,
    now: Timestamp,
) -> Stored {
    match (stored, step) {
        (Some(stored), Step::Stage) => Stored { next: Some(Next { generation, injected: None }), ..stored },
        // The state was lost, but other replicas serve the certificate of before until they have read the new one.
        (None, _) => {
            let until = now.saturating_add(OVERLAP);
            let retired = authorities(injected).into_iter().map(|ca| Retired { ca, until }).collect();
            Stored { retired, ..Stored::new(generation) }
        }
        // The expired certificate is trusted by no one, so there is nothing to overlap.
        _ => Stored::new(generation),
    }
}

/// The CAs that are injected somewhere.
fn authorities(injected: &Injected) -> Vec<String> {
    let mut found = Vec::new();
    for bundle in injected.bundles.iter().flatten() {
        for ca in bundle.split_inclusive("-----END CERTIFICATE-----") {
            let ca = format!("{}\n", ca.trim());
            let is_certificate = Pem::iter_from_buffer(ca.as_bytes())
                .any(|pem| pem.is_ok_and(|pem| pem.label == "CERTIFICATE"));
            if is_certificate && !found.contains(&ca) && found.len() < MAX_FOUND {
                found.push(ca);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
