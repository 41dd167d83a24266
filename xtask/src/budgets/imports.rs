//! Which files a file imports from: the ones that define what its paths name, whatever signposts the paths pass.

use std::collections::{BTreeMap, BTreeSet};

use super::package::Module;
use super::scan::Named;

/// Of each module, the others that it imports from. The root of a crate is no target: it hands on names of all modules.
pub(super) fn imports(modules: &[Module<'_>]) -> Vec<BTreeSet<usize>> {
    let index = Index {
        by_path: modules.iter().enumerate().map(|(at, module)| (&*module.path, at)).collect(),
        modules,
    };
    let targets = |(from, module): (usize, &Module<'_>)| {
        let paths = module.scan.paths.iter().filter_map(|named| index.absolute(named, module));
        let targets = paths.filter_map(|path| index.definition(&path, &mut BTreeSet::new()));
        let hands_on = |to: usize| {
            module.is_folder() && module.scan.names.is_empty() && modules[to].path.starts_with(&module.path)
        };
        targets.filter(|to| *to != from && !modules[*to].is_root() && !hands_on(*to)).collect()
    };
    modules.iter().enumerate().map(targets).collect()
}

struct Index<'a> {
    modules: &'a [Module<'a>],
    by_path: BTreeMap<&'a [String], usize>,
}

impl Index<'_> {
    /// A path from the root of the crate; `None` for those that lead to other crates and to names inside of the file `of`.
    fn absolute(&self, named: &Named, of: &Module<'_>) -> Option<Vec<String>> {
        self.from_root(named).or_else(|| self.by_import(named, of))
    }

    /// The path of `a::name` where `use crate::a` stands.
    fn by_import(&self, named: &Named, of: &Module<'_>) -> Option<Vec<String>> {
        let (first, rest) = named.path.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let imported =
            of.scan.paths.iter().filter(|import| import.is_import && import.module == named.module);
        let mut imported =
            imported.filter(|import| import.alias.as_ref().or(import.path.last()) == Some(first));
        let path = self.from_root(imported.next()?)?;
        self.by_path.contains_key(&*path).then(|| [&path, rest].concat())
    }

    fn from_root(&self, named: &Named) -> Option<Vec<String>> {
        let (first, rest) = named.path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" | "super" => {
                let mut base = &*named.module;
                let mut path = &*named.path;
                while let [first, rest @ ..] = path {
                    match first.as_str() {
                        "super" => base = base.split_last()?.1,
                        "self" => {}
                        _ => break,
                    }
                    path = rest;
                }
                Some([base, path].concat())
            }
            _ => {
                let path = [&*named.module, &*named.path].concat();
                self.by_path.contains_key(&path[..=named.module.len()]).then_some(path)
            }
        }
    }

    /// The module whose file defines what the path names.
    fn definition(&self, path: &[String], seen: &mut BTreeSet<(usize, String)>) -> Option<usize> {
        let longest =
            (0..=path.len()).rev().find_map(|end| Some((*self.by_path.get(&path[..end])?, &path[end..])));
        let (at, inside) = longest?;
        let Some((name, rest)) = inside.split_first() else { return Some(at) };
        let (module, scan) = (&self.modules[at], &self.modules[at].scan);
        if scan.names.contains(name) || !seen.insert((at, name.clone())) {
            return Some(at);
        }
        for named in &scan.paths {
            let Some(mut target) = self.absolute(named, module) else { continue };
            let is_glob = target.last().is_some_and(|last| last == "*");
            if is_glob {
                target.pop();
                target.push(name.clone());
            } else if named.alias.as_ref().or(target.last()) != Some(name) {
                continue;
            }
            let own_name = target.last().cloned();
            target.extend_from_slice(rest);
            let Some(definition) = self.definition(&target, seen) else { continue };
            let defines =
                own_name.is_some_and(|own_name| self.modules[definition].scan.names.contains(&own_name));
            if defines || (!is_glob && definition != at) {
                return Some(definition);
            }
        }
        Some(at)
    }
}
