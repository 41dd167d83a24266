//! Circles of modules and of files.

use std::collections::{BTreeMap, BTreeSet};

use super::package::Module;

/// The modules at the top of a crate that import each other in a circle, however deep inside of them the files are that do.
pub(super) fn of_modules<'a>(modules: &'a [Module<'_>], imports: &[BTreeSet<usize>]) -> Vec<Vec<&'a str>> {
    let top = |index: usize| modules[index].path.first().map(String::as_str);
    let mut edges = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (from, to) in imports.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |to| (from, *to))) {
        if let (Some(from), Some(to)) = (top(from), top(to)) {
            edges.entry(from).or_default().insert(to);
        }
    }
    circles(&edges)
}

/// The paths of files that import each other in a circle.
pub(super) fn of_files<'a>(modules: &[Module<'a>], imports: &[BTreeSet<usize>]) -> Vec<Vec<&'a str>> {
    let path = |index: usize| modules[index].file.path.as_str();
    let edges =
        imports.iter().enumerate().map(|(from, to)| (path(from), to.iter().map(|to| path(*to)).collect()));
    circles(&edges.collect())
}

/// The sets of more than one node of which each can be reached from each other, in the order of their names.
fn circles<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reachable: BTreeMap<_, _> = edges.keys().map(|start| (*start, reachable(edges, start))).collect();
    let mut circles = BTreeSet::new();
    for (node, from_here) in &reachable {
        let back = |other: &&str| reachable.get(other).is_some_and(|from_there| from_there.contains(node));
        let circle: Vec<_> = from_here.iter().copied().filter(back).collect();
        if circle.iter().any(|other| other != node) {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// The nodes that some number of edges leads to.
fn reachable<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        open.extend(edges.get(node).into_iter().flatten().filter(|next| reached.insert(**next)));
    }
    reached
}
