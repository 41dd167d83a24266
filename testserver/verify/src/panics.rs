//! Panics: of the operator, which its runtime may catch, and of closures of the test.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook},
    sync::{Arc, Once},
};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::task::{Id, try_id};

thread_local! {
    /// The panics of this thread, while it runs an operator.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
    static PROCESSES: Cell<Processes> = const { Cell::new(Processes { first: None, live: None }) };
}

/// The first tasks of processes of the operator: of the first one, and of the one that lives. The numbers of tasks count up, so that those
/// between them were spawned by a process that is dead.
#[derive(Clone, Copy, Debug)]
struct Processes {
    first: Option<u64>,
    live: Option<u64>,
}

impl Processes {
    fn is_dead(self, task: u64) -> bool {
        self.first.is_some_and(|first| task >= first) && self.live.is_none_or(|live| task < live)
    }
}

fn number(task: Id) -> Option<u64> {
    task.to_string().parse().ok()
}

/// A process begins with this task.
pub(crate) fn process_begins(task: Id) {
    let live = number(task);
    PROCESSES.set(Processes { first: PROCESSES.get().first.or(live), live });
}

/// The process is dead. On a cluster, what it has spawned would be gone, and panic no more.
pub(crate) fn process_ends() {
    PROCESSES.set(Processes { live: None, ..PROCESSES.get() });
}

/// Whether this code runs in a task of a dead process.
fn is_of_dead_process() -> bool {
    try_id().and_then(number).is_some_and(|task| PROCESSES.get().is_dead(task))
}

/// Collects panics of this thread from now on, in place of printing them. Those of other threads are printed as before.
pub(crate) fn collect() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let collected = PANICS.with_borrow_mut(|panics| {
                let text = panic.to_string().replace('\n', " ");
                let panics = panics.as_mut();
                panics
                    .map(|panics| {
                        if !is_of_dead_process() {
                            panics.push(text)
                        }
                    })
                    .is_some()
            });
            if !collected {
                before(panic);
            }
        }));
    });
    PANICS.set(Some(Vec::new()));
    PROCESSES.set(Processes { first: None, live: None });
}

/// Forgets the panics until now: they are not those of the operator that is judged.
pub(crate) fn forget() {
    PANICS.with_borrow_mut(|panics| panics.iter_mut().for_each(Vec::clear));
}

/// The panics since [`collect`]. Later ones are printed again.
pub(crate) fn take() -> Vec<String> {
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
        let with_place = panics.as_mut().and_then(|panics| panics.pop_if(|last| last.ends_with(&end)));
        let follows_panic = panics.as_ref().is_some_and(|panics| !panics.is_empty());
        PANICS.set(panics);
        let text = with_place.unwrap_or_else(|| format!("panicked{end}"));
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
    async fn tasks_of_dead_processes_are_known_by_their_numbers() {
        let mut numbers = Vec::new();
        for _ in 0..4 {
            numbers.push(number(tokio::spawn(async {}).id()).unwrap());
        }
        assert!(numbers.is_sorted(), "they count up");
        let [test, first, spawned, second] = numbers[..] else { panic!() };
        let dead = |first, live| [test, spawned, second].map(|task| Processes { first, live }.is_dead(task));
        assert_eq!(dead(None, None), [false; 3], "no process yet");
        assert_eq!(dead(Some(first), Some(first)), [false; 3]);
        assert_eq!(dead(Some(first), Some(second)), [false, true, false]);
        assert_eq!(dead(Some(first), None), [false, true, true], "none lives");
    }

    #[test]
    fn panics_of_a_run_are_collected_with_their_place() {
        collect();
        assert!(std::panic::catch_unwind(|| panic!("of the operator")).is_err());
        let panics = take();
        assert!(panics[0].contains("panics.rs") && panics[0].ends_with("of the operator"), "{panics:?}");
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
        assert!(matches!(&take()[..], [one] if one.ends_with("of the operator")));
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
        assert_eq!(take(), [""; 0]);
        // On a thread without a run.
        let failure = TestFailure::default();
        let elsewhere = failure.clone();
        let called = std::thread::spawn(move || elsewhere.catch(|| "the step".to_owned(), || panic!("x")));
        assert_eq!(called.join().unwrap(), None::<()>);
        assert_eq!(failure.text().unwrap(), "the step of the test panicked: x");
    }
}
