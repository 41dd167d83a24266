//! Which child is next, when they are applied and when they are deleted. Pure.

use super::graph::Graph;

/// How far a child is in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing was done with it.
    Pending,
    /// It is being applied.
    Running,
    /// It is as wanted, and ready.
    Ready,
    /// It is as wanted, and not ready yet; or left alone.
    NotReady,
    /// It was not applied.
    Failed,
}

/// The order in which the children are applied in one run.
#[derive(Debug)]
pub(super) struct ApplyPlan<'a> {
    graph: &'a Graph,
    steps: Vec<Step>,
}

impl<'a> ApplyPlan<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Self { graph, steps: vec![Step::Pending; graph.len()] }
    }

    /// Those whose turn has come: all that they come after are ready.
    pub(super) fn start(&mut self) -> Vec<usize> {
        let is_ready = |at: &usize| self.steps[*at] == Step::Ready;
        let due = |at: &usize| self.steps[*at] == Step::Pending && self.graph.after(*at).iter().all(is_ready);
        let due: Vec<usize> = (0..self.graph.len()).filter(due).collect();
        due.iter().for_each(|at| self.steps[*at] = Step::Running);
        due
    }

    /// Notes what became of a child that was started.
    pub(super) fn finish(&mut self, at: usize, step: Step) {
        debug_assert_eq!(self.steps[at], Step::Running, "only what was started ends");
        self.steps[at] = step;
    }

    /// Those that a child still waits for.
    pub(super) fn waits_for(&self, at: usize) -> Vec<usize> {
        let after = self.graph.after(at).iter().copied();
        after.filter(|it| self.steps[*it] != Step::Ready).collect()
    }

    /// Whether every child is as wanted, so that what is not wanted may go.
    pub(super) fn is_complete(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Ready | Step::NotReady))
    }
}

/// The order in which the children are deleted: the reverse.
#[derive(Debug)]
pub(super) struct DeletePlan<'a> {
    graph: &'a Graph,
    /// Which ones exist.
    present: Vec<bool>,
    started: Vec<bool>,
}

impl<'a> DeletePlan<'a> {
    pub(super) fn new(graph: &'a Graph, present: Vec<bool>) -> Self {
        Self { graph, started: vec![false; present.len()], present }
    }

    /// Those whose turn has come: nothing is left that comes after them.
    pub(super) fn start(&mut self) -> Vec<usize> {
        let count = self.graph.len();
        let due = |at: &usize| {
            self.present[*at]
                && !self.started[*at]
                && !(0..count).any(|later| self.present[later] && self.graph.comes_after(later, *at))
        };
        let due: Vec<usize> = (0..count).filter(due).collect();
        due.iter().for_each(|at| self.started[*at] = true);
        due
    }

    /// Notes that a child is gone.
    pub(super) fn gone(&mut self, at: usize) {
        self.present[at] = false;
    }

    /// Those that wait until others are gone, and for which.
    pub(super) fn waiting(&self) -> Vec<(usize, Vec<usize>)> {
        let count = self.graph.len();
        let waiting = (0..count).filter(|at| self.present[*at] && !self.started[*at]);
        let for_which = |at| {
            (0..count).filter(|later| self.present[*later] && self.graph.comes_after(*later, at)).collect()
        };
        waiting.map(|at| (at, for_which(at))).collect()
    }
}
