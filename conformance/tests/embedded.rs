//! The suite against the embedded server. `embedded-gaps.txt` lists the cases that it does not meet yet: a listed case that
//! passes, and an unlisted one that fails, both fail the test.

use std::{collections::BTreeMap, time::Duration};

use conformance::{Options, Verdict};
use kube_testserver::TestServer;

const GAPS: &str = include_str!("../embedded-gaps.txt");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_server_conforms() {
    let server = TestServer::start().await.expect("the embedded server starts");
    let dir = std::env::temp_dir().join(format!("conformance-{}", std::process::id()));
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
}

/// Lines of `id: reason`; `#` starts a comment.
fn gaps() -> BTreeMap<&'static str, &'static str> {
    let lines = GAPS.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").expect("a line of embedded-gaps.txt is `id: reason`")).collect()
}
