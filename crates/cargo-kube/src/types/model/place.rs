//! Where each type is, and how it is called: in the module of the version, the kind or the run in which all of its uses are.

use std::collections::BTreeMap;

use super::graph::{Graph, TypeId, Use};
use crate::types::identifiers::{Names, snake_name, type_name};
use crate::types::read::Definitions;

/// The module of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::types) enum Place {
    /// Used by several kinds.
    Run,
    /// Used by several versions of this kind.
    Kind(usize),
    /// Used by this version of this kind.
    Version(usize, usize),
}

/// All names of a run.
#[derive(Debug)]
pub(in crate::types) struct Placed {
    /// The place and name of each type.
    pub(in crate::types) types: Vec<(Place, String)>,
    /// The types of each place, in the order in which a reader meets them.
    pub(in crate::types) by_place: BTreeMap<Place, Vec<TypeId>>,
    /// The struct of the object of each root.
    pub(in crate::types) roots: Vec<String>,
    /// The modules of each definition: of its group, of its kind, of each version.
    pub(in crate::types) modules: Vec<Modules>,
}

#[derive(Clone, Debug)]
pub(in crate::types) struct Modules {
    pub(in crate::types) group: String,
    pub(in crate::types) kind: String,
    pub(in crate::types) versions: Vec<String>,
}

/// The module for types of several kinds.
pub(in crate::types) const SHARED: &str = "shared";

/// Decides about all names. The same input gives the same names, in any order of its files.
pub(in crate::types) fn place(definitions: &Definitions, graph: &Graph<'_>) -> Placed {
    let modules = modules(definitions);
    let mut scopes: BTreeMap<Place, Names> = BTreeMap::new();
    let roots = graph.roots.iter().map(|root| {
        let name = type_name([definitions.entries()[root.kind].crd.spec.names.kind.as_str()]);
        scopes.entry(Place::Version(root.kind, root.version)).or_default().unique(&name)
    });
    let roots = roots.collect();
    let bodies: BTreeMap<TypeId, bool> = graph.roots.iter().map(|root| (root.body, root.no_spec)).collect();

    let places: Vec<Place> = graph.types.iter().map(|found| place_of(&found.uses)).collect();
    let mut order: Vec<TypeId> = (0..graph.types.len()).map(TypeId).collect();
    order.sort_by_cached_key(|id| (places[id.0], key(first_use(&graph.types[id.0].uses))));
    let mut types = vec![(Place::Run, String::new()); graph.types.len()];
    let mut by_place: BTreeMap<Place, Vec<TypeId>> = BTreeMap::new();
    // First the names that somebody chose.
    let (chosen, other): (Vec<TypeId>, Vec<TypeId>) =
        order.iter().copied().partition(|id| graph.types[id.0].name.is_some());
    for id in chosen.into_iter().chain(other) {
        let (place, found) = (places[id.0], &graph.types[id.0]);
        let name = found.name.clone().unwrap_or_else(|| {
            let here = first_use(&found.uses);
            let kind = definitions.entries()[here.kind].crd.spec.names.kind.as_str();
            let fields = bodies.get(&id).is_some_and(|no_spec| *no_spec).then_some("fields");
            type_name([kind].into_iter().chain(here.path.iter().copied()).chain(fields))
        });
        types[id.0] = (place, scopes.entry(place).or_default().unique(&name));
    }
    for id in order {
        by_place.entry(places[id.0]).or_default().push(id);
    }
    Placed { types, by_place, roots, modules }
}

fn place_of(uses: &[Use<'_>]) -> Place {
    let Some(first) = uses.first() else { return Place::Run };
    if uses.iter().any(|other| other.kind != first.kind) {
        Place::Run
    } else if uses.iter().any(|other| other.version != first.version) {
        Place::Kind(first.kind)
    } else {
        Place::Version(first.kind, first.version)
    }
}

/// The use that gives the name: of the shortest path, so that a new use further inside does not rename the type.
pub(in crate::types) fn first_use<'u, 'a>(uses: &'u [Use<'a>]) -> &'u Use<'a> {
    uses.iter()
        .min_by_key(|here| (here.path.len(), key(here)))
        .unwrap_or_else(|| unreachable!("a type is used"))
}

fn key<'u>(here: &'u Use<'_>) -> (usize, usize, &'u [&'u str]) {
    (here.kind, here.version, &here.path)
}

fn modules(definitions: &Definitions) -> Vec<Modules> {
    let mut groups: BTreeMap<&str, (String, Names)> = BTreeMap::new();
    let mut group_names = Names::with(&[SHARED]);
    let all = definitions.entries().iter().map(|definition| {
        let spec = &definition.crd.spec;
        let (group, kinds) = groups
            .entry(&spec.group)
            .or_insert_with(|| (group_names.unique(&snake_name(&spec.group)), Names::default()));
        let mut versions = Names::default();
        Modules {
            group: group.clone(),
            kind: kinds.unique(&snake_name(&spec.names.kind)),
            versions: spec
                .versions
                .iter()
                .map(|version| versions.unique(&snake_name(&version.name)))
                .collect(),
        }
    });
    all.collect()
}
