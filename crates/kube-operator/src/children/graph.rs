//! Which child comes after which. Pure.

use super::error::InvalidChildren;
use std::collections::BTreeSet;

/// The order of children, by their positions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Graph {
    /// Of each child, those that it comes after directly.
    after: Vec<Vec<usize>>,
    /// Of each child, all that it comes after.
    before: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// From the names of the children and of those that each comes after.
    pub(super) fn new<'a>(
        children: impl Iterator<Item = (&'a str, &'a [String])>,
    ) -> Result<Self, InvalidChildren> {
        let children: Vec<_> = children.collect();
        let names: Vec<&str> = children.iter().map(|(name, _)| *name).collect();
        if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(InvalidChildren::SameName((*twice).to_owned()));
        }
        let position = |name: &str, after: &String| {
            names.iter().position(|it| it == after).ok_or_else(|| InvalidChildren::UnknownAfter {
                name: name.to_owned(),
                after: after.clone(),
                known: names.iter().map(|name| (*name).to_owned()).collect(),
            })
        };
        let after = children.iter().map(|(name, after)| {
            let mut positions = after.iter().map(|it| position(name, it)).collect::<Result<Vec<_>, _>>()?;
            positions.sort_unstable();
            positions.dedup();
            Ok(positions)
        });
        let after = after.collect::<Result<Vec<_>, InvalidChildren>>()?;
        let mut before = vec![None; after.len()];
        for at in 0..after.len() {
            if let Err(cycle) = visit(&after, at, &mut Vec::new(), &mut before) {
                return Err(InvalidChildren::Cycle(
                    cycle.into_iter().map(|at| names[at].to_owned()).collect(),
                ));
            }
        }
        Ok(Self { after, before: before.into_iter().map(Option::unwrap_or_default).collect() })
    }

    /// The same children, of which none comes after another.
    pub(super) fn without_order(self) -> Self {
        let count = self.len();
        Self { after: vec![Vec::new(); count], before: vec![BTreeSet::new(); count] }
    }

    pub(super) fn len(&self) -> usize {
        self.after.len()
    }

    /// Those that a child comes after directly.
    pub(super) fn after(&self, at: usize) -> &[usize] {
        &self.after[at]
    }

    /// Whether `later` comes after `earlier`, directly or by others.
    pub(super) fn comes_after(&self, later: usize, earlier: usize) -> bool {
        self.before[later].contains(&earlier)
    }
}

/// Fills `before` for a child and all that it comes after. A circle is an error: its children, with the first at the end again.
fn visit(
    after: &[Vec<usize>],
    at: usize,
    path: &mut Vec<usize>,
    before: &mut [Option<BTreeSet<usize>>],
) -> Result<(), Vec<usize>> {
    if before[at].is_some() {
        return Ok(());
    }
    if let Some(first) = path.iter().position(|it| *it == at) {
        return Err(path[first..].iter().copied().chain([at]).collect());
    }
    path.push(at);
    let mut all = BTreeSet::from_iter(after[at].iter().copied());
    for it in &after[at] {
        visit(after, *it, path, before)?;
        all.extend(before[*it].iter().flatten());
    }
    path.pop();
    before[at] = Some(all);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(children: &[(&str, &[&str])]) -> Result<Graph, String> {
        let owned: Vec<(&str, Vec<String>)> = children
            .iter()
            .map(|(name, after)| (*name, after.iter().map(|it| (*it).to_owned()).collect()))
            .collect();
        Graph::new(owned.iter().map(|(name, after)| (*name, after.as_slice())))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_child_knows_what_it_comes_after() {
        let graph = graph(&[("web", &["db", "config", "db"]), ("db", &["config"]), ("config", &[])]).unwrap();
        assert_eq!(graph.after(0), [1, 2]);
        assert!(graph.comes_after(0, 2) && graph.comes_after(1, 2));
        assert!(!graph.comes_after(2, 0) && !graph.comes_after(0, 0));
    }

    #[test]
    fn an_impossible_order_is_one_error_that_names_it() {
        assert_eq!(graph(&[("a", &[]), ("a", &[])]).unwrap_err(), "two children are named \"a\"");
        assert_eq!(
            graph(&[("a", &["c"]), ("b", &[])]).unwrap_err(),
            "child \"a\" comes after \"c\", which is not in the set: expected one of \"a\", \"b\""
        );
        assert_eq!(
            graph(&[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]).unwrap_err(),
            "the children come after each other in a circle: a after b after c after a"
        );
        assert_eq!(
            graph(&[("a", &["a"])]).unwrap_err(),
            "the children come after each other in a circle: a after a"
        );
    }

    #[test]
    fn a_deep_order_with_many_ways_is_checked_quickly() {
        let names: Vec<String> = (0..60).map(|at| format!("n{at}")).collect();
        let children: Vec<(&str, Vec<String>)> =
            names.iter().enumerate().map(|(at, name)| (name.as_str(), names[..at].to_vec())).collect();
        assert!(Graph::new(children.iter().map(|(name, after)| (*name, after.as_slice()))).is_ok());
    }
}
