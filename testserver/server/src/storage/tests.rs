//! Property tests: the store agrees with a naive model, at every revision of its history.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::scheme::TableId;

fn object(name: &str, note: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Note", "metadata": {"name": name, "labels": {"note": note}}, "note": note})
}

fn put(store: &mut Store, table: TableId, name: &str, note: &str) -> u64 {
    store.put(table, Key::new(Some("ns"), name), object(name, note)).revision
}

fn names(page: &Page) -> Vec<&str> {
    page.objects.iter().map(|o| o.key.name()).collect()
}

fn all(store: &Store, table: TableId, at: Option<u64>) -> Result<Page, TooOld> {
    store.page(PageRequest { table, namespace: None, at, start: None, limit: 0, matches: &|_| true })
}

#[test]
fn one_serialisation_holds_line_object_and_tail() {
    let mut store = Store::new(10);
    let table = store.add_table();
    let stored = store.put(table, Key::new(None, "a\"b"), object("a\"b", "x"));
    let line: Value = serde_json::from_slice(&stored.line()).unwrap();
    assert_eq!(line, json!({"type": "ADDED", "object": stored.value()}));
    assert_eq!(stored.value()["metadata"]["resourceVersion"], "2");
    let bytes = stored.bytes();
    assert!(bytes.starts_with(br#"{"apiVersion":"v1","kind":"Note","metadata":"#), "{bytes:?}");
    let bare: Value = serde_json::from_slice(&[b"{", &stored.tail()[1..]].concat()).unwrap();
    assert_eq!((bare.get("kind"), &bare["note"]), (None, &json!("x")));
    assert_eq!((stored.label("note"), stored.label("z")), (Some("x"), None));
}

#[test]
fn a_page_shows_the_state_of_its_revision() {
    let mut store = Store::new(100);
    let table = store.add_table();
    for name in ["b", "c", "d"] {
        put(&mut store, table, name, "old");
    }
    let then = store.revision();
    put(&mut store, table, "a", "new");
    put(&mut store, table, "c", "new");
    store.remove(table, &Key::new(Some("ns"), "b")).unwrap();
    put(&mut store, table, "b", "newer");
    store.remove(table, &Key::new(Some("ns"), "d")).unwrap();

    let past = all(&store, table, Some(then)).unwrap();
    assert_eq!((names(&past), past.revision), (vec!["b", "c", "d"], then));
    assert!(past.objects.iter().all(|o| o.label("note") == Some("old")));
    assert_eq!(names(&all(&store, table, None).unwrap()), ["a", "b", "c"]);

    let next = store
        .page(PageRequest {
            table,
            namespace: Some("ns"),
            at: Some(then),
            start: None,
            limit: 2,
            matches: &|_| true,
        })
        .unwrap();
    assert_eq!((names(&next), next.remaining), (vec!["b", "c"], 1));
    let start = next.next;
    let last = store
        .page(PageRequest {
            table,
            namespace: Some("ns"),
            at: Some(then),
            start,
            limit: 2,
            matches: &|_| true,
        })
        .unwrap();
    assert_eq!((names(&last), last.next.is_some(), last.remaining), (vec!["d"], false, 0));
}

#[test]
fn namespaces_that_share_a_prefix_stay_apart() {
    let mut store = Store::new(100);
    let table = store.add_table();
    for namespace in ["a", "a-b", "a.b", "ab"] {
        store.put(table, Key::new(Some(namespace), "x"), object("x", namespace));
    }
    for namespace in ["a", "a-b", "a.b", "ab"] {
        let namespaces: Vec<_> = store.objects(table, Some(namespace)).map(|o| o.key.namespace()).collect();
        assert_eq!(namespaces, [Some(namespace)]);
    }
    assert_eq!(store.objects(table, None).count(), 4);
}

#[test]
fn history_is_bounded_over_all_resources_and_reports_dropped_changes() {
    let mut store = Store::new(3);
    let (busy, quiet) = (store.add_table(), store.add_table());
    let first = put(&mut store, quiet, "q", "1");
    let revisions: Vec<u64> = (0..5).map(|i| put(&mut store, busy, "b", &i.to_string())).collect();
    assert_eq!(store.changes(busy, revisions[1], 9).unwrap().len(), 3);
    assert_eq!(store.changes(busy, revisions[1], 2).unwrap().len(), 2);
    assert_eq!(store.changes(busy, revisions[0], 9).unwrap_err(), TooOld { oldest: revisions[1] });
    assert!(store.changes(quiet, first, 9).unwrap().is_empty(), "nothing of this resource is lost");
    assert_eq!(store.changes(quiet, first - 1, 9).unwrap_err(), TooOld { oldest: first });

    store.compact();
    let now = store.revision();
    assert!(store.check_readable(quiet, now).is_ok() && store.changes(quiet, first, 9).is_ok());
    assert_eq!(store.check_readable(quiet, now - 1), Err(TooOld { oldest: now }));
    assert!(all(&store, busy, Some(now - 1)).is_err());
    assert_eq!(names(&all(&store, busy, Some(now)).unwrap()), ["b"]);
}

#[test]
fn watchers_are_woken_and_end_with_their_resource() {
    let mut store = Store::new(3);
    let table = store.add_table();
    let mut signal = store.signal(table).unwrap();
    assert!(!signal.has_changed().unwrap());
    let revision = put(&mut store, table, "a", "");
    assert_eq!(*signal.borrow_and_update(), revision);
    store.close_table(table);
    signal.has_changed().unwrap_err();
    assert!(store.signal(table).is_none());
}

proptest! {
    /// Whatever happened since, a page of an earlier revision equals the list that was made then.
    #[test]
    fn past_lists_equal_the_lists_made_then(steps in prop::collection::vec((0..6u8, any::<bool>()), 0..40)) {
        let mut store = Store::new(1000);
        let table = store.add_table();
        let mut seen = Vec::new();
        for (i, (name, delete)) in steps.into_iter().enumerate() {
            let name = format!("n{name}");
            if delete {
                store.remove(table, &Key::new(Some("ns"), &name));
            } else {
                put(&mut store, table, &name, &i.to_string());
            }
            let now = all(&store, table, None).unwrap();
            seen.push((now.revision, now.objects.iter().map(|o| o.bytes()).collect::<Vec<_>>()));
        }
        for (revision, then) in seen {
            let past = all(&store, table, Some(revision)).unwrap();
            prop_assert_eq!(past.objects.iter().map(|o| o.bytes()).collect::<Vec<_>>(), then);
            let (mut start, mut paged) = (None, Vec::new());
            loop {
                let (namespace, at) = (Some("ns"), Some(revision));
                let request = PageRequest { table, namespace, at, start, limit: 2, matches: &|_| true };
                let page = store.page(request).unwrap();
                paged.extend(page.objects);
                prop_assert_eq!(page.remaining, past.objects.len() - paged.len());
                start = page.next;
                if start.is_none() {
                    break;
                }
            }
            prop_assert_eq!(paged.iter().map(|o| &o.key).collect::<Vec<_>>(), past.objects.iter().map(|o| &o.key).collect::<Vec<_>>());
        }
    }
}
