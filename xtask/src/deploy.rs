//! Jobs about what is deployed: metrics, alert rules, dashboard and debug page.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use walkdir::WalkDir;

use crate::command::pause;
use crate::context::{Context, scratch};
use crate::job::{flag, no_arguments};
use crate::skip::skip;
use crate::{paths, pattern, tools};

/// Metrics that the running example has to show.
const METRICS: [&str; 9] = [
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_bucket",
    "controller_runtime_webhook_requests_total",
    "controller_runtime_webhook_latency_seconds_bucket",
    "controller_runtime_webhook_panics_total",
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_time_seconds_bucket",
    "workqueue_depth",
    "workqueue_queue_duration_seconds_bucket",
];
const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","userInfo":{},
  "kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
  "object":{"metadata":{"name":"a"}}}}"#;
const SECOND: Duration = Duration::from_secs(1);

/// Metrics of a running example are well-formed; dashboard and alert rules use metrics that exist, and alerts fire when they should.
pub(crate) fn promtool(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.require(&["curl"])?;
    let dashboard = cx.read(paths::DASHBOARD)?;
    serde_json::from_str::<serde_json::Value>(&dashboard).context(paths::DASHBOARD)?;
    let texts = dashboard + &cx.read(paths::RULES)? + &cx.read(paths::RULES_TEST)?;
    unknown_metrics(cx, &texts)?;
    let program = tools::promtool(cx)?;
    let metrics = metrics_of_the_example(cx)?;
    for name in METRICS {
        ensure!(metrics.lines().any(|line| line.starts_with(name)), "no metric {name}");
    }
    cx.command(&program).args(["check", "metrics"]).stdin(metrics).run()?;
    cx.command(&program).args(["check", "rules", paths::RULES]).run()?;
    cx.command(&program).args(["test", "rules", paths::RULES_TEST]).run()
}

/// A test of kube-runtime compares the names in its code with what a run records.
fn unknown_metrics(cx: &Context, texts: &str) -> Result<()> {
    let mut names = used_metrics(texts);
    for file in WalkDir::new(cx.path("crates")) {
        let file = file?;
        if file.path().extension().is_some_and(|extension| extension == "rs") {
            let code = std::fs::read_to_string(file.path())?;
            names.retain(|name| !code.contains(&format!("\"{name}\"")));
        }
    }
    ensure!(names.is_empty(), "deploy/ uses metrics that no crate records: {names:?}");
    Ok(())
}

/// The names of metrics in rules and dashboards, without what Prometheus adds to those of histograms.
fn used_metrics(texts: &str) -> BTreeSet<String> {
    let name = pattern::regex(
        r"\b(?:controller_runtime|workqueue|leader_election|kube_runtime|kube_operator|rest_client)_[a-z_]+",
    );
    let plain = |name: &str| {
        let endings = ["_bucket", "_sum", "_count"];
        endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
    };
    name.find_iter(texts).map(|found| plain(found.as_str())).collect()
}

/// Runs the example, which has a reconciler that panics, and calls its webhook once.
fn metrics_of_the_example(cx: &Context) -> Result<String> {
    let serving = cx.build("--example", "serving")?;
    let work = scratch()?;
    let (out, log) = (work.path().join("out"), work.path().join("log"));
    // It ends with its standard input.
    let example = cx.command(serving).spawn_with_input(&out, &log)?;
    let url = wait_for(&out, 60 * SECOND, |text| {
        text.lines().next().filter(|_| text.contains('\n')).map(str::to_owned)
    })?;
    let curl = |args: &[&str], path: &str| {
        cx.command("curl").arg("-sSf").args(args).arg(format!("{url}{path}")).read()
    };
    curl(&["--retry", "3"], "/readyz")?;
    let review = curl(&["-H", "Content-Type: application/json", "-d", REVIEW], "/validate--v1-configmap")?;
    ensure!(review.contains("must not be empty"), "the webhook answers {review}");
    let metrics = curl(&[], "/metrics");
    drop(example);
    metrics.map(|text| text + "\n").with_context(|| std::fs::read_to_string(&log).unwrap_or_default())
}

/// The debug page of the example operator in headless Chromium; `--update` replaces the screenshot.
pub(crate) fn debug_page(cx: &Context, args: &[String]) -> Result<()> {
    let update = flag(args, "--update")?;
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = browsers.into_iter().find(|browser| cx.has(browser)) else {
        return skip("no Chromium");
    };
    let work = scratch()?;
    let (out, log) = (work.path().join("out"), work.path().join("log"));
    let operator =
        cx.command(cx.build("--bin", "operator")?).args(["--embedded", "--metrics", "127.0.0.1:18080"]);
    let _operator = operator.args(["--webhooks", "127.0.0.1:19443"]).spawn(&out, &log)?;
    wait_for(&out, 60 * SECOND, |text| text.contains("cleaned up by the finalizer").then_some(()))
        .with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
    let chrome = |args: &[&str]| {
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"];
        let command =
            cx.command(browser).args(flags).arg(format!("--user-data-dir={}", work.path().display()));
        command.args(args).arg("http://127.0.0.1:18080/debug/controllers").limit(60 * SECOND)
    };
    let page = chrome(&["--dump-dom"]).read()?.to_lowercase();
    for text in ["pages", "deployment", "configmap", "leads", "watching"] {
        ensure!(page.contains(text), "the page does not show {text:?}");
    }
    let screenshot = work.path().join("page.png");
    chrome(&["--window-size=1100,900", &format!("--screenshot={}", screenshot.display())]).read()?;
    ensure!(std::fs::metadata(&screenshot)?.len() > 10_000, "the screenshot is empty");
    if update {
        std::fs::copy(&screenshot, cx.path(paths::SCREENSHOT))?;
    }
    println!("the page shows the controller, its watches and the leader");
    Ok(())
}

/// Waits until a file has what `find` looks for.
fn wait_for<T>(file: &Path, limit: Duration, find: impl Fn(&str) -> Option<T>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(found) = find(&text) {
            return Ok(found);
        }
        if Instant::now() > end {
            bail!("the program did not get there: {text}");
        }
        pause(Duration::from_millis(50))?;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn series_of_a_histogram_count_as_its_metric() {
        let names = super::used_metrics(
            "rate(workqueue_latency_seconds_bucket[5m]) / rest_client_requests_total > up",
        );
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["rest_client_requests_total", "workqueue_latency_seconds"]
        );
    }
}
