//! The table of `README.md`: what is found of each operator, and at which cost.
//!
//! `UPDATE_TABLE=1 cargo test -p gallery` writes it.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Mutex, time::Duration};

use kube::Client;
use kube_verify::{Family, Verify};

use super::operators::{control, verify};
use super::{
    caches, cleanup, edits, errors, leaders, operators, sharding, statuses, upgrades, webhooks, workloads,
};

/// How much more time than the table says is a finding of its own: machines differ.
const SLOWER: f64 = 8.0;

/// What has to be found: by a plan that begins so, or by a run with `no fault`, and as what.
type Expected = Option<(&'static str, &'static str)>;

/// An operator with what is found of it: a test each, and a row.
macro_rules! gallery {
    ($($name:ident($bug:literal, $expected:expr) => $verify:expr;)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $bug, $expected, $verify);
        })*

        const NAMES: &[(&str, Expected)] = &[$((stringify!($name), $expected)),*];
    };
}

/// An operator whose reconciler needs nothing but a client.
macro_rules! reconciler {
    ($reconcile:expr) => {
        verify(|_| |client: Client| control(client, $reconcile))
    };
}

/// An operator with a system outside of the cluster.
macro_rules! external {
    ($reconcile:path) => {
        verify(|world| {
            let systems = cleanup::buckets(world);
            move |client: Client| {
                let systems = systems.clone();
                control(client, move |page, client| $reconcile(page, client, systems.clone()))
            }
        })
    };
}

gallery! {
    random_name("a random name that only the status knows", Some(("crash after create", "left over")))
        => verify(|_| operators::random_child_alone);
    slow_is_failed("what takes longer than five seconds has failed, and gets another name",
        Some(("slow answer of create", "left over"))) => verify(|_| errors::hurries_alone);
    swallowed_error("an error is logged, and the reconcile succeeds", Some(("500 for apply", "end state")))
        => reconciler!(operators::swallows);
    no_second_attempt("the error policy waits for a change", Some(("500 for apply", "end state")))
        => verify(|_| errors::gives_up);
    late_complaint("a process that had an error writes every four minutes from then on", Some(("500 for apply", "fixed point")))
        => verify(|_| |client: Client| errors::complains(client, Duration::from_secs(240)));
    ignored_conflict_of_an_update("a conflict of an update is ignored", Some(("409 for update", "end state")))
        => reconciler!(errors::ignores_conflicts_of_updates);
    ignored_conflict_of_a_patch("a conflict of a patch with a version is ignored", Some(("409 for patch", "end state")))
        => reconciler!(errors::ignores_conflicts_of_patches);
    failed_read_is_absence("each failed read means absent: a new password", Some(("500 for get secrets a-password #", "regenerated")))
        => reconciler!(operators::replaces_passwords);
    panic_at_a_failed_read("a read that fails panics", Some(("500 for get", "panic"))) => reconciler!(errors::panics);
    no_owner("a child without an owner reference or a finalizer", Some(("no fault", "left over")))
        => reconciler!(operators::orphans);
    endless_writes("each status is an event that causes another", Some(("no fault", "fixed point")))
        => reconciler!(operators::writes_for_ever);
    endless_reads("a loop of reads without a pause", Some(("no fault", "fixed point")))
        => reconciler!(operators::asks_for_ever);
    whole_replacement("a replacement of the whole object loses what others wrote", Some(("another writer before update", "lost update")))
        => reconciler!(operators::replaces);
    memory_only("only the memory of the process knows what to clean up", Some(("crash after create", "left over")))
        => verify(|_| |client: Client| control(client, operators::remembers()));
    children_unwatched("children are not watched: a late write of another process stays",
        Some(("arrival after the next step of apply", "end state"))) => verify(|_| operators::blind);
    leader_for_ever("a leader does not look whether it still leads", Some(("lost lease", "two leaders")))
        => verify(|_| leaders::leads_for_ever);
    finalizer_goes_first("the finalizer is removed before the clean-up", Some(("crash after patch pages", "external")))
        => external!(cleanup::finalizer_goes_first);
    finalizer_comes_last("the finalizer comes after what it is for", Some(("crash and stay down after patch pages", "external")))
        => external!(cleanup::finalizer_comes_last)
            .step("create another", |step| step.apply(operators::page("b")))
            .step("delete another", |step| step.delete::<operators::Page>("b"));
    clean_up_at_events("the clean-up is done at the event of the deletion", Some(("down after step 2", "external")))
        => verify(|world| {
            let systems = cleanup::buckets(world);
            move |client: Client| cleanup::cleans_at_events(client, systems.clone())
        });
    creation_without_a_key("an account is created again when its number was not noted", Some(("crash before patch pages", "external")))
        => external!(cleanup::creates_accounts);
    gone_child_is_an_error("a child that is gone already stops the clean-up", Some(("crash after delete", "stuck")))
        => reconciler!(cleanup::child_must_be_there);
    status_first("the status says that all is done, then it is done", Some(("crash before apply", "end state")))
        => reconciler!(statuses::reports_first);
    status_once("the status is of the first generation", Some(("no fault", "stale status")))
        => reconciler!(statuses::reports_once);
    start_writes("each process writes when it was started", Some(("restart after step", "restart")))
        => verify(|_| statuses::says_when_it_started);
    delete_and_create("a change deletes the child and makes it anew", Some(("late arrival of delete", "counts")))
        => reconciler!(statuses::makes_anew);
    sweep_at_start("children are deleted at the start whose owner is not in a list, which may be old", Some(("restart onto an old cache", "counts")))
        => verify(|_| caches::sweeps_at_start);
    number_by_cache("the next number is the one after those in a cache", Some(("lag of 20 s", "invariant")))
        => caches::verify_numbers();
    pod_of_the_status("the pod that the status names is there", Some(("evicted pod", "end state")))
        => workloads::verify_remembers_its_pod();
    five_minutes("what is not ready after five minutes never will be", Some(("slow workloads", "end state")))
        => workloads::verify_waits_five_minutes();
    right_child("correct: one child by server-side apply", None) => reconciler!(operators::one_child);
    right_list("correct: children are found by a list, others are deleted", None)
        => reconciler!(operators::deletes_by_list);
    right_status("correct: the status says what was done", None) => reconciler!(statuses::reports);
    right_password("correct: a password is created once", None) => reconciler!(errors::makes_a_password_once);
    right_bucket("correct: a bucket with a finalizer", None) => external!(cleanup::bucket);
    right_clean_up("correct, but for late requests and edits of what it does not watch: a child without an owner, with a finalizer", None)
        => reconciler!(cleanup::deletes_child).families(Family::all() - Family::Late - Family::ChildEdited);
    right_pods("correct: pods of its own", None) => workloads::verify_pods();
    right_deployment("correct: a Deployment", None) => workloads::verify_deployments();
    right_member("correct: it shares the objects with other replicas", None) => verify(|_| sharding::shares);
    merge_without_null("a merge patch without null: what users take away stays", Some(("edit spec.note", "end state")))
        => edits::verify_merges();
    empty_text("each text has a first letter", Some(("empty spec.text", "panic"))) => edits::verify_panics_at_an_empty_text();
    parts_of_nothing("a loop that a size of 0 never ends", Some(("zero spec.size", "fixed point")))
        => edits::verify_never_comes_to_the_end();
    trusted_child("a child that a user has changed stays so", Some(("overwrite data", "end state")))
        => edits::verify_trusts_its_child();
    right_fields("correct: each edit of a user is followed, there and back", None) => edits::verify_reflects();
    renamed_child("a new version gives the child another name and leaves the old one",
        Some(("upgrade right after apply", "left over"))) => upgrades::renamed_child();
    forgotten_password("a new version does not find the password of the old one", Some(("upgrade after step 1", "regenerated")))
        => upgrades::forgotten_password();
    right_migration("correct: a new version renames the child and deletes the old one", None)
        => upgrades::right_migration();
    webhook_appends("a defaulting webhook appends with each write", Some(("no fault", "fixed point")))
        => webhooks::verify(webhooks::appends, "Fail");
    webhook_ignored("nobody else has the default of a webhook whose failure is ignored", Some(("webhook away", "end state")))
        => webhooks::verify(webhooks::defaults, "Ignore");
    right_webhook("correct: a defaulting webhook", None) => webhooks::verify(webhooks::defaults, "Fail");
    refused_child("an error of the webhook of the child is swallowed", Some(("webhook away", "end state")))
        => webhooks::of_children(operators::swallows);
    right_refused_child("correct: the child has to pass a webhook", None)
        => webhooks::of_children(operators::one_child);
}

#[test]
fn the_table_has_a_row_for_each_operator() {
    let rows: Vec<String> = rows(&fs::read_to_string(table()).unwrap()).into_keys().collect();
    let mut names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(rows, names);
    let right = NAMES.iter().filter(|(_, expected)| expected.is_none()).count();
    assert!(right >= 6 && names.len() - right >= 20);
}

fn check(name: &str, bug: &str, expected: Expected, verify: Verify) {
    let before = cpu_time();
    let report = verify.report();
    let time = cpu_time().saturating_sub(before).as_secs_f64();
    match expected {
        None => assert!(report.is_ok(), "{report}"),
        Some((plan, oracle)) => assert!(
            report
                .findings()
                .any(|(of, finding)| of.starts_with(plan) && finding.oracle().to_string() == oracle),
            "nothing is found by {plan:?} as {oracle:?}:\n{report}"
        ),
    }
    let found: Vec<String> = report
        .found()
        .into_iter()
        .map(|((family, oracle), plans)| match family {
            Some(family) => format!("{family} {plans} ({oracle})"),
            None => format!("no fault ({oracle})"),
        })
        .collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    let row = format!("| {name} | {bug} | {found} | {} |", report.tried());
    row_is_current(name, &row, time);
}

/// Compares the row of an operator with that of the table, or writes it.
fn row_is_current(name: &str, row: &str, time: f64) {
    static FILE: Mutex<()> = Mutex::new(());
    let file = FILE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let text = fs::read_to_string(table()).unwrap();
    let mut rows = rows(&text);
    if std::env::var_os("UPDATE_TABLE").is_some() {
        rows.insert(name.to_owned(), format!("{row} {time:.1} s |"));
        fs::write(table(), with_rows(&text, &rows)).unwrap();
        return;
    }
    drop(file);
    let written = rows.get(name).map_or("", String::as_str);
    let told = written.strip_prefix(row).unwrap_or_else(|| {
        panic!("UPDATE_TABLE=1 cargo test -p gallery writes README.md, which has\n{written}\nand not\n{row}")
    });
    let told: f64 = told.trim_end_matches(" s |").trim().parse().unwrap();
    assert!(time <= told.max(0.5) * SLOWER, "{time:.1} s of CPU time, {told} s in the table");
}

fn table() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

/// The rows of the table by the names of the operators.
fn rows(text: &str) -> BTreeMap<String, String> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let name = |row: &str| row.split(" | ").next().unwrap_or_default().trim_start_matches("| ").to_owned();
    rows.map(|row| (name(row), row.to_owned())).collect()
}

/// The text with these rows, in the order in which the operators are here.
fn with_rows(text: &str, rows: &BTreeMap<String, String>) -> String {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("|---")).collect();
    let rule = text.lines().find(|line| line.starts_with("|---")).unwrap_or_default();
    let rows = NAMES.iter().filter_map(|(name, _)| rows.get(*name)).map(String::as_str);
    head.into_iter().chain([rule]).chain(rows).map(|line| format!("{line}\n")).collect()
}

/// The CPU time of this thread, on which all runs of a verification are.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0))
}
