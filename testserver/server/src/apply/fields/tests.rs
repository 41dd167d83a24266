//! Property tests of field sets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::FieldSet;
use crate::apply::{
    path::{PathElement, Scalar},
    wire,
};

fn step() -> impl Strategy<Value = PathElement> {
    let scalar = || {
        prop_oneof![
            Just(Scalar::Null),
            any::<bool>().prop_map(Scalar::Bool),
            (-2..3i64).prop_map(Scalar::Int),
            Just(Scalar::Float(0.5)),
            "[a\"]{0,2}".prop_map(|s| Scalar::Text(s.into())),
        ]
    };
    prop_oneof![
        4 => "[abc]".prop_map(|name| PathElement::Field(name.into())),
        1 => scalar().prop_map(PathElement::Value),
        1 => (0..2u64).prop_map(PathElement::Index),
        1 => prop::collection::btree_map("[kl]", scalar(), 1..3)
            .prop_map(|m| PathElement::Key(m.into_iter().map(|(k, v)| (k.into(), v)).collect())),
    ]
}

fn paths() -> impl Strategy<Value = BTreeSet<Vec<PathElement>>> {
    prop::collection::btree_set(prop::collection::vec(step(), 1..4), 0..8)
}

fn trie(paths: &BTreeSet<Vec<PathElement>>) -> FieldSet {
    paths.iter().cloned().collect()
}

proptest! {
    /// The trie against plain sets of paths.
    #[test]
    fn operations_equal_those_of_sets(a in paths(), b in paths()) {
        let (x, y) = (trie(&a), trie(&b));
        prop_assert_eq!(x.union(&y), trie(&a.union(&b).cloned().collect()));
        prop_assert_eq!(x.intersection(&y), trie(&a.intersection(&b).cloned().collect()));
        prop_assert_eq!(x.difference(&y), trie(&a.difference(&b).cloned().collect()));
        prop_assert_eq!(x.paths().into_iter().collect::<BTreeSet<_>>(), a.clone());
        let mut emptied = x.clone();
        a.iter().for_each(|path| emptied.remove(path));
        prop_assert!(emptied.is_empty());
    }

    #[test]
    fn the_wire_form_round_trips(a in paths()) {
        let set = trie(&a);
        prop_assert_eq!(wire::read(&wire::write(&set)).unwrap(), set);
    }
}

#[test]
fn the_wire_form_is_that_of_the_genuine_server() {
    let wire_form = json!({"f:spec": {
        ".": {},
        "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
        "f:tags": {"v:\"a\"": {}, "v:1": {}},
        "f:list": {"i:0": {}},
    }});
    let set = wire::read(&wire_form).unwrap();
    assert_eq!(wire::write(&set), wire_form);
    let paths: Vec<String> = set.paths().iter().map(|p| crate::apply::path::show(p)).collect();
    assert_eq!(
        paths,
        [
            ".spec",
            ".spec.list[0]",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
            ".spec.tags[=1]",
            ".spec.tags[=\"a\"]",
        ]
    );
}

#[test]
fn invalid_steps_are_named() {
    for bad in [
        json!({"spec": {}}),
        json!({"x:spec": {}}),
        json!({"k:1": {}}),
        json!({"i:-": {}}),
        json!({"f:a": 1}),
    ] {
        assert!(
            wire::read(&bad).unwrap_err().contains(bad.as_object().unwrap().keys().next().unwrap()),
            "{bad}"
        );
    }
}
