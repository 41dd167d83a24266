//! Operators with a bug: it is found.

use kube::{Client, core::CustomResourceExt};
use kube_verify::{Family, Report};
use serde_json::json;

use super::operators::{
    Page, asks_for_ever, blind, control, remembers, replaces, swallows, verify, writes_for_ever,
};

/// What is found by faults of a family.
fn found(report: &Report, plan: &str) -> String {
    let (_, finding) =
        report.findings().find(|(text, _)| text.starts_with(plan)).unwrap_or_else(|| panic!("{report}"));
    finding.to_string()
}

#[test]
fn a_replacement_that_ignores_other_writers_is_found() {
    let report =
        verify(|_| |client: Client| control(client, replaces)).families([Family::OtherWriter]).report();
    assert_eq!(
        found(&report, "another writer before update configmaps a-page #1"),
        "[lost update] after step 2, configmaps a-page has lost what another writer wrote before update configmaps a-page #1"
    );
}

#[test]
fn what_is_in_memory_alone_is_found_when_it_is_needed() {
    let report =
        verify(|_| |client: Client| control(client, remembers())).families([Family::CrashAfter]).report();
    assert_eq!(
        found(&report, "crash after create configmaps a-page #1"),
        "[left over] after step 3, configmaps a-page is left over"
    );
}

#[test]
fn a_loop_of_reads_is_found_without_a_fault() {
    let report = verify(|_| |client: Client| control(client, asks_for_ever)).report();
    assert!(!report.is_ok());
    let text = report.to_string();
    assert!(
        text.contains("FOUND without any fault: [fixed point] more than 20000 requests in step 1"),
        "{text}"
    );
}

#[test]
fn a_run_that_ends_early_is_never_right() {
    let report = verify(|_| |client: Client| control(client, writes_for_ever))
        .allow("never settles", "known")
        .report();
    assert!(!report.is_ok(), "{report}");
    let text = report.to_string();
    assert!(text.contains("the run without faults ended in step"), "{report}");
    assert!(text.contains(" patch pages.example.com/status a #"), "its last lines are shown: {report}");
}

#[test]
fn no_plan_at_all_is_an_error() {
    let report =
        verify(|_| |client: Client| control(client, swallows)).families([Family::LostLease]).report();
    assert!(!report.is_ok() && report.tried() == 0, "{report}");
    assert!(report.to_string().contains("no fault can be tried"), "{report}");
}

#[test]
fn a_late_write_that_overwrites_a_newer_one_is_found() {
    let report = verify(|_| blind).families([Family::Late]).report();
    let finding = found(&report, "arrival after the next step of apply configmaps a-page #1");
    assert_eq!(
        finding,
        "[end state] after step 2, configmaps a-page.data.text is \"one\" instead of \"two\""
    );
}

#[test]
fn an_idle_step_does_not_end_a_run() {
    let page = json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": "a"}, "spec": {"text": "one"}});
    let report = kube_verify::Verify::new(|_| |client: Client| control(client, remembers()))
        .crds([Page::crd()])
        .step("create", |step| step.apply(page))
        .step("labels only", |step| step.patch::<Page>("a", json!({"metadata": {"labels": {"a": "b"}}})))
        .step("delete", |step| step.delete::<Page>("a"))
        .families([Family::CrashAfter])
        .report();
    assert_eq!(
        found(&report, "crash after create configmaps a-page #1"),
        "[left over] after step 3, configmaps a-page is left over"
    );
}

#[test]
fn a_timeline_has_the_reconciles_of_controllers() {
    let report = super::caches::verify_numbers().families([Family::Lag]).report();
    let text = report.to_string();
    assert!(text.contains(" the reconcile of default/b in page starts: object updated\n"), "{text}");
}
