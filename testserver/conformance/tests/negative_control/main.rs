//! The negative control of the suite: breaks the embedded server on purpose and expects the suite to notice.
//!
//! A suite that passes everywhere proves nothing. Each row of [`table::BREAKAGES`] is a way in which a server may be wrong, and the areas
//! of the suite that must find it. The server itself is not changed: a service in front of it rewrites requests, responses or watch events
//! ([`broken`]). The same areas must pass on the unbroken server behind the same service. Every area of the suite has a breakage that it
//! finds.

mod broken;
#[path = "../identities/mod.rs"]
mod identities;
mod message;
mod table;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use conformance::{Options, Report, Verdict};
use futures::{StreamExt, stream};

use broken::BrokenServer;
use table::{BREAKAGES, Breakage};

/// The number of servers that are checked at a time. Most cases of a broken watch wait for an event.
const SERVERS: usize = 8;
/// The number of cases at a time on one server.
const CASES: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_finds_every_breakage() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let areas: BTreeSet<&str> = BREAKAGES.iter().flat_map(|breakage| breakage.areas).copied().collect();
    let covered: BTreeSet<String> = areas.iter().map(ToString::to_string).collect();
    let known: BTreeSet<String> = conformance::list(&Options::default())
        .iter()
        .filter_map(|(id, _)| id.split_once('/').map(|(area, _)| area.to_owned()))
        // Its cases fail on the embedded server: they are what it does not check.
        .filter(|area| area != "unchecked")
        .collect();
    assert_eq!(covered, known, "the areas of the table, and the areas of the suite");

    let unbroken = std::iter::once((None, areas.into_iter().collect()));
    let broken = BREAKAGES.iter().map(|breakage| (Some(breakage), breakage.areas.to_vec()));
    let runs = unbroken.chain(broken).enumerate().map(|(number, (breakage, areas))| {
        let kubeconfig = dir.path().join(number.to_string());
        async move {
            let started = Instant::now();
            let report = run(breakage, &areas, kubeconfig).await;
            (breakage, areas, report, started.elapsed())
        }
    });
    // The unbroken server runs all areas, and therefore longest: it starts first.
    let mut wrong = Vec::new();
    let mut reports = stream::iter(runs).buffer_unordered(SERVERS);
    while let Some((breakage, areas, report, took)) = reports.next().await {
        let name = breakage.map_or("unbroken", |breakage| breakage.name);
        for area in areas {
            let failed = failures(&report, area);
            println!(
                "{:6.1} s  {name}: {area}: {} cases fail: {}",
                took.as_secs_f64(),
                failed.len(),
                first(&failed)
            );
            match breakage {
                None if !failed.is_empty() => wrong.push(format!("unbroken: {area} fails:\n{report}")),
                Some(breakage) if failed.is_empty() => {
                    wrong.push(format!("{name}: {}. No case of {area} fails", breakage.what))
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} breakages:\n{}", wrong.len(), BREAKAGES.len(), wrong.join("\n"));
}

/// Runs areas of the suite against a new server.
async fn run(breakage: Option<&'static Breakage>, areas: &[&str], kubeconfig: PathBuf) -> Report {
    let server = BrokenServer::start(breakage).await;
    write(&kubeconfig, &server.kubeconfig());
    let options = Options {
        kubeconfig,
        areas: areas.iter().map(ToString::to_string).collect(),
        jobs: CASES,
        wait: Duration::from_secs(if breakage.is_some() { 2 } else { 30 }),
        ..Options::default()
    };
    let report = conformance::run(&options).await;
    server.stop().await;
    report.unwrap_or_else(|why| {
        panic!("{}: the suite does not run: {why}", breakage.map_or("unbroken", |b| b.name))
    })
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("the kubeconfig can be written");
}

/// The ids of the cases of an area that fail.
fn failures<'a>(report: &'a Report, area: &str) -> Vec<&'a str> {
    let of_area = report.results.iter().filter(|result| result.area == area);
    of_area
        .filter(|result| matches!(result.verdict, Verdict::Failed(_)))
        .map(|result| result.id.as_str())
        .collect()
}

fn first(ids: &[&str]) -> String {
    const SHOWN: usize = 3;
    let rest = if ids.len() > SHOWN { ", ..." } else { "" };
    format!("{}{rest}", ids[..ids.len().min(SHOWN)].join(", "))
}
