//! Operators with a bug: it is found.

use kube::Client;
use kube_verify::Family;

use super::operators::{
    control, orphans, random_child, replaces_passwords, swallows, verify, writes_for_ever,
};

#[test]
fn a_random_name_that_only_the_status_knows_is_found() {
    let report = verify(|_| |client: Client| control(client, random_child)).report();
    assert!(report.families().contains(&Family::CrashAfter), "{report}");
}

#[test]
fn an_error_that_is_swallowed_is_found() {
    let report = verify(|_| |client: Client| control(client, swallows)).report();
    assert!(report.families().contains(&Family::Refused), "{report}");
}

#[test]
fn a_failed_read_that_replaces_a_password_is_found() {
    let report = verify(|_| |client: Client| control(client, replaces_passwords)).report();
    assert!(report.families().contains(&Family::FailedRead), "{report}");
    let (plan, _) = report.findings().find(|(plan, _)| plan.contains("get secrets")).unwrap();
    assert!(plan.starts_with("500 for get secrets a-password #"), "{plan}");
}

#[test]
fn a_child_without_an_owner_is_found_without_a_fault() {
    let report = verify(|_| |client: Client| control(client, orphans)).report();
    let text = report.to_string();
    assert!(
        text.contains(
            "FOUND without any fault: [left over] after the last step, configmaps a-page is left over"
        ),
        "{text}"
    );
}

#[test]
fn an_endless_chain_of_writes_is_found_without_a_fault() {
    let report = verify(|_| |client: Client| control(client, writes_for_ever)).report();
    assert!(report.to_string().contains("never settles"), "{report}");
}
