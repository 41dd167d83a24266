//! How far the events have come, and who waits for them to come further.

use ahash::AHashMap;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// The highest version that was seen in each namespace. Objects of the whole cluster count as the namespace "".
///
/// A watch brings the changes of a namespace in the order of their versions. So everything up to this one has been seen,
/// whether it is still there or not.
#[derive(Debug, Default)]
pub(super) struct Marks(AHashMap<Box<str>, u128>);

impl Marks {
    pub(super) fn note(&mut self, namespace: &str, version: u128) {
        match self.0.get_mut(namespace) {
            Some(mark) => *mark = version.max(*mark),
            None => drop(self.0.insert(namespace.into(), version)),
        }
    }

    fn reached(&self, namespace: &str, version: u128) -> bool {
        self.0.get(namespace).is_some_and(|mark| *mark >= version)
    }
}

/// The marks of what a store shows, and the waits for higher ones.
#[derive(Debug, Default)]
pub(super) struct Progress {
    marks: Marks,
    waiting: AHashMap<Box<str>, Queue>,
    last_ticket: u64,
}

/// The waits of one namespace, the lowest version first.
type Queue = BTreeMap<(u128, u64), oneshot::Sender<()>>;

/// One wait, to be given back when nobody waits any more.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    namespace: Box<str>,
    place: (u128, u64),
}

impl Progress {
    /// Notes that the store shows this version. O(1), and O(log waits) for each wait that ends by it.
    pub(super) fn note(&mut self, namespace: &str, version: u128) {
        self.marks.note(namespace, version);
        self.release(namespace, version);
    }

    /// Notes that the store shows nothing but a list that reached these marks.
    pub(super) fn start_over(&mut self, marks: Marks) {
        self.marks = marks;
        let namespaces: Vec<Box<str>> = self.waiting.keys().cloned().collect();
        for namespace in namespaces {
            if let Some(mark) = self.marks.0.get(&namespace).copied() {
                self.release(&namespace, mark);
            }
        }
    }

    /// Notes that the store shows nothing of this namespace but a list that reached this mark.
    pub(super) fn start_over_in(&mut self, namespace: &str, mark: Option<u128>) {
        self.marks.0.remove(namespace);
        if let Some(mark) = mark {
            self.note(namespace, mark);
        }
    }

    /// Starts to wait, unless there is nothing to wait for.
    pub(super) fn wait(&mut self, namespace: &str, version: u128) -> Option<(Ticket, oneshot::Receiver<()>)> {
        if self.marks.reached(namespace, version) {
            return None;
        }
        let (done, is_done) = oneshot::channel();
        self.last_ticket += 1;
        let ticket = Ticket { namespace: namespace.into(), place: (version, self.last_ticket) };
        self.waiting.entry(ticket.namespace.clone()).or_default().insert(ticket.place, done);
        Some((ticket, is_done))
    }

    /// Ends a wait, if it has not ended by itself.
    pub(super) fn forget(&mut self, ticket: &Ticket) {
        if let Some(queue) = self.waiting.get_mut(&ticket.namespace) {
            queue.remove(&ticket.place);
            if queue.is_empty() {
                self.waiting.remove(&ticket.namespace);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    fn release(&mut self, namespace: &str, version: u128) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(queue) = self.waiting.get_mut(namespace) else { return };
        while let Some(first) = queue.first_entry().filter(|first| first.key().0 <= version) {
            first.remove().send(()).ok(); // whoever waited may have gone
        }
        if queue.is_empty() {
            self.waiting.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_its_version_or_a_later_one_of_its_namespace() {
        let mut progress = Progress::default();
        let (_, mut five) = progress.wait("x", 5).unwrap();
        let (_, mut nine) = progress.wait("x", 9).unwrap();
        progress.note("y", 100);
        progress.note("x", 4);
        assert!(five.try_recv().is_err());
        progress.note("x", 7);
        assert!(five.try_recv().is_ok() && nine.try_recv().is_err());
        progress.note("x", 9);
        assert!(nine.try_recv().is_ok() && progress.waiting.is_empty());
        assert!(progress.wait("x", 8).is_none(), "seen already");
    }

    #[test]
    fn a_list_counts_as_far_as_it_reaches_even_back() {
        let mut progress = Progress::default();
        progress.note("x", 50);
        let (_, mut done) = progress.wait("y", 8).unwrap();
        let mut marks = Marks::default();
        marks.note("y", 8);
        marks.note("y", 3);
        progress.start_over(marks);
        assert!(done.try_recv().is_ok());
        assert!(progress.wait("x", 10).is_some(), "what the list does not reach has to come again");
        progress.start_over_in("y", None);
        assert!(progress.wait("y", 8).is_some());
    }

    #[test]
    fn a_wait_given_up_leaves_nothing() {
        let mut progress = Progress::default();
        let (ticket, done) = progress.wait("x", 5).unwrap();
        drop(done);
        progress.forget(&ticket);
        progress.forget(&ticket);
        assert!(progress.waiting.is_empty());
    }
}
