//! What `cargo kube dev` does next: a state machine without I/O and without a clock.
//!
//! ```text
//! change ──► settling ──► building ──► registering ──► the old operator stops ──► the new one starts
//!               ▲            │ failed       │ failed
//!               └── change ──┴──────────────┴──► the old operator goes on
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::program::Built;

/// A build begins when the sources were quiet for so long: editors write several files.
const QUIET: Duration = Duration::from_millis(200);
/// And at the latest so long after the first change.
const AT_LATEST: Duration = Duration::from_secs(2);
/// How long an operator may take to end: the manager's grace period is 25 s.
const GRACE: Duration = Duration::from_secs(30);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A source has changed.
    Changed,
    /// The build that was begun has ended: with a program, or with the reason why there is none.
    Built(Result<Built, String>),
    /// The server knows the manifests of the program, or the reason why it does not.
    Registered(Result<(), String>),
    /// The operator has ended, in this way.
    Exited(String),
    /// The user wants to end.
    Stop,
    /// [`Machine::deadline`] has come.
    Time,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Build the program.
    Build,
    /// Apply the manifests of the program.
    Register(PathBuf),
    /// Drop the build or the registration.
    Cancel,
    /// Start the operator.
    Start(PathBuf),
    /// Ask the operator to end.
    Terminate,
    /// End the operator.
    Kill,
    /// Tell the user.
    Say(String),
    /// Nothing runs any more: end.
    End,
}

/// What `cargo kube dev` does next.
#[derive(Debug)]
pub(super) struct Machine {
    work: Work,
    operator: Operator,
    /// Whether the server knows the manifests of the last program that was built.
    registered: bool,
    ending: bool,
}

/// Towards the next program.
#[derive(Debug)]
enum Work {
    Idle,
    Settling {
        first: Instant,
        last: Instant,
    },
    /// With whether the sources have changed since.
    Building {
        changed: bool,
    },
    Registering {
        executable: PathBuf,
        changed: bool,
    },
}

#[derive(Debug)]
enum Operator {
    Down,
    Running,
    Stopping {
        /// `None` when it was killed.
        kill_at: Option<Instant>,
        next: Option<PathBuf>,
    },
}

impl Machine {
    /// With the first build.
    pub(super) fn start() -> (Self, Vec<Effect>) {
        let work = Work::Building { changed: false };
        let machine = Self { work, operator: Operator::Down, registered: false, ending: false };
        (machine, vec![Effect::Build])
    }

    /// When [`Event::Time`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let build = match self.work {
            Work::Settling { first, last } => Some((last + QUIET).min(first + AT_LATEST)),
            _ => None,
        };
        let kill = match self.operator {
            Operator::Stopping { kill_at, .. } => kill_at,
            _ => None,
        };
        build.into_iter().chain(kill).min()
    }

    /// Takes an event, and returns what is to be done, in this order.
    pub(super) fn handle(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        match event {
            Event::Stop => self.stop(now),
            Event::Time => self.time(now),
            Event::Exited(how) => self.exited(&how),
            // What is dropped may have sent its result before.
            Event::Changed | Event::Built(_) | Event::Registered(_) if self.ending => Vec::new(),
            Event::Changed => {
                self.changed(now);
                Vec::new()
            }
            Event::Built(result) => self.built(result, now),
            Event::Registered(result) => self.registered(result, now),
        }
    }

    fn changed(&mut self, now: Instant) {
        match &mut self.work {
            Work::Idle => self.work = Work::Settling { first: now, last: now },
            Work::Settling { last, .. } => *last = now,
            Work::Building { changed } | Work::Registering { changed, .. } => *changed = true,
        }
    }

    /// The work has ended; what has changed meanwhile is built next.
    fn settle(&mut self, changed: bool, now: Instant) {
        self.work = if changed { Work::Settling { first: now, last: now } } else { Work::Idle };
    }

    fn built(&mut self, result: Result<Built, String>, now: Instant) -> Vec<Effect> {
        let Work::Building { changed } = self.work else { return Vec::new() };
        match result {
            Err(why) => {
                self.settle(changed, now);
                vec![self.failed(why)]
            }
            // The file that has changed does not belong to the program.
            Ok(Built { fresh: true, .. })
                if self.registered && matches!(self.operator, Operator::Running) =>
            {
                self.settle(changed, now);
                Vec::new()
            }
            Ok(Built { executable, .. }) => {
                self.registered = false;
                self.work = Work::Registering { executable: executable.clone(), changed };
                vec![Effect::Register(executable)]
            }
        }
    }

    fn registered(&mut self, result: Result<(), String>, now: Instant) -> Vec<Effect> {
        let Work::Registering { executable, changed } = std::mem::replace(&mut self.work, Work::Idle) else {
            return Vec::new();
        };
        self.settle(changed, now);
        if let Err(why) = result {
            return vec![self.failed(why)];
        }
        self.registered = true;
        match &mut self.operator {
            Operator::Down => {
                self.operator = Operator::Running;
                vec![Effect::Start(executable)]
            }
            Operator::Running => {
                self.operator = Operator::Stopping { kill_at: Some(now + GRACE), next: Some(executable) };
                vec![Effect::Terminate]
            }
            Operator::Stopping { next, .. } => {
                *next = Some(executable);
                Vec::new()
            }
        }
    }

    fn failed(&self, why: String) -> Effect {
        let then = match self.operator {
            Operator::Running => "the old operator goes on, until the next change",
            _ => "waiting for the next change",
        };
        Effect::Say(format!("{why}; {then}"))
    }

    fn exited(&mut self, how: &str) -> Vec<Effect> {
        match std::mem::replace(&mut self.operator, Operator::Down) {
            Operator::Stopping { next: Some(executable), .. } if !self.ending => {
                self.operator = Operator::Running;
                vec![Effect::Start(executable)]
            }
            _ if self.ending => vec![Effect::End],
            Operator::Running => {
                vec![Effect::Say(format!(
                    "the operator has ended with {how}; it is started again after the next change"
                ))]
            }
            Operator::Stopping { .. } | Operator::Down => Vec::new(),
        }
    }

    fn stop(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        if matches!(self.work, Work::Building { .. } | Work::Registering { .. }) {
            effects.push(Effect::Cancel);
        }
        self.work = Work::Idle;
        match &mut self.operator {
            Operator::Down => effects.push(Effect::End),
            Operator::Running => {
                effects.push(Effect::Terminate);
                self.operator = Operator::Stopping { kill_at: Some(now + GRACE), next: None };
            }
            Operator::Stopping { kill_at, next } => {
                *next = None;
                // The second time, the user does not want to wait.
                if self.ending && kill_at.take().is_some() {
                    effects.push(Effect::Kill);
                }
            }
        }
        self.ending = true;
        effects
    }

    fn time(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Operator::Stopping { kill_at, .. } = &mut self.operator
            && kill_at.is_some_and(|at| at <= now)
        {
            *kill_at = None;
            effects.push(Effect::Say(format!(
                "the operator has not ended in {} s: it is killed",
                GRACE.as_secs()
            )));
            effects.push(Effect::Kill);
        }
        if let Work::Settling { first, last } = self.work
            && (last + QUIET).min(first + AT_LATEST) <= now
        {
            self.work = Work::Building { changed: false };
            effects.push(Effect::Build);
        }
        effects
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
