//! Runs the suite against the embedded server. `embedded-gaps.txt` lists known failures: a listed case that passes, and an unlisted one
//! that fails, both fail the test.

mod identities;

use std::{collections::BTreeMap, time::Duration};

use conformance::{Options, Report, Verdict};
use kube_testserver::{TestServer, User};

const GAPS: &str = include_str!("../embedded-gaps.txt");

/// The default server: plain HTTP without RBAC.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_server_conforms() {
    let server = TestServer::start().await.expect("the embedded server starts");
    conforms(server, "plain").await;
}

/// The server as clusters are configured: TLS, authentication, RBAC. All cases apply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_server_conforms_with_access_control() {
    let server =
        identities::with_users(User::new("viewer")).tls().start().await.expect("the embedded server starts");
    let report = conforms(server, "rbac").await;
    let left_out: Vec<&str> = report
        .results
        .iter()
        .filter(|result| matches!(result.verdict, Verdict::NotApplicable(_)))
        .map(|result| result.id.as_str())
        .collect();
    assert!(left_out.is_empty(), "not applicable: {left_out:?}");
    check_table(&report);
}

/// Checks that the column `embedded`, the list of features and the unchecked fields in the documentation match this run; `UPDATE_TABLE=1`
/// updates them.
fn check_table(report: &Report) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/conformance.md");
    let text = std::fs::read_to_string(file).expect("docs/conformance.md is there");
    let current =
        conformance::with_column(&text, "embedded", report).expect("docs/conformance.md has the table");
    let current = conformance::with_features(&current).expect("docs/conformance.md has the list of features");
    let current =
        conformance::with_unchecked(&current).expect("docs/conformance.md has the unchecked fields");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        std::fs::write(file, current).expect("docs/conformance.md can be written");
        return;
    }
    assert!(
        text == current,
        "the table in docs/conformance.md is not current: UPDATE_TABLE=1 cargo test -p conformance --test embedded"
    );
}

async fn conforms(server: TestServer, name: &str) -> Report {
    let dir = std::env::temp_dir().join(format!("conformance-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory for the kubeconfig");
    let kubeconfig = dir.join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig()).expect("the kubeconfig is written");
    let report =
        conformance::run(&Options { kubeconfig, wait: Duration::from_secs(8), ..Options::default() }).await;
    server.shutdown().await;
    let _ = std::fs::remove_dir_all(&dir);
    let report = report.expect("the suite runs");
    println!("{report}");

    let gaps = gaps();
    let mut wrong = Vec::new();
    for result in &report.results {
        match (&result.verdict, gaps.get(result.id.as_str())) {
            (Verdict::Failed(_), None) if result.unchecked => {}
            (Verdict::Passed, None) if result.unchecked => {
                wrong.push(format!("{} passes: take it out of recorded/unchecked.jsonl", result.id));
            }
            (Verdict::Failed(failure), None) => {
                wrong.push(format!("{} fails and is not listed:\n{failure}", result.id))
            }
            (Verdict::Passed, Some(_)) => {
                wrong.push(format!("{} passes: take it off embedded-gaps.txt", result.id))
            }
            _ => {}
        }
    }
    for id in gaps.keys() {
        if !report.results.iter().any(|result| result.id == *id) {
            wrong.push(format!("{id} is listed in embedded-gaps.txt, but there is no such case"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), report.results.len(), wrong.join("\n"));
    report
}

/// Lines of `id: reason`; `#` starts a comment.
fn gaps() -> BTreeMap<&'static str, &'static str> {
    let lines = GAPS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").expect("a line of embedded-gaps.txt is `id: reason`")).collect()
}
