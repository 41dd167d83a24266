//! Plans as text: what a report prints, and a regression test has.

use std::{fmt, str::FromStr};

use super::{
    EditFault, EventFault, EventPlace, Injection, Operation, Place, Plan, RequestFault, RunFault, StepFault,
    Verb, edit,
};

/// A text that is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no plan: {expected}")]
pub struct PlanError {
    text: String,
    expected: String,
}

/// What stands before the place of a request.
const REQUESTS: [(RequestFault, &str); 12] = [
    (RequestFault::CrashBefore, "crash before"),
    (RequestFault::CrashAfter, "crash after"),
    (RequestFault::CrashDown, "crash and stay down after"),
    (RequestFault::Lost, "lost answer of"),
    (RequestFault::Conflict, "409 for"),
    (RequestFault::TooManyRequests, "429 for"),
    (RequestFault::Refused, "500 for"),
    (RequestFault::OtherWriter, "another writer before"),
    (RequestFault::Late, "late arrival of"),
    (RequestFault::LateByAStep, "arrival after the next step of"),
    (RequestFault::Slow, "slow answer of"),
    (RequestFault::Upgrade, "upgrade right after"),
];

/// What stands before the place of an event.
const EVENTS: [(EventFault, &str); 4] = [
    (EventFault::Lag, "lag of 20 s from"),
    (EventFault::LongLag, "lag of 600 s from"),
    (EventFault::LagDwell, "lag of 600 s without a step from"),
    (EventFault::Unseen, "unseen"),
];

/// What stands before the number of a step.
const STEPS: [(StepFault, &str); 7] = [
    (StepFault::Restart, "restart after step"),
    (StepFault::Down, "down after step"),
    (StepFault::StaleRestart, "restart onto an old cache after step"),
    (StepFault::LostLease, "lost lease after step"),
    (StepFault::Evicted, "evicted pod after step"),
    (StepFault::WebhookAway, "webhook away after step"),
    (StepFault::Upgrade, "upgrade after step"),
];

const RUNS: [(RunFault, &str); 2] = [
    (RunFault::SlowGarbageCollection, "slow garbage collection"),
    (RunFault::SlowWorkloads, "slow workloads"),
];

/// Between the faults of a plan.
const THEN: &str = ", then ";

fn phrase<T: PartialEq>(table: &[(T, &'static str)], fault: &T) -> &'static str {
    table.iter().find(|(other, _)| other == fault).map_or("", |(_, text)| text)
}

/// The fault that the text begins with, and the rest.
fn fault<'t, T: Copy>(table: &[(T, &'static str)], text: &'t str) -> Option<(T, &'t str)> {
    table.iter().find_map(|(fault, phrase)| {
        let rest = text.strip_prefix(phrase)?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| (*fault, rest.trim_start()))
    })
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(fault, place) => write!(f, "{} {place}", phrase(&REQUESTS, fault)),
            Self::Event(fault, place) => write!(f, "{} {place}", phrase(&EVENTS, fault)),
            Self::Step(fault, step) => write!(f, "{} {step}", phrase(&STEPS, fault)),
            Self::Edit(edit) => write!(f, "{edit}"),
            Self::Run(fault) => f.write_str(phrase(&RUNS, fault)),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no fault");
        }
        let texts: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(THEN))
    }
}

impl From<Plan> for String {
    fn from(plan: Plan) -> Self {
        plan.to_string()
    }
}

impl TryFrom<String> for Plan {
    type Error = PlanError;

    fn try_from(text: String) -> Result<Self, PlanError> {
        text.parse()
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if text.trim() == "no fault" {
            return Ok(Self::default());
        }
        let one = |part: &str| {
            injection(part.trim()).map_err(|expected| PlanError { text: text.to_owned(), expected })
        };
        Ok(Self(text.split(THEN).map(one).collect::<Result<_, _>>()?))
    }
}

fn injection(text: &str) -> Result<Injection, String> {
    if let Some((fault, rest)) = fault(&REQUESTS, text) {
        return Ok(Injection::Request(fault, place(rest)?));
    }
    if let Some((fault, rest)) = fault(&STEPS, text) {
        let step = rest.parse().map_err(|_| format!("expected the number of a step, not {rest:?}"))?;
        return Ok(Injection::Step(fault, step));
    }
    if let Some(edit) = edit::parse(text) {
        return Ok(Injection::Edit(edit?));
    }
    if let Some((fault, "")) = fault(&RUNS, text) {
        return Ok(Injection::Run(fault));
    }
    // The longest phrase first: one is the begin of another.
    let mut events = EVENTS;
    events.sort_by_key(|(_, phrase)| std::cmp::Reverse(phrase.len()));
    if let Some((fault, rest)) = fault(&events, text) {
        return Ok(Injection::Event(fault, event(rest)?));
    }
    Err(format!("expected it to begin with one of: {}", phrases().collect::<Vec<_>>().join("; ")))
}

/// What a fault begins with, for each.
fn phrases() -> impl Iterator<Item = &'static str> {
    let requests = REQUESTS.map(|(_, phrase)| phrase).into_iter().chain(EVENTS.map(|(_, phrase)| phrase));
    let steps = requests.chain(STEPS.map(|(_, phrase)| phrase));
    steps.chain(EditFault::phrases()).chain(RUNS.map(|(_, phrase)| phrase))
}

fn place(text: &str) -> Result<Place, String> {
    let expected = || {
        let verbs = Verb::ALL.map(Verb::name).join(", ");
        format!(
            "expected a request such as `update configmaps a #1` after the fault, not {text:?}; verbs are {verbs}"
        )
    };
    let words: Vec<_> = text.split(' ').collect();
    let [verb, resource, name, nth] = words.as_slice() else { return Err(expected()) };
    let verb = Verb::ALL.into_iter().find(|known| known.name() == *verb).ok_or_else(expected)?;
    let nth = number(nth).ok_or_else(expected)?;
    let (resource, name) = ((*resource).to_owned(), (*name).to_owned());
    Ok(Place { operation: Operation { verb, resource, name }, nth })
}

fn event(text: &str) -> Result<EventPlace, String> {
    let expected = || {
        format!("expected an event such as `added a #1 of watch configmaps` after the fault, not {text:?}")
    };
    let (event, watch) = text.split_once(" of watch ").ok_or_else(expected)?;
    let words: Vec<_> = event.split(' ').collect();
    let [kind @ ("added" | "modified" | "deleted"), object, nth] = words.as_slice() else {
        return Err(expected());
    };
    let nth = number(nth).ok_or_else(expected)?;
    Ok(EventPlace { kind: (*kind).to_owned(), watch: watch.to_owned(), object: (*object).to_owned(), nth })
}

/// `#3`
fn number(text: &str) -> Option<usize> {
    text.strip_prefix('#')?.parse().ok().filter(|nth| *nth > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;

    #[test]
    fn plans_are_read_as_they_are_written() {
        let place = "update pages.example.com/status shop/a-* #2";
        let event = "modified a #1 of watch configmaps in shop?labelSelector=app%3Da";
        let texts = REQUESTS.iter().map(|(_, phrase)| format!("{phrase} {place}"));
        let texts = texts.chain(EVENTS.iter().map(|(_, phrase)| format!("{phrase} {event}")));
        let texts = texts.chain(STEPS.iter().map(|(_, phrase)| format!("{phrase} 0")));
        let texts = texts.chain(RUNS.iter().map(|(_, phrase)| (*phrase).to_owned()));
        let texts: Vec<_> = texts.chain(["no fault".to_owned()]).collect();
        for text in &texts {
            let plan: Plan = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.to_string(), *text);
        }
        let two = format!("{}{THEN}{}", texts[0], texts[1]);
        assert_eq!(two.parse::<Plan>().unwrap().0.len(), 2);
    }

    /// The reference of the book has an example of each fault, with its family.
    #[test]
    fn each_fault_is_in_the_reference() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/reference/plans.md");
        let page = std::fs::read_to_string(page).unwrap();
        let row = |line: &'static str| line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `");
        let examples: Vec<_> = page.leak().lines().filter_map(row).collect();
        for (text, family) in &examples {
            let plan: Plan = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let families: Vec<_> = plan.families().into_iter().map(Family::name).collect();
            assert_eq!((plan.to_string().as_str(), families), (*text, vec![*family]));
        }
        for phrase in phrases() {
            let is_example = |text: &str| text == phrase || text.starts_with(&format!("{phrase} "));
            assert!(examples.iter().any(|(text, _)| is_example(text)), "no example of {phrase:?}");
        }
        for family in Family::ALL {
            assert!(
                examples.iter().any(|(_, name)| *name == family.name()),
                "no example of {}",
                family.name()
            );
        }
    }

    #[test]
    fn what_is_no_plan_says_what_was_expected() {
        let error = |text: &str| text.parse::<Plan>().unwrap_err().to_string();
        assert!(error("earthquake").contains("expected it to begin with one of: crash before; crash after"));
        assert!(
            error("500 for secrets a #1").contains("expected a request such as `update configmaps a #1`")
        );
        assert!(error("500 for get secrets a #0").contains("expected a request"));
        assert!(error("unseen changed a #1 of watch pods").contains("expected an event such as"));
        assert!(error("restart after step two").contains("expected the number of a step, not \"two\""));
    }
}
