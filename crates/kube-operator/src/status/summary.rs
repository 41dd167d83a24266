//! One condition computed from others.

use super::{
    check::{MAX_MESSAGE, MAX_REASON, is_reason},
    condition_status::ConditionStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeSet;

/// How a condition such as `Ready` follows from the others: see [`Conditions::summarize`](super::Conditions::summarize).
///
/// | of the others | status of the summary | reason | message |
/// |---|---|---|---|
/// | at least one is bad | `False` | the reasons of the bad ones | type and message of each bad one |
/// | none is bad, at least one unknown | `Unknown` | the reasons of the unknown ones | type and message of each unknown one |
/// | there are some, and all are good | `True` | `AllConditionsMet` | their types |
/// | there are none | `Unknown` | `NoConditions` | |
///
/// `False` is bad, except for types that are declared as [abnormal if true](Self::abnormal_if_true): there `True` is bad. A condition
/// whose `observedGeneration` is behind the object's generation is unknown, because it describes an older state.
///
/// Several reasons are separated by commas, in the order of the list and each once.
///
/// ```
/// use kube_operator::status::{Conditions, Summary};
/// # fn main() -> Result<(), kube_operator::status::InvalidCondition> {
///
/// let ready = Summary::default().abnormal_if_true(["Degraded"]).requiring(["Available"]);
/// let mut list = Vec::new();
/// let mut conditions = Conditions::new(&mut list, None);
/// conditions.set("Degraded", false, "AllReplicasHealthy", "")?;
/// conditions.summarize("Ready", &ready)?;
/// assert_eq!(list[1].status, "Unknown");
/// assert_eq!(list[1].message, "Available: it was not reported yet");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Summary {
    abnormal_if_true: BTreeSet<String>,
    required: Vec<String>,
    only_required: bool,
    ignored: BTreeSet<String>,
}

/// What a condition contributes.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Health {
    Good,
    Bad,
    Unknown,
}

/// A condition that is not good.
struct Cause<'a> {
    type_: &'a str,
    reason: Option<&'a str>,
    message: String,
}

impl Summary {
    /// Conditions of these types are bad when they are true, such as `Degraded` or `Stalled`.
    #[must_use]
    pub fn abnormal_if_true(mut self, types: impl IntoIterator<Item: Into<String>>) -> Self {
        self.abnormal_if_true.extend(types.into_iter().map(Into::into));
        self
    }

    /// Conditions of these types count as unknown while they are missing. All others in the list count too.
    #[must_use]
    pub fn requiring(mut self, types: impl IntoIterator<Item: Into<String>>) -> Self {
        self.required.extend(types.into_iter().map(Into::into));
        self
    }

    /// Like [`requiring`](Self::requiring), and no others count.
    #[must_use]
    pub fn requiring_only(self, types: impl IntoIterator<Item: Into<String>>) -> Self {
        Self { only_required: true, ..self.requiring(types) }
    }

    /// Conditions of these types do not count, such as another summary, or one that only informs.
    #[must_use]
    pub fn ignoring(mut self, types: impl IntoIterator<Item: Into<String>>) -> Self {
        self.ignored.extend(types.into_iter().map(Into::into));
        self
    }

    /// Status, reason and message of the summary `type_` of `list`.
    pub(super) fn of_conditions(
        &self,
        type_: &str,
        list: &[Condition],
        generation: Option<i64>,
    ) -> (ConditionStatus, String, String) {
        let counted: Vec<&Condition> =
            list.iter().filter(|it| it.type_ != type_ && self.counts(&it.type_)).collect();
        let missing = self.required.iter().filter(|required| counted.iter().all(|it| it.type_ != **required));
        let mut unknown: Vec<Cause<'_>> = missing.map(|type_| not_reported(type_)).collect();
        let mut bad = Vec::new();
        for condition in &counted {
            match self.health(condition, generation) {
                Health::Good => {}
                Health::Bad => bad.push(cause(condition, None)),
                Health::Unknown => unknown.push(cause(condition, generation)),
            }
        }
        if !bad.is_empty() {
            (ConditionStatus::False, reasons(&bad, "ConditionsNotMet"), messages(&bad))
        } else if !unknown.is_empty() {
            (ConditionStatus::Unknown, reasons(&unknown, "ConditionsUnknown"), messages(&unknown))
        } else if counted.is_empty() {
            (ConditionStatus::Unknown, "NoConditions".to_owned(), String::new())
        } else {
            let types: Vec<&str> = counted.iter().map(|it| &*it.type_).collect();
            (ConditionStatus::True, "AllConditionsMet".to_owned(), limited(types.join(", ")))
        }
    }

    fn counts(&self, type_: &str) -> bool {
        !self.ignored.contains(type_) && (!self.only_required || self.required.iter().any(|it| it == type_))
    }

    fn health(&self, condition: &Condition, generation: Option<i64>) -> Health {
        if is_outdated(condition, generation) {
            return Health::Unknown;
        }
        let bad = ConditionStatus::from(self.abnormal_if_true.contains(&condition.type_));
        match ConditionStatus::of(condition) {
            ConditionStatus::Unknown => Health::Unknown,
            status if status == bad => Health::Bad,
            _ => Health::Good,
        }
    }
}

fn is_outdated(condition: &Condition, generation: Option<i64>) -> bool {
    matches!((condition.observed_generation, generation), (Some(observed), Some(current)) if observed < current)
}

fn not_reported(type_: &str) -> Cause<'_> {
    Cause { type_, reason: None, message: "it was not reported yet".to_owned() }
}

fn cause(condition: &Condition, generation: Option<i64>) -> Cause<'_> {
    let message = match (condition.observed_generation, generation) {
        (Some(observed), Some(current)) if observed < current => {
            format!("it is outdated: it describes generation {observed}, the object is at {current}")
        }
        _ if condition.message.is_empty() => condition.reason.clone(),
        _ => condition.message.clone(),
    };
    // Another controller may have written a reason that the schema of its own kind allows.
    Cause { type_: &condition.type_, reason: Some(&*condition.reason).filter(|it| is_reason(it)), message }
}

/// The distinct reasons, separated by commas: the schema allows them within a reason.
fn reasons(causes: &[Cause<'_>], fallback: &str) -> String {
    let mut joined = String::new();
    let mut seen = BTreeSet::new();
    for reason in causes.iter().filter_map(|cause| cause.reason) {
        if seen.insert(reason) && joined.len() + 1 + reason.len() <= MAX_REASON {
            joined.push_str(if joined.is_empty() { "" } else { "," });
            joined.push_str(reason);
        }
    }
    // CamelCase is required of a summary even if another controller starts its reason with a lower-case letter.
    let usable = joined.starts_with(|first: char| first.is_ascii_uppercase());
    if usable { joined } else { fallback.to_owned() }
}

fn messages(causes: &[Cause<'_>]) -> String {
    let lines: Vec<String> =
        causes.iter().map(|Cause { type_, message, .. }| format!("{type_}: {message}")).collect();
    limited(lines.join("; "))
}

/// Cuts off what is longer than a message may be.
fn limited(message: String) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        None => message,
        Some(_) => message.chars().take(MAX_MESSAGE - 1).chain(['…']).collect(),
    }
}
