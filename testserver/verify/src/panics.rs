//! Panics: of the operator, which its runtime may catch, and of closures of the test.

use std::{
    any::Any,
    cell::RefCell,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook},
    sync::{Arc, Once},
};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::{
    task::{Id, try_id},
    time::Instant,
};

thread_local! {
    /// The panics of this thread, while it runs an operator.
    static PANICS: RefCell<Option<Vec<Panic>>> = const { RefCell::new(None) };
    static PROCESSES: RefCell<Processes> = RefCell::default();
}

/// A panic of a run.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub(crate) text: String,
    /// Whether a process had ended, and this is not the first task of the one that lives: who has spawned a task is not known.
    pub(crate) is_perhaps_of_dead: bool,
}

/// The processes of the operator.
#[derive(Debug, Default)]
struct Processes {
    has_ended: bool,
    /// The first task of the one that lives.
    live: Option<Id>,
    /// Tasks that get no answer any more, as their process is dead.
    unanswered: HashSet<Id>,
    /// Their panics, which are no findings, with their times.
    excused: Vec<(Instant, String)>,
}

impl Processes {
    /// Whether a panic is about an answer that never came, or is that of a task that was awaited and had such a panic. On a cluster, the
    /// task would be gone.
    fn is_unanswered(&mut self, task: Option<Id>, text: &str) -> bool {
        let passes_on = |of: &Id| text.contains(&format!("JoinError::Panic({of:?},"));
        let is =
            task.is_some_and(|task| self.unanswered.contains(&task)) || self.unanswered.iter().any(passes_on);
        if is {
            self.unanswered.extend(task);
        }
        is
    }

    fn is_perhaps_of_dead(&self, task: Option<Id>) -> bool {
        self.has_ended && task.is_some() && task != self.live
    }
}

/// A process begins with this task.
pub(crate) fn process_begins(task: Id) {
    PROCESSES.with_borrow_mut(|processes| processes.live = Some(task));
}

/// The process is dead. What it has spawned goes on, as nothing can end it.
pub(crate) fn process_ends() {
    PROCESSES.with_borrow_mut(|processes| (processes.has_ended, processes.live) = (true, None));
}

/// This task gets no answer, as its process is dead.
pub(crate) fn gets_no_answer() {
    PROCESSES.with_borrow_mut(|processes| processes.unanswered.extend(try_id()));
}

/// Collects panics of this thread from now on, in place of printing them. Those of other threads are printed as before.
pub(crate) fn collect() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let collected = PANICS.with_borrow_mut(|panics| {
                let Some(panics) = panics else { return false };
                let (text, task) = (panic.to_string().replace('\n', " "), try_id());
                PROCESSES.with_borrow_mut(|processes| {
                    if processes.is_unanswered(task, &text) {
                        let text = format!("a task of a dead process panicked for want of an answer: {text}");
                        processes.excused.push((Instant::now(), text));
                    } else {
                        let is_perhaps_of_dead = processes.is_perhaps_of_dead(task);
                        panics.push(Panic { text, is_perhaps_of_dead });
                    }
                });
                true
            });
            if !collected {
                before(panic);
            }
        }));
    });
    PANICS.set(Some(Vec::new()));
    PROCESSES.take();
}

/// The panics until now that are no findings, because an answer to a dead process never came: for the timeline.
pub(crate) fn take_excused() -> Vec<(Instant, String)> {
    PROCESSES.with_borrow_mut(|processes| std::mem::take(&mut processes.excused))
}

/// Forgets the panics until now: they are not those of the operator that is judged.
pub(crate) fn forget() {
    PANICS.with_borrow_mut(|panics| panics.iter_mut().for_each(Vec::clear));
}

/// The panics since [`collect`]. Later ones are printed again.
pub(crate) fn take() -> Vec<Panic> {
    PANICS.take().unwrap_or_default()
}

/// The first panic of a closure of the test, such as an invariant: an error of the test, and no finding, but if the operator panicked
/// before it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestFailure(Arc<Mutex<Option<Failed>>>);

#[derive(Clone, Debug)]
struct Failed {
    text: String,
    /// Whether the operator panicked before: it may have left a lock of a fake poisoned.
    follows_panic: bool,
}

/// The payload of a panic that was noted already.
struct Noted;

impl TestFailure {
    /// Calls a closure of the test; `None` if it panics. `what` says which one it is.
    pub(crate) fn catch<T>(&self, what: impl FnOnce() -> String, call: impl FnOnce() -> T) -> Option<T> {
        catch_unwind(AssertUnwindSafe(call)).map_err(|panic| self.note(what(), &*panic)).ok()
    }

    /// The same for one that is called by another closure of the test, which a panic ends as well.
    pub(crate) fn pass<T>(&self, what: impl FnOnce() -> String, call: impl FnOnce() -> T) -> T {
        self.catch(what, call).unwrap_or_else(|| resume_unwind(Box::new(Noted)))
    }

    /// The same for a future.
    pub(crate) async fn catch_future<T>(
        &self,
        what: impl FnOnce() -> String,
        call: impl Future<Output = T>,
    ) -> Option<T> {
        AssertUnwindSafe(call).catch_unwind().await.map_err(|panic| self.note(what(), &*panic)).ok()
    }

    fn note(&self, what: String, panic: &(dyn Any + Send)) {
        if panic.is::<Noted>() {
            return;
        }
        let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        // The hook has its place, if this is the thread of the run. One that is passed on from another thread calls no hook.
        let end = text.map(|text| format!(": {}", text.replace('\n', " "))).unwrap_or_default();
        let mut panics = PANICS.take();
        let with_place = panics.as_mut().and_then(|panics| panics.pop_if(|last| last.text.ends_with(&end)));
        let follows_panic = panics.as_ref().is_some_and(|panics| !panics.is_empty());
        PANICS.set(panics);
        let text = with_place.map_or_else(|| format!("panicked{end}"), |panic| panic.text);
        self.0.lock().get_or_insert(Failed { text: format!("{what} of the test {text}"), follows_panic });
    }

    /// Whether the operator panicked before.
    pub(crate) fn follows_panic(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|failed| failed.follows_panic)
    }

    pub(crate) fn has_come(&self) -> bool {
        self.0.lock().is_some()
    }

    /// What has panicked, and how.
    pub(crate) fn text(&self) -> Option<String> {
        self.0.lock().as_ref().map(|failed| failed.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_without_an_answer_are_known_and_who_awaits_them() {
        let spawn = || tokio::spawn(async {}).id();
        let (first, lost, awaits, awaits_that, other) = (spawn(), spawn(), spawn(), spawn(), spawn());
        let mut processes = Processes { unanswered: HashSet::from([lost]), ..Processes::default() };
        let mut is = |task, text: &str| processes.is_unanswered(Some(task), text);
        let failed = |task| format!("called `Result::unwrap()`: JoinError::Panic({task:?}, \"an answer\")");
        assert!(is(lost, "an answer") && is(awaits, &failed(lost)) && is(awaits_that, &failed(awaits)));
        assert!(!is(other, &failed(first)) && !is(first, "an answer"));
        assert!(!processes.is_unanswered(None, "an answer"));
        processes.live = Some(first);
        assert!(!processes.is_perhaps_of_dead(Some(other)), "none has ended");
        processes.has_ended = true;
        assert!(processes.is_perhaps_of_dead(Some(other)) && !processes.is_perhaps_of_dead(Some(first)));
        assert!(!processes.is_perhaps_of_dead(None), "the run itself");
    }

    #[test]
    fn panics_of_a_run_are_collected_with_their_place() {
        collect();
        assert!(std::panic::catch_unwind(|| panic!("of the operator")).is_err());
        let panics = take();
        let text = &panics[0].text;
        assert!(text.contains("panics.rs") && text.ends_with("of the operator"), "{text}");
        assert!(take().is_empty());
    }

    #[test]
    fn a_panic_that_another_thread_passes_on_leaves_that_of_the_operator() {
        collect();
        assert!(catch_unwind(|| panic!("of the operator")).is_err());
        let failure = TestFailure::default();
        let thread: std::thread::JoinHandle<()> =
            std::thread::spawn(|| resume_unwind(Box::new("of the test")));
        let of_thread = thread.join().unwrap_err();
        assert_eq!(failure.catch(|| "the step".to_owned(), || resume_unwind(of_thread)), None::<()>);
        assert_eq!(failure.text().unwrap(), "the step of the test panicked: of the test");
        assert!(failure.follows_panic());
        assert!(matches!(&take()[..], [one] if one.text.ends_with("of the operator")));
    }

    #[test]
    fn the_first_panic_of_the_test_is_told_with_its_closure_and_is_none_of_the_operator() {
        collect();
        let failure = TestFailure::default();
        let outer = || failure.pass(|| "the fake \"bucket\"".to_owned(), || panic!("no {}", "bucket"));
        assert_eq!(failure.catch(|| "the factory".to_owned(), outer), None::<()>);
        assert_eq!(failure.catch(|| "the invariant".to_owned(), || panic!("later")), None::<()>);
        let text = failure.text().unwrap();
        assert!(text.starts_with("the fake \"bucket\" of the test panicked at "), "{text}");
        assert!(text.contains("panics.rs") && text.ends_with("no bucket"), "{text}");
        assert!(take().is_empty());
        // On a thread without a run.
        let failure = TestFailure::default();
        let elsewhere = failure.clone();
        let called = std::thread::spawn(move || elsewhere.catch(|| "the step".to_owned(), || panic!("x")));
        assert_eq!(called.join().unwrap(), None::<()>);
        assert_eq!(failure.text().unwrap(), "the step of the test panicked: x");
    }
}
