//! [`Machine`]: decides what a migration does next. No I/O, no clock.
//!
//! It returns one [`Action`] at a time; whoever performs it calls the method for its result. A pass visits all objects, page by page.
//! Between the first look at the definition and the end of the pass, the definition must not change; else there is another pass.

use std::collections::VecDeque;
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::definition::Facts;
use super::error::MigrateError;
use super::failure::Failure;
use super::outcome::{Progress, Refused, Summary};

/// The definition has to be unchanged for so long before a pass begins: servers take a moment until they store objects in a new version.
pub(super) const SETTLE: Duration = Duration::from_secs(5);
/// A definition that changes again and again ends the run.
const MAX_PASSES: u32 = 10;
/// How often a request is sent that fails for a reason that may pass.
const MAX_ATTEMPTS: u32 = 5;
/// The pause after the first attempt; it doubles. A server that asks for more gets it.
const PAUSE: Duration = Duration::from_secs(1);
/// So many refused objects are no exceptions: the cause is the same for all, such as a missing permission.
const MAX_REFUSED: usize = 100;

/// What to do next, and in which method its result goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// [`Machine::definition`]
    ReadDefinition,
    /// Request the page of this token, the first without one: [`Machine::page`]. Objects before `checkpoint` are migrated.
    List { token: Option<String>, checkpoint: Option<Checkpoint> },
    /// Write this object without changing it: [`Machine::written`].
    Write(Target),
    /// Read the metadata of this object: [`Machine::found`].
    Look(Target),
    /// Set `storedVersions` to the storage version, if the definition is still that of these facts: [`Machine::pruned`].
    Prune(Facts),
    /// [`Machine::waited`]
    Wait(Duration),
    /// The end.
    Done(Result<(), Box<End>>),
}

/// Why a run ends before its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    NotFound,
    Definition(String),
    Request { request: String, reason: String },
}

impl End {
    pub(super) fn into_error(self, crd: &str) -> MigrateError {
        let crd = crd.to_owned();
        match self {
            Self::NotFound => MigrateError::NotFound { crd },
            Self::Definition(reason) => MigrateError::Definition { crd, reason },
            Self::Request { request, reason } => MigrateError::Request { request, reason },
        }
    }
}

/// An object as it was listed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Page {
    pub(super) targets: VecDeque<Target>,
    pub(super) token: Option<String>,
    pub(super) remaining: Option<u64>,
}

#[derive(Debug)]
enum State {
    /// The definition is being read.
    Starting,
    /// It was read, and is read again after a while.
    Settling(Facts),
    /// Objects are listed and written.
    Visiting(Pass),
    /// All objects were visited; the definition is being read again.
    Closing(Facts),
}

/// A visit to all objects.
#[derive(Debug)]
struct Pass {
    facts: Facts,
    page: Page,
    /// The token of the page that is being requested is from the response to an expired one.
    replaced_token: bool,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Machine {
    /// The storage version that the caller expects.
    to: Option<String>,
    resume: Option<Checkpoint>,
    state: State,
    /// What was returned last, but for waiting: it is returned again after a failure that may pass.
    last: Action,
    attempts: u32,
    /// How often the status of the definition had changed when it was written.
    prune_conflicts: u32,
    passes: u32,
    progress: Progress,
    summary: Summary,
}

impl Machine {
    pub(super) fn new(to: Option<String>, resume: Option<Checkpoint>) -> Self {
        Self {
            to,
            resume,
            state: State::Starting,
            last: Action::ReadDefinition,
            attempts: 0,
            prune_conflicts: 0,
            passes: 0,
            progress: Progress::default(),
            summary: Summary::default(),
        }
    }

    pub(super) fn start(&mut self) -> Action {
        self.act(Action::ReadDefinition)
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    pub(super) fn into_summary(self) -> Summary {
        self.summary
    }

    /// The definition was read.
    pub(super) fn definition(&mut self, now: Facts) -> Action {
        self.summary.storage_version.clone_from(&now.storage);
        if let Some(to) = self.to.as_ref().filter(|to| **to != now.storage) {
            let reason = format!("expected the storage version {to}, found {}", now.storage);
            return self.end(End::Definition(reason));
        }
        match std::mem::replace(&mut self.state, State::Starting) {
            State::Starting | State::Visiting(_) => self.begin(now),
            State::Settling(before) if before.is_same(&now) => self.visit(now, None),
            State::Closing(before) if before.is_same(&now) => self.close(now),
            State::Settling(before) | State::Closing(before) if before.uid != now.uid => {
                self.end(End::Definition("it was deleted and created again meanwhile".to_owned()))
            }
            State::Settling(_) | State::Closing(_) => self.begin(now),
        }
    }

    /// A page was read.
    pub(super) fn page(&mut self, page: Page) -> Action {
        if let Some(remaining) = page.remaining {
            self.progress.total = Some(self.progress.visited + page.targets.len() as u64 + remaining);
        }
        let pass = self.pass();
        pass.replaced_token = false;
        pass.page = page;
        self.next_object()
    }

    /// The object was written; `changed` if its resourceVersion was.
    pub(super) fn written(&mut self, changed: bool) -> Action {
        *(if changed { &mut self.summary.written } else { &mut self.summary.unchanged }) += 1;
        self.visited()
    }

    /// The metadata of the object was read after a conflict: its uid and resourceVersion.
    pub(super) fn found(&mut self, uid: &str, resource_version: &str) -> Action {
        let Action::Look(target) = &self.last else { unreachable!("invariant: an object was read") };
        if target.uid == uid && target.resource_version == resource_version {
            // Nobody wrote it: the conflict was a webhook's, or is over.
            let target = target.clone();
            self.last = Action::Write(target);
            let message = "a conflict, although nobody changed the object".to_owned();
            return self.failed(&Failure::Temporary { after: None, message });
        }
        self.summary.written_by_others += 1;
        self.visited()
    }

    /// `storedVersions` was set.
    pub(super) fn pruned(&mut self) -> Action {
        if let Action::Prune(facts) = &self.last {
            let others = facts.stored.iter().filter(|version| **version != facts.storage);
            self.summary.removed_versions = others.cloned().collect();
        }
        self.act(Action::Done(Ok(())))
    }

    /// The time is over.
    pub(super) fn waited(&mut self) -> Action {
        self.last.clone()
    }

    /// The request failed.
    pub(super) fn failed(&mut self, failure: &Failure) -> Action {
        match (self.last.clone(), failure) {
            (Action::ReadDefinition | Action::Prune(_), Failure::NotFound) => self.end(End::NotFound),
            (Action::Prune(facts), Failure::Conflict(_)) => self.close_again(facts, failure),
            (Action::List { token: Some(_), .. }, Failure::Expired { token, .. }) => {
                self.list_again(token.clone(), failure)
            }
            (Action::Write(_) | Action::Look(_), Failure::NotFound) => {
                self.summary.deleted += 1;
                self.visited()
            }
            (Action::Write(target), Failure::Conflict(_)) => {
                self.last = Action::Look(target);
                self.last.clone()
            }
            (Action::Write(target) | Action::Look(target), Failure::Refused(message)) => {
                self.refused(target, message)
            }
            (last, Failure::Temporary { .. } | Failure::Conflict(_)) => self.retry(&last, failure),
            (last, failure) => self.give_up(&last, failure),
        }
    }

    /// The status of the definition was changed, or a webhook says so: its version has to be read anew.
    fn close_again(&mut self, facts: Facts, failure: &Failure) -> Action {
        self.prune_conflicts += 1;
        if self.prune_conflicts == MAX_ATTEMPTS {
            return self.give_up(&Action::Prune(facts), failure);
        }
        self.state = State::Closing(facts);
        self.last = Action::ReadDefinition;
        Action::Wait(pause(self.prune_conflicts))
    }

    fn retry(&mut self, last: &Action, failure: &Failure) -> Action {
        self.attempts += 1;
        if self.attempts < MAX_ATTEMPTS {
            let asked = match failure {
                Failure::Temporary { after, .. } => *after,
                _ => None,
            };
            return Action::Wait(asked.unwrap_or_default().max(pause(self.attempts)));
        }
        match last {
            Action::Write(target) | Action::Look(target) => self.refused(target.clone(), failure.message()),
            last => self.give_up(last, failure),
        }
    }

    fn give_up(&mut self, last: &Action, failure: &Failure) -> Action {
        let request = match last {
            Action::ReadDefinition => "the definition".to_owned(),
            Action::Prune(_) => "status.storedVersions of the definition".to_owned(),
            _ => "the list of the objects".to_owned(),
        };
        self.end(End::Request { request, reason: failure.message().to_owned() })
    }

    /// The object stays as it is.
    fn refused(&mut self, target: Target, message: &str) -> Action {
        let Target { namespace, name, .. } = target;
        self.summary.refused.push(Refused { namespace, name, message: message.to_owned() });
        if self.summary.refused.len() < MAX_REFUSED {
            return self.visited();
        }
        let reason = format!("the server refused {MAX_REFUSED} objects, the last with: {message}");
        self.end(End::Request { request: "writing the objects".to_owned(), reason })
    }

    /// Before a pass: whether there is anything to do, and from where.
    fn begin(&mut self, now: Facts) -> Action {
        self.progress = Progress::default();
        self.summary.refused.clear();
        if now.is_migrated() {
            let Summary { written, unchanged, written_by_others, deleted, .. } = self.summary;
            self.summary.was_migrated =
                self.passes == 0 && written + unchanged + written_by_others + deleted == 0;
            return self.act(Action::Done(Ok(())));
        }
        if let Some(checkpoint) = self.resume.take().filter(|checkpoint| checkpoint.is_of(&now)) {
            self.progress.visited = checkpoint.visited;
            return self.visit(now, Some(checkpoint.token));
        }
        self.passes += 1;
        if self.passes > MAX_PASSES {
            return self.end(End::Definition(format!("it was changed {MAX_PASSES} times meanwhile")));
        }
        self.state = State::Settling(now);
        self.last = Action::ReadDefinition;
        Action::Wait(SETTLE)
    }

    fn visit(&mut self, facts: Facts, token: Option<String>) -> Action {
        self.state = State::Visiting(Pass { facts, page: Page::default(), replaced_token: false });
        self.act(Action::List { token, checkpoint: None })
    }

    /// After an expired token: from the one that the server sent instead, once, or from the first object.
    fn list_again(&mut self, token: Option<String>, failure: &Failure) -> Action {
        let pass = self.pass();
        let token = token.filter(|_| !pass.replaced_token);
        pass.replaced_token = token.is_some();
        if token.is_none() {
            self.progress = Progress::default();
            self.passes += 1;
            if self.passes > MAX_PASSES {
                return self.give_up(&self.last.clone(), failure);
            }
        }
        self.act(Action::List { token, checkpoint: None })
    }

    /// The first object of the page is done.
    fn visited(&mut self) -> Action {
        self.progress.visited += 1;
        self.pass().page.targets.pop_front();
        self.next_object()
    }

    fn next_object(&mut self) -> Action {
        let visited = self.progress.visited;
        let is_clean = self.summary.refused.is_empty();
        let pass = self.pass();
        if let Some(target) = pass.page.targets.front() {
            let target = target.clone();
            return self.act(Action::Write(target));
        }
        if let Some(token) = pass.page.token.take() {
            // Behind a refused object the file stays at its page, so that the next run tries it again.
            let checkpoint = is_clean.then(|| Checkpoint::new(&pass.facts, &token, visited));
            return self.act(Action::List { token: Some(token), checkpoint });
        }
        self.state = State::Closing(pass.facts.clone());
        self.act(Action::ReadDefinition)
    }

    /// All objects were visited, and the definition is the same.
    fn close(&mut self, now: Facts) -> Action {
        if !self.summary.refused.is_empty() || now.is_migrated() {
            return self.act(Action::Done(Ok(())));
        }
        self.act(Action::Prune(now))
    }

    fn pass(&mut self) -> &mut Pass {
        match &mut self.state {
            State::Visiting(pass) => pass,
            _ => unreachable!("invariant: objects are listed and written in a pass"),
        }
    }

    fn end(&mut self, end: End) -> Action {
        self.act(Action::Done(Err(Box::new(end))))
    }

    fn act(&mut self, action: Action) -> Action {
        self.attempts = 0;
        self.last = action.clone();
        action
    }
}

/// After so many failed attempts.
fn pause(attempts: u32) -> Duration {
    PAUSE * 2_u32.pow(attempts - 1)
}
