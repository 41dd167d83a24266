//! Indexes compared with full scans.

use super::{Store, store, tests::object};
use crate::{reflector::Index, watcher::Event};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{ResourceExt, Selector};
use proptest::prelude::*;
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// The index keys: the letters of the annotation `letters`.
fn letters(object: &ConfigMap) -> Vec<char> {
    object.annotations().get("letters").map(|letters| letters.chars().collect()).unwrap_or_default()
}

fn with(name: u8, version: usize, letters: &str) -> ConfigMap {
    let mut object = object(&name.to_string(), &version.to_string());
    object.annotations_mut().insert("letters".into(), letters.into());
    let labels = letters.chars().take(2).enumerate().map(|(at, it)| (format!("l{at}"), it.to_string()));
    *object.labels_mut() = labels.collect();
    object
}

fn named(found: Vec<Arc<ConfigMap>>) -> BTreeSet<(String, String)> {
    let all: Vec<_> =
        found.iter().map(|it| (it.name_any(), it.resource_version().unwrap_or_default())).collect();
    let set: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "no object is returned twice");
    set
}

fn check(store: &Store<ConfigMap>, by_letter: &Index<ConfigMap, char>, by_label: &Index<ConfigMap, String>) {
    for letter in "abcd".chars() {
        let expected = named(store.state_filter(|object| letters(object).contains(&letter)));
        assert_eq!(named(store.by_index(by_letter, &letter)), expected, "{letter}");
        let label = format!("l0={letter}");
        let expected =
            named(store.state_filter(|object| object.labels().get("l0") == Some(&letter.to_string())));
        assert_eq!(named(store.by_index(by_label, &label)), expected, "{label}");
        for selector in [format!("l0={letter}"), format!("l1 in (a,{letter}),l0"), format!("l0!={letter}")] {
            let selector: Selector = selector.parse().unwrap();
            let expected =
                named(store.state_filter(|it| kube_core::SelectorExt::matches(&selector, it.labels())));
            assert_eq!(named(store.state_filter_selector(&selector)), expected, "{selector}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn indexes_agree_with_full_scans(
        late in any::<bool>(),
        actions in prop::collection::vec((0..8u8, 0..6u8, "[abcd]{0,3}"), 0..80),
    ) {
        let (by_letter, by_label) = (Index::new(letters), Index::labels());
        let (store, writer) = store();
        let mut writer = if late { writer } else { writer.with_index(&by_letter).with_index(&by_label) };
        let half = actions.len() / 2;
        for (version, (what, name, letters)) in actions.into_iter().enumerate() {
            if late && version == half {
                writer = writer.with_index(&by_letter).with_index(&by_label);
            }
            let object = with(name, version / 3, &letters); // some states are repeated
            writer.apply_watcher_event(&match what {
                0 => Event::Init,
                1 | 2 => Event::InitApply(object),
                3 => Event::InitDone,
                4 => Event::Delete(object),
                _ => Event::Apply(object),
            });
            check(&store, &by_letter, &by_label);
        }
    }
}

#[test]
fn by_index_works_without_a_declared_index() {
    let by_letter = Index::new(letters);
    let (store, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(with(1, 1, "ab")));
    assert_eq!(store.by_index(&by_letter, &'b').len(), 1);
    assert!(store.by_index(&by_letter, &'c').is_empty());
}

#[test]
fn a_lookup_in_a_declared_index_does_not_visit_other_objects() {
    let calls = Arc::new(AtomicUsize::new(0));
    let by_name = Index::new({
        let calls = Arc::clone(&calls);
        move |object: &ConfigMap| {
            calls.fetch_add(1, Relaxed);
            [object.name_any()]
        }
    });
    let (store, writer) = store();
    let mut writer = writer.with_index(&by_name);
    for name in 0..200 {
        writer.apply_watcher_event(&Event::Apply(with(name, 1, "")));
    }
    calls.store(0, Relaxed);
    assert_eq!(store.by_index(&by_name, "7").len(), 1);
    assert_eq!(calls.load(Relaxed), 0, "only the objects with the key are visited");
}

#[test]
fn a_list_replaces_objects_and_indexes_atomically() {
    let by_letter = Index::new(letters);
    let (store, writer) = store();
    let mut writer = writer.with_index(&by_letter);
    for event in [Event::Init, Event::InitApply(with(1, 1, "a")), Event::InitDone, Event::Init] {
        writer.apply_watcher_event(&event);
    }
    writer.apply_watcher_event(&Event::InitApply(with(1, 2, "b")));
    assert_eq!((store.by_index(&by_letter, &'a').len(), store.by_index(&by_letter, &'b').len()), (1, 0));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!((store.by_index(&by_letter, &'a').len(), store.by_index(&by_letter, &'b').len()), (0, 1));
}

#[test]
fn an_object_is_removed_from_an_index_whose_function_panics_at_its_last_state() {
    for replaced in [false, true] {
        let broken = Arc::new(AtomicBool::new(false));
        let by_letter = Index::new({
            let broken = Arc::clone(&broken);
            move |object: &ConfigMap| {
                let letters = letters(object);
                assert!(!broken.load(Relaxed) || !letters.contains(&'a'), "broken");
                letters
            }
        });
        let (store, writer) = store();
        let mut writer = writer.with_index(&by_letter);
        writer.apply_watcher_event(&Event::Apply(with(1, 1, "ab")));
        writer.apply_watcher_event(&Event::Apply(with(2, 1, "b")));
        broken.store(true, Relaxed);
        writer.apply_watcher_event(&match replaced {
            true => Event::Apply(with(1, 2, "c")),
            false => Event::Delete(with(1, 2, "c")),
        });
        let found = |letter| store.by_index(&by_letter, &letter).len();
        assert_eq!([found('a'), found('b'), found('c')], [0, 1, usize::from(replaced)]);
    }
}
