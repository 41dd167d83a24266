//! Correct operators: nothing is found.

use kube::Client;

use super::operators::{control, deletes_by_list, one_child, verify};

#[test]
fn an_operator_that_applies_one_child_is_right() {
    let report = verify(|_| |client: Client| control(client, one_child)).report();
    assert!(report.is_ok(), "{report}");
    assert!(report.tried() > 30, "{report}");
}

#[test]
fn an_operator_that_finds_its_children_by_a_list_is_right() {
    let report = verify(|_| |client: Client| control(client, deletes_by_list)).report();
    assert!(report.is_ok(), "{report}");
}
