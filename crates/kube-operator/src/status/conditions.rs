//! Setting the conditions of a status.

use super::{
    check::{InvalidCondition, check_generation, check_reason, check_type, cut_message},
    condition_status::ConditionStatus,
    summary::Summary,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// Sets the conditions in a list of `status.conditions`, as the API conventions demand (and as `meta.SetStatusCondition` does in Go):
///
/// - One condition per type. A changed one keeps its place in the list, a new one is added at the end, the others are not touched.
/// - `lastTransitionTime` changes only when `status` does, not with reason, message or generation.
/// - `observedGeneration` of each condition that is set is the generation that the reconciler has seen.
///
/// An unchanged condition is unchanged to the byte, so that a status with it need not be [written](super::apply_status).
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// use kube_operator::status::{Conditions, Summary};
/// # fn main() -> Result<(), kube_operator::status::InvalidCondition> {
///
/// let mut list: Vec<Condition> = Vec::new(); // of the cached object
/// let generation = Some(3); // its metadata.generation
/// let mut conditions = Conditions::new(&mut list, generation);
/// conditions.set("Synced", true, "ObjectsApplied", "3 objects were applied")?;
/// conditions.set("Available", false, "NoReplicas", "0 of 3 replicas are ready")?;
/// conditions.summarize("Ready", &Summary::default())?;
///
/// assert_eq!(list[2].status, "False");
/// assert_eq!(list[2].reason, "NoReplicas");
/// assert_eq!(list[2].message, "Available: 0 of 3 replicas are ready");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Conditions<'a> {
    list: &'a mut Vec<Condition>,
    generation: Option<i64>,
    now: Time,
}

impl<'a> Conditions<'a> {
    /// Edits `list` at the [current time](kube_client::time::now), which tests can move. `generation` is `metadata.generation` of the
    /// object that was reconciled; `None` for kinds without generations.
    pub fn new(list: &'a mut Vec<Condition>, generation: Option<i64>) -> Self {
        Self::at(list, generation, kube_client::time::now())
    }

    /// Like [`new`](Self::new), with the time of the transitions, for tests. It is rounded down to whole seconds, as the API has them.
    pub fn at(list: &'a mut Vec<Condition>, generation: Option<i64>, now: Timestamp) -> Self {
        let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
        Self { list, generation, now: Time(whole) }
    }

    /// Sets the condition of this type. Returns whether anything changed.
    /// A message of more than 32 768 characters, which servers refuse, is cut.
    ///
    /// # Errors
    ///
    /// [`InvalidCondition`] if a server would reject a field, or if type or reason are not CamelCase. Then nothing was changed.
    pub fn set(
        &mut self,
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<bool, InvalidCondition> {
        let (type_, reason, mut message) = (type_.into(), reason.into(), message.into());
        check_type(&type_)?;
        check_reason(&type_, &reason)?;
        message.truncate(cut_message(&message).len());
        check_generation(&type_, self.generation)?;
        let status = status.into().as_str();
        let Some(at) = self.list.iter().position(|it| it.type_ == type_) else {
            self.list.push(Condition {
                type_,
                status: status.to_owned(),
                reason,
                message,
                observed_generation: self.generation,
                last_transition_time: self.now.clone(),
            });
            return Ok(true);
        };
        let duplicates = self.remove_after(at, &type_);
        let current = &mut self.list[at];
        let before = current.clone();
        if current.status != status {
            status.clone_into(&mut current.status);
            current.last_transition_time = self.now.clone();
        }
        current.reason = reason;
        current.message = message;
        current.observed_generation = self.generation;
        Ok(duplicates || *current != before)
    }

    /// Sets the condition `type_`, such as `Ready`, to the summary of the others. Returns whether anything changed.
    ///
    /// Call it after all others are set.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn summarize(&mut self, type_: &str, summary: &Summary) -> Result<bool, InvalidCondition> {
        let (status, reason, message) = summary.of_conditions(type_, self.list, self.generation);
        self.set(type_, status, reason, message)
    }

    /// Removes the condition of this type. Returns whether there was one.
    pub fn remove(&mut self, type_: &str) -> bool {
        let before = self.list.len();
        self.list.retain(|it| it.type_ != type_);
        self.list.len() != before
    }

    /// The condition of this type.
    #[must_use]
    pub fn get(&self, type_: &str) -> Option<&Condition> {
        self.list.iter().find(|it| it.type_ == type_)
    }

    /// Whether the condition of this type is `True`. False if there is none.
    #[must_use]
    pub fn is_true(&self, type_: &str) -> bool {
        self.get(type_).is_some_and(|it| ConditionStatus::of(it) == ConditionStatus::True)
    }

    /// Removes conditions of the type behind `at`, which a list with the key `type` must not have. Returns whether there were any.
    fn remove_after(&mut self, at: usize, type_: &str) -> bool {
        let (before, mut index) = (self.list.len(), 0);
        self.list.retain(|it| {
            index += 1;
            index <= at + 1 || it.type_ != type_
        });
        self.list.len() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::ToSpan;

    fn start() -> Timestamp {
        "2030-01-01T00:00:00.75Z".parse().unwrap()
    }

    fn later(seconds: i64) -> Timestamp {
        start() + seconds.seconds()
    }

    fn at(list: &mut Vec<Condition>, generation: i64, seconds: i64) -> Conditions<'_> {
        Conditions::at(list, Some(generation), later(seconds))
    }

    fn lines(list: &[Condition]) -> Vec<String> {
        let line = |it: &Condition| {
            let Condition { type_, status, reason, message, observed_generation, last_transition_time } = it;
            let generation = observed_generation.unwrap_or(-1);
            format!("{type_} {status} {reason} {message:?} @{generation} {}", last_transition_time.0)
        };
        list.iter().map(line).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_transition_moves_with_paused_time() {
        let mut list = Vec::new();
        let mut set = |status: bool| {
            Conditions::new(&mut list, None).set("Ready", status, "Counted", "").unwrap();
            list[0].last_transition_time.0
        };
        let before = set(true);
        tokio::time::advance(std::time::Duration::from_secs(3600)).await;
        assert!((3599..=3601).contains(&set(false).duration_since(before).as_secs()));
    }

    #[test]
    fn the_transition_time_changes_with_the_status_only() {
        let mut list = Vec::new();
        assert_eq!(at(&mut list, 1, 0).set("Ready", false, "Starting", "0 of 1"), Ok(true));
        assert_eq!(lines(&list), ["Ready False Starting \"0 of 1\" @1 2030-01-01T00:00:00Z"]);
        assert_eq!(at(&mut list, 2, 60).set("Ready", false, "StillStarting", "0 of 2"), Ok(true));
        assert_eq!(lines(&list), ["Ready False StillStarting \"0 of 2\" @2 2030-01-01T00:00:00Z"]);
        assert_eq!(at(&mut list, 2, 120).set("Ready", true, "Started", ""), Ok(true));
        assert_eq!(lines(&list), ["Ready True Started \"\" @2 2030-01-01T00:02:00Z"]);
    }

    #[test]
    fn setting_the_same_again_changes_nothing() {
        let mut list = Vec::new();
        at(&mut list, 1, 0).set("Ready", None::<bool>, "Starting", "").unwrap();
        let before = serde_json::to_string(&list).unwrap();
        assert_eq!(at(&mut list, 1, 60).set("Ready", ConditionStatus::Unknown, "Starting", ""), Ok(false));
        assert_eq!(serde_json::to_string(&list).unwrap(), before);
        assert_eq!(
            at(&mut list, 2, 60).set("Ready", None::<bool>, "Starting", ""),
            Ok(true),
            "a new generation"
        );
    }

    #[test]
    fn the_order_of_the_list_and_other_conditions_are_kept() {
        let mut list = Vec::new();
        for type_ in ["A", "B", "C"] {
            at(&mut list, 1, 0).set(type_, true, "Ok", "").unwrap();
        }
        let others = [list[0].clone(), list[2].clone()];
        at(&mut list, 2, 60).set("B", false, "Broken", "").unwrap();
        at(&mut list, 2, 60).set("D", true, "Ok", "").unwrap();
        assert_eq!(list.iter().map(|it| &*it.type_).collect::<Vec<_>>(), ["A", "B", "C", "D"]);
        assert_eq!([list[0].clone(), list[2].clone()], others);
        let mut conditions = at(&mut list, 2, 60);
        assert!(conditions.remove("C") && !conditions.remove("C"));
        assert!(conditions.is_true("A") && !conditions.is_true("B") && !conditions.is_true("C"));
        assert_eq!(lines(&list).len(), 3);
    }

    #[test]
    fn duplicates_of_a_type_are_removed_when_it_is_set() {
        let mut list = Vec::new();
        at(&mut list, 1, 0).set("A", true, "Ok", "").unwrap();
        list.extend([list[0].clone(), Condition { type_: "B".into(), ..list[0].clone() }, list[0].clone()]);
        assert_eq!(at(&mut list, 1, 0).set("A", true, "Ok", ""), Ok(true), "the list has changed");
        assert_eq!(list.iter().map(|it| &*it.type_).collect::<Vec<_>>(), ["A", "B"]);
    }

    #[test]
    fn a_message_that_is_too_long_is_cut() {
        let mut list = Vec::new();
        let mut conditions = at(&mut list, 1, 0);
        conditions.set("Ready", true, "Ok", "ä".repeat(32_769)).unwrap();
        assert_eq!(conditions.set("Ready", true, "Ok", "ä".repeat(40_000)), Ok(false));
        conditions.set("Synced", true, "Ok", "ä".repeat(32_768)).unwrap();
        assert!(list.iter().all(|it| it.message.chars().count() == 32_768));
    }

    #[test]
    fn an_invalid_condition_changes_nothing() {
        let mut list = Vec::new();
        let mut conditions = Conditions::at(&mut list, Some(-1), start());
        assert_eq!(conditions.set("ready", true, "Ok", "").unwrap_err().field, "type");
        assert_eq!(conditions.set("Ready", true, "", "").unwrap_err().field, "reason");
        assert_eq!(conditions.set("Ready", true, "Ok", "").unwrap_err().field, "observedGeneration");
        assert!(list.is_empty());
    }

    #[test]
    fn a_status_that_the_api_does_not_know_counts_as_unknown() {
        let mut list = Vec::new();
        at(&mut list, 1, 0).set("A", true, "Ok", "").unwrap();
        list[0].status = "Maybe".into();
        assert_eq!(ConditionStatus::of(&list[0]), ConditionStatus::Unknown);
        assert_eq!(at(&mut list, 1, 60).set("A", None::<bool>, "Ok", ""), Ok(true));
        assert_eq!(lines(&list), ["A Unknown Ok \"\" @1 2030-01-01T00:01:00Z"]);
    }
}
