//! The decisions of a migration, without requests.

use std::time::Duration;

use kube_client::Error;
use kube_core::{ApiResource, GroupVersionKind, Status};

use super::checkpoint::Checkpoint;
use super::definition::Facts;
use super::error::MigrateError;
use super::failure::Failure;
use super::machine::{Action, End, Machine, Page, SETTLE, Target};

fn facts(generation: i64, stored: &[&str]) -> Facts {
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v2", "Page"), "pages");
    let stored = stored.iter().map(|version| (*version).to_owned()).collect();
    let resource_version = generation.to_string();
    Facts { uid: "u".into(), generation, resource_version, storage: "v2".into(), stored, kind }
}

fn old() -> Facts {
    facts(1, &["v1", "v2"])
}

fn target(name: &str) -> Target {
    Target { namespace: None, name: name.into(), uid: "o".into(), resource_version: "7".into() }
}

fn page(names: &[&str], token: Option<&str>) -> Page {
    Page {
        targets: names.iter().map(|name| target(name)).collect(),
        token: token.map(str::to_owned),
        remaining: None,
    }
}

fn list(token: Option<&str>) -> Action {
    Action::List { token: token.map(str::to_owned), checkpoint: None }
}

fn temporary() -> Failure {
    Failure::Temporary { after: None, message: "busy".into() }
}

/// In a pass, before the first page.
fn visiting() -> Machine {
    let mut machine = Machine::new(None, None);
    assert_eq!(machine.start(), Action::ReadDefinition);
    assert_eq!(machine.definition(old()), Action::Wait(SETTLE));
    assert_eq!(machine.waited(), Action::ReadDefinition);
    assert_eq!(machine.definition(old()), list(None));
    machine
}

fn end(action: &Action) -> String {
    match action {
        Action::Done(Err(end)) => end.clone().into_error("pages.example.com").to_string(),
        other => panic!("not the end: {other:?}"),
    }
}

#[test]
fn all_pages_are_visited_then_the_other_versions_are_removed() {
    let mut machine = visiting();
    assert_eq!(machine.page(page(&["a", "b"], Some("t"))), Action::Write(target("a")));
    assert_eq!(machine.written(true), Action::Write(target("b")));
    let checkpoint = Checkpoint { uid: "u".into(), generation: 1, token: "t".into(), visited: 2 };
    assert_eq!(
        machine.written(false),
        Action::List { token: Some("t".into()), checkpoint: Some(checkpoint) }
    );
    assert_eq!(machine.page(page(&["c"], None)), Action::Write(target("c")));
    assert_eq!(machine.written(true), Action::ReadDefinition);
    assert_eq!(machine.definition(old()), Action::Prune(old()));
    assert_eq!(machine.pruned(), Action::Done(Ok(())));
    let summary = machine.into_summary();
    assert_eq!((summary.written, summary.unchanged), (2, 1));
    assert_eq!((summary.removed_versions, summary.storage_version), (vec!["v1".to_owned()], "v2".to_owned()));
}

#[test]
fn nothing_is_requested_if_only_the_storage_version_is_stored() {
    let mut machine = Machine::new(Some("v2".into()), None);
    machine.start();
    assert_eq!(machine.definition(facts(1, &["v2"])), Action::Done(Ok(())));
    let mut machine = Machine::new(Some("v3".into()), None);
    machine.start();
    assert_eq!(
        end(&machine.definition(old())),
        "pages.example.com: expected the storage version v3, found v2"
    );
}

#[test]
fn a_definition_that_changes_meanwhile_needs_another_pass() {
    let mut machine = visiting();
    assert_eq!(machine.page(page(&[], None)), Action::ReadDefinition);
    assert_eq!(machine.definition(facts(2, &["v1", "v2"])), Action::Wait(SETTLE));
    machine.waited();
    // And again while it settles.
    assert_eq!(machine.definition(facts(3, &["v1", "v2"])), Action::Wait(SETTLE));
    machine.waited();
    let now = facts(3, &["v1", "v2"]);
    assert_eq!(machine.definition(now.clone()), list(None));
    machine.page(page(&[], None));
    assert_eq!(machine.definition(now.clone()), Action::Prune(now.clone()));
    // The status was changed in between: its version is newer, the spec is the same.
    let wait = |seconds| Action::Wait(Duration::from_secs(seconds));
    assert_eq!(machine.failed(&Failure::Conflict("changed".into())), wait(1));
    assert_eq!(machine.waited(), Action::ReadDefinition);
    let newer = Facts { resource_version: "9".into(), ..now };
    assert_eq!(machine.definition(newer.clone()), Action::Prune(newer.clone()));
    // A webhook may answer so each time.
    for seconds in [2, 4, 8] {
        assert_eq!(machine.failed(&Failure::Conflict("protected".into())), wait(seconds));
        machine.waited();
        assert_eq!(machine.definition(newer.clone()), Action::Prune(newer.clone()));
    }
    let end = end(&machine.failed(&Failure::Conflict("protected".into())));
    assert!(end.ends_with("status.storedVersions of the definition: protected"), "{end}");
}

#[test]
fn a_path_that_is_not_served_is_no_object_that_is_gone() {
    let response = |text: &str| Error::Api(Status::failure(text, "NotFound").with_code(404).boxed());
    assert_eq!(Failure::of(&response("pages.example.com \"a\" not found")), Failure::NotFound);
    assert!(matches!(Failure::of(&response("404 page not found")), Failure::Temporary { .. }));
}

#[test]
fn a_definition_that_never_settles_or_is_another_one_ends_the_run() {
    let mut machine = Machine::new(None, None);
    machine.start();
    let mut action = machine.definition(old());
    let mut generation = 1;
    while action == Action::Wait(SETTLE) {
        generation += 1;
        machine.waited();
        action = machine.definition(facts(generation, &["v1", "v2"]));
    }
    assert_eq!(end(&action), "pages.example.com: it was changed 10 times meanwhile");
    let mut machine = visiting();
    machine.page(page(&[], None));
    let other = Facts { uid: "other".into(), ..old() };
    assert_eq!(
        end(&machine.definition(other)),
        "pages.example.com: it was deleted and created again meanwhile"
    );
    let mut machine = visiting();
    machine.page(page(&[], None));
    assert!(matches!(
        machine.failed(&Failure::NotFound),
        Action::Done(Err(end)) if *end == End::NotFound
    ));
}

#[test]
fn others_may_write_and_delete_objects() {
    let mut machine = visiting();
    machine.page(page(&["a", "b", "c", "d"], None));
    assert_eq!(machine.failed(&Failure::NotFound), Action::Write(target("b")), "deleted");
    assert_eq!(machine.failed(&Failure::Conflict("changed".into())), Action::Look(target("b")));
    assert_eq!(machine.found("o", "8"), Action::Write(target("c")), "written");
    assert_eq!(machine.failed(&Failure::Conflict("changed".into())), Action::Look(target("c")));
    assert_eq!(machine.found("new", "7"), Action::Write(target("d")), "created again");
    assert_eq!(machine.failed(&Failure::Conflict("changed".into())), Action::Look(target("d")));
    assert_eq!(machine.failed(&Failure::NotFound), Action::ReadDefinition, "deleted");
    let summary = machine.into_summary();
    assert_eq!((summary.written_by_others, summary.deleted), (2, 2));
}

#[test]
fn a_conflict_without_another_write_is_tried_again_then_refused() {
    let mut machine = visiting();
    machine.page(page(&["a"], None));
    let mut waited = Duration::ZERO;
    for attempt in 1.. {
        assert_eq!(machine.failed(&Failure::Conflict("a webhook".into())), Action::Look(target("a")));
        match machine.found("o", "7") {
            Action::Wait(time) => waited += time,
            last => {
                assert_eq!((last, attempt), (Action::ReadDefinition, 5));
                break;
            }
        }
        assert_eq!(machine.waited(), Action::Write(target("a")));
    }
    assert_eq!(waited, Duration::from_secs(1 + 2 + 4 + 8));
    let summary = machine.into_summary();
    assert!(!summary.is_complete());
    assert_eq!(summary.refused[0].to_string(), "a: a conflict, although nobody changed the object");
}

#[test]
fn with_refused_objects_the_versions_stay_and_the_file_stays_at_the_first_of_them() {
    let mut machine = visiting();
    machine.page(page(&["a", "b"], Some("t")));
    assert_eq!(machine.failed(&Failure::Refused("not valid".into())), Action::Write(target("b")));
    assert_eq!(machine.written(true), list(Some("t")), "no checkpoint");
    machine.page(page(&[], None));
    assert_eq!(machine.definition(old()), Action::Done(Ok(())));
    assert_eq!(machine.into_summary().removed_versions, [""; 0]);
}

#[test]
fn a_cause_that_concerns_all_objects_ends_the_run() {
    let mut machine = visiting();
    let names: Vec<_> = (0..200).map(|number| number.to_string()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut action = machine.page(page(&names, None));
    let mut refused = 0;
    while matches!(action, Action::Write(_)) {
        action = machine.failed(&Failure::Refused("forbidden".into()));
        refused += 1;
    }
    assert_eq!(refused, 100);
    assert_eq!(end(&action), "writing the objects: the server refused 100 objects, the last with: forbidden");
}

#[test]
fn the_server_says_when_to_try_again() {
    let mut machine = visiting();
    let asked = Failure::Temporary { after: Some(Duration::from_secs(30)), message: "busy".into() };
    assert_eq!(machine.failed(&asked), Action::Wait(Duration::from_secs(30)));
    assert_eq!(machine.waited(), list(None));
    assert_eq!(machine.failed(&temporary()), Action::Wait(Duration::from_secs(2)), "the second attempt");
    machine.waited();
    machine.page(page(&["a"], None));
    assert_eq!(machine.failed(&temporary()), Action::Wait(Duration::from_secs(1)), "another request");
}

#[test]
fn a_list_that_fails_five_times_ends_the_run() {
    let mut machine = visiting();
    for _ in 1..5 {
        assert!(matches!(machine.failed(&temporary()), Action::Wait(_)));
        assert_eq!(machine.waited(), list(None));
    }
    assert_eq!(end(&machine.failed(&temporary())), "the list of the objects: busy");
    let mut machine = visiting();
    assert_eq!(end(&machine.failed(&Failure::Refused("no".into()))), "the list of the objects: no");
}

#[test]
fn a_run_goes_on_at_its_checkpoint_unless_the_definition_was_changed() {
    let checkpoint = Checkpoint::new(&old(), "t", 500);
    let mut machine = Machine::new(None, Some(checkpoint.clone()));
    machine.start();
    assert_eq!(machine.definition(old()), list(Some("t")));
    assert_eq!(machine.progress().visited, 500);
    let mut machine = Machine::new(None, Some(checkpoint));
    machine.start();
    assert_eq!(machine.definition(facts(2, &["v1", "v2"])), Action::Wait(SETTLE));
}

#[test]
fn an_expired_token_is_replaced_once_then_the_list_starts_anew() {
    let expired =
        |token: Option<&str>| Failure::Expired { token: token.map(str::to_owned), message: "old".into() };
    let mut machine = Machine::new(None, Some(Checkpoint::new(&old(), "t", 500)));
    machine.start();
    machine.definition(old());
    assert_eq!(machine.failed(&expired(Some("newer"))), list(Some("newer")));
    assert_eq!(machine.failed(&expired(Some("newest"))), list(None));
    assert_eq!(machine.progress().visited, 0);
    let mut passes = 1;
    loop {
        machine.page(page(&[], Some("t")));
        match machine.failed(&expired(None)) {
            Action::List { token: None, .. } => passes += 1,
            action => break assert_eq!(end(&action), "the list of the objects: old"),
        }
    }
    assert_eq!(passes, 10, "a list whose tokens expire at once ends");
}

#[test]
fn the_file_is_of_one_definition() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.json");
    let checkpoint = Checkpoint::new(&old(), "t", 500);
    assert_eq!(Checkpoint::read(&path, "pages.example.com").unwrap(), None);
    checkpoint.write(&path, "pages.example.com").unwrap();
    assert_eq!(Checkpoint::read(&path, "pages.example.com").unwrap(), Some(checkpoint));
    let error = |crd| Checkpoint::read(&path, crd).unwrap_err().to_string();
    assert!(
        error("leaves.example.com").ends_with(
            "state.json: expected a migration of leaves.example.com, found one of pages.example.com"
        )
    );
    std::fs::write(&path, "{}").unwrap();
    assert!(error("pages.example.com").contains("expected a state file of `cargo kube crd migrate`"));
    let below_a_file = Checkpoint::new(&old(), "t", 1).write(&path.join("state.json"), "a");
    assert!(matches!(below_a_file, Err(MigrateError::State { .. })));
    Checkpoint::remove(&path).unwrap();
    Checkpoint::remove(&path).unwrap();
}
