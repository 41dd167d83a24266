//! Sets of field paths, as tries.

use std::collections::BTreeMap;

use super::path::PathElement;

/// A set of field paths. Every operation is linear in the size of its operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// Every branch is a member or has members below, so equal sets have equal tries.
    pub(super) branches: BTreeMap<PathElement, Branch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Branch {
    /// The path that ends here is in the set.
    pub(super) member: bool,
    pub(super) below: FieldSet,
}

static NOTHING: FieldSet = FieldSet { branches: BTreeMap::new() };

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Inserts a path; the empty path is ignored.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        match self.branches.get_mut(first) {
            Some(branch) => branch.insert(rest),
            None => {
                let mut branch = Branch::default();
                branch.insert(rest);
                self.branches.insert(first.clone(), branch);
            }
        }
    }

    /// Removes this path; paths below it stay.
    pub(crate) fn remove(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        self.change(first, |branch| match rest {
            [] => branch.member = false,
            rest => branch.below.remove(rest),
        });
    }

    /// Changes the branch of a step, if there is one.
    pub(super) fn change(&mut self, step: &PathElement, change: impl FnOnce(&mut Branch)) {
        let Some(branch) = self.branches.get_mut(step) else { return };
        change(branch);
        if branch.is_empty() {
            self.branches.remove(step);
        }
    }

    /// Whether the path of this one step is in the set.
    pub(crate) fn has(&self, step: &PathElement) -> bool {
        self.branches.get(step).is_some_and(|b| b.member)
    }

    /// The paths below a step.
    pub(crate) fn below(&self, step: &PathElement) -> &FieldSet {
        self.branches.get(step).map_or(&NOTHING, |b| &b.below)
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.add(other);
        out
    }

    /// Adds the paths of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        for (step, theirs) in &other.branches {
            match self.branches.get_mut(step) {
                Some(ours) => {
                    ours.member |= theirs.member;
                    ours.below.add(&theirs.below);
                }
                None => drop(self.branches.insert(step.clone(), theirs.clone())),
            }
        }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a && b, |ours, theirs| ours.intersection(theirs))
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a && !b, |ours, theirs| ours.difference(theirs))
    }

    /// For operations whose result is a subset of `self`.
    fn combine(&self, other: &Self, keep: fn(bool, bool) -> bool, below: fn(&Self, &Self) -> Self) -> Self {
        let mut branches = BTreeMap::new();
        for (step, ours) in &self.branches {
            let member = keep(ours.member, other.has(step));
            let branch = Branch { member, below: below(&ours.below, other.below(step)) };
            if !branch.is_empty() {
                branches.insert(step.clone(), branch);
            }
        }
        Self { branches }
    }

    /// Maps each step to whether it is a member and the set below it.
    pub(super) fn map(&self, f: impl Fn(&PathElement, bool, &Self) -> (bool, Self)) -> Self {
        let branches = self.branches.iter().filter_map(|(step, branch)| {
            let (member, below) = f(step, branch.member, &branch.below);
            let branch = Branch { member, below };
            (!branch.is_empty()).then(|| (step.clone(), branch))
        });
        Self { branches: branches.collect() }
    }

    /// Removes members of an object and everything below them.
    pub(crate) fn cut(&mut self, members: &[&str]) {
        self.branches
            .retain(|step, _| !matches!(step, PathElement::Field(name) if members.contains(&&**name)));
    }

    /// All paths; members of a container before paths further down.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, at: &mut Vec<PathElement>, out: &mut Vec<Vec<PathElement>>) {
        for (step, _) in self.branches.iter().filter(|(_, branch)| branch.member) {
            at.push(step.clone());
            out.push(at.clone());
            at.pop();
        }
        for (step, branch) in &self.branches {
            at.push(step.clone());
            branch.below.collect(at, out);
            at.pop();
        }
    }
}

impl Branch {
    fn insert(&mut self, path: &[PathElement]) {
        if path.is_empty() {
            self.member = true;
        } else {
            self.below.insert(path);
        }
    }

    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FromIterator<Vec<PathElement>> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Vec<PathElement>>>(paths: I) -> Self {
        let mut out = Self::default();
        paths.into_iter().for_each(|path| out.insert(&path));
        out
    }
}

#[cfg(test)]
mod tests;
