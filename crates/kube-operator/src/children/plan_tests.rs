//! Tests of the order in which children are applied and deleted.

use super::{
    graph::Graph,
    plan::{ApplyPlan, DeletePlan, Step},
};
use proptest::prelude::*;

/// `config` first, then `db` and `cache`, then `web` after both.
fn graph() -> Graph {
    let after = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let children = [
        ("config", after(&[])),
        ("db", after(&["config"])),
        ("cache", after(&["config"])),
        ("web", after(&["db", "cache"])),
    ];
    Graph::new(children.iter().map(|(name, after)| (*name, after.as_slice()))).unwrap()
}

#[test]
fn independent_children_are_applied_together_and_others_in_order() {
    let graph = graph();
    let mut plan = ApplyPlan::new(&graph);
    assert_eq!(plan.start(), [0]);
    assert_eq!(plan.start(), [0; 0], "it was started");
    plan.finish(0, Step::Ready);
    assert_eq!(plan.start(), [1, 2]);
    plan.finish(2, Step::Ready);
    assert_eq!(plan.start(), [0; 0]);
    assert_eq!(plan.waits_for(3), [1]);
    plan.finish(1, Step::Ready);
    assert_eq!(plan.start(), [3]);
    assert!(!plan.is_complete());
    plan.finish(3, Step::NotReady);
    assert!(plan.is_complete(), "an unready child at the end holds nothing up");
}

#[test]
fn what_comes_after_an_unready_or_failed_child_waits_and_the_rest_goes_on() {
    let graph = graph();
    let mut plan = ApplyPlan::new(&graph);
    assert_eq!(plan.start(), [0]);
    plan.finish(0, Step::Ready);
    assert_eq!(plan.start(), [1, 2]);
    plan.finish(1, Step::NotReady);
    plan.finish(2, Step::Failed);
    assert_eq!(plan.start(), [0; 0]);
    assert_eq!(plan.waits_for(3), [1, 2]);
    assert!(!plan.is_complete());
}

#[test]
fn deletion_is_in_reverse_and_waits_until_each_is_gone() {
    let graph = graph();
    let mut plan = DeletePlan::new(&graph, vec![true; 4]);
    assert_eq!(plan.start(), [3]);
    assert_eq!(plan.start(), [0; 0]);
    assert_eq!(plan.waiting(), [(0, vec![1, 2, 3]), (1, vec![3]), (2, vec![3])]);
    plan.gone(3);
    assert_eq!(plan.start(), [1, 2]);
    plan.gone(1);
    assert_eq!(plan.waiting(), [(0, vec![2])]);
    plan.gone(2);
    assert_eq!(plan.start(), [0]);
    // One in the middle is gone already: the first still waits for the last.
    let mut plan = DeletePlan::new(&graph, vec![true, false, false, true]);
    assert_eq!((plan.start(), plan.waiting()), (vec![3], vec![(0, vec![3])]));
}

proptest! {
    /// Whatever the order and the results: nothing is started twice, or before what it comes after; deletion is the reverse.
    #[test]
    fn every_order_is_kept(edges in prop::collection::vec((0usize..8, 0usize..8), 0..20), results in prop::collection::vec(0u8..4, 8)) {
        let names: Vec<String> = (0..8).map(|at| format!("n{at}")).collect();
        let after = |at: usize| -> Vec<String> {
            edges.iter().filter(|(a, b)| a != b && *a.max(b) == at).map(|(a, b)| names[*a.min(b)].clone()).collect()
        };
        let children: Vec<(String, Vec<String>)> = (0..8).map(|at| (names[at].clone(), after(at))).collect();
        let graph = Graph::new(children.iter().map(|(name, after)| (name.as_str(), after.as_slice()))).unwrap();

        let mut plan = ApplyPlan::new(&graph);
        let mut ready = [false; 8];
        let mut started = [false; 8];
        loop {
            let due = plan.start();
            if due.is_empty() { break }
            for at in due {
                prop_assert!(!std::mem::replace(&mut started[at], true));
                prop_assert!(graph.after(at).iter().all(|it| ready[*it]));
                let step = match results[at] { 0 => Step::Failed, 1 => Step::NotReady, _ => Step::Ready };
                ready[at] = step == Step::Ready;
                plan.finish(at, step);
            }
        }
        for (at, started) in started.iter().enumerate() {
            prop_assert_eq!(*started, plan.waits_for(at).is_empty());
        }

        let mut plan = DeletePlan::new(&graph, vec![true; 8]);
        let mut gone = [false; 8];
        loop {
            let due = plan.start();
            if due.is_empty() { break }
            for at in due {
                prop_assert!((0..8).all(|later| !graph.comes_after(later, at) || gone[later]));
                gone[at] = true;
                plan.gone(at);
            }
        }
        prop_assert!(gone.iter().all(|gone| *gone));
    }
}
