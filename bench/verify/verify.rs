//! The operators of `operators.rs`, on whichever `kube` the package depends on, with a single dev-dependency.

use kube::Client;
use kube_verify::{ApiService, Oracle, Verify};
use operators::{Read, run};

fn verify(read: Read) -> Verify {
    Verify::new(move |_| move |service: ApiService| run(Client::new(service, "default"), read))
        .step("create", |step| {
            step.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, labels: {database: ''}}\ndata: {size: small}\n")
        })
        .step("change", |step| step.patch_of("ConfigMap", "shop", serde_json::json!({"data": {"size": "large"}})))
        .step("a user deletes the Secret", |step| step.delete_of("Secret", "shop-password"))
        .step("delete", |step| step.delete_of("ConfigMap", "shop"))
}

#[test]
fn nothing_is_found_in_a_correct_operator() {
    verify(Read::Correct).run();
}

#[test]
fn a_failed_read_that_replaces_a_password_is_found() {
    let report = verify(Read::ErrorIsAbsent).report();
    let mut findings = report.findings();
    let regenerated = findings.any(|(plan, finding)| {
        finding.oracle() == Oracle::Regenerated && plan.contains("get secrets shop-password")
    });
    assert!(regenerated, "{report}");
}
