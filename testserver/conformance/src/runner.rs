//! Runs cases concurrently, each in its own namespace.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use serde_json::json;

use crate::{
    area,
    case::Case,
    check::{Failure, Outcome},
    context::Context,
    kubeconfig::Kubeconfig,
    report::{CaseResult, Report, Verdict},
    server::{RUN_LABEL, Server},
};

/// The areas that run first, on their own: a cluster's garbage collector and namespace controller wait while CRDs are created and deleted.
const EXCLUSIVE_AREAS: [&str; 2] = ["gc", "namespaces"];

/// The timeout of a case.
const CASE_TIMEOUT: Duration = Duration::from_secs(300);

/// Which cases to run, and against which server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kubeconfig file; its current context is used.
    pub kubeconfig: PathBuf,
    /// Only the cases of these areas; of all, if there are none.
    pub areas: Vec<String>,
    /// Only cases whose id contains this.
    pub case: Option<String>,
    /// The number of concurrent cases; at least 1.
    pub jobs: usize,
    /// The timeout of asynchronous effects, such as a controller's work. A loaded 1.20 server takes over a minute to delete a CRD.
    pub wait: Duration,
    /// Whether to delete the namespaces of the run, and wait until they are gone (for at most ten times [`wait`](Self::wait)).
    pub clean_up: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kubeconfig: PathBuf::new(),
            areas: Vec::new(),
            case: None,
            jobs: 8,
            wait: Duration::from_secs(120),
            clean_up: false,
        }
    }
}

/// Ids and rules of the selected cases, in order.
pub fn list(options: &Options) -> Vec<(String, String)> {
    selected(options).into_iter().map(|case| (case.id, case.rule)).collect()
}

/// Runs the selected cases. The error says why the run could not start; failed cases are in the report.
pub async fn run(options: &Options) -> Result<Report, String> {
    let cases = selected(options);
    if cases.is_empty() {
        return Err("no case has this area and id".to_owned());
    }
    let config = Kubeconfig::read(&options.kubeconfig)?;
    let server = Server::prepare(config, options.wait)
        .await
        .map_err(|e| format!("the server cannot be prepared\n{e}"))?;
    let server = Arc::new(server);
    let started = Instant::now();
    let (exclusive, others): (Vec<_>, Vec<_>) =
        cases.into_iter().enumerate().partition(|(_, case)| EXCLUSIVE_AREAS.contains(&case.area()));
    let mut results = Vec::new();
    for cases in [exclusive, others] {
        let running = cases.into_iter().map(|(number, case)| {
            let server = server.clone();
            async move { (number, run_case(server, number, case).await) }
        });
        results.extend(stream::iter(running).buffer_unordered(options.jobs.max(1)).collect::<Vec<_>>().await);
    }
    results.sort_by_key(|(number, _)| *number);
    let results = results.into_iter().map(|(_, result)| result).collect();
    // Cleanup errors do not affect the results.
    let _ = server.clean_up().await;
    if options.clean_up {
        server
            .remove_namespaces()
            .await
            .map_err(|e| format!("the namespaces of the run cannot be removed\n{e}"))?;
    }
    Ok(Report { version: server.capabilities.version, seconds: started.elapsed().as_secs_f64(), results })
}

fn selected(options: &Options) -> Vec<Case> {
    let mut cases = area::cases();
    if !options.areas.is_empty() {
        cases.retain(|case| options.areas.iter().any(|area| case.area() == area));
    }
    if let Some(part) = &options.case {
        cases.retain(|case| case.id.contains(part.as_str()));
    }
    cases
}

async fn run_case(server: Arc<Server>, number: usize, case: Case) -> CaseResult {
    let started = Instant::now();
    let verdict = match case.needs.iter().find_map(|need| server.capabilities.unmet(*need)) {
        Some(reason) => Verdict::NotApplicable(reason),
        None => {
            // Each case is a task: a panic fails only that case.
            let task =
                tokio::spawn(tokio::time::timeout(CASE_TIMEOUT, in_namespace(server, number, case.clone())));
            match task.await {
                Ok(Ok(Ok(()))) => Verdict::Passed,
                Ok(Ok(Err(failure))) => Verdict::Failed(failure),
                Ok(Err(_)) => Verdict::Failed(Failure::new(
                    &case.id,
                    format!("an end within {CASE_TIMEOUT:?}"),
                    "none".into(),
                )),
                Err(panic) => Verdict::Failed(Failure::new(&case.id, "no panic".into(), panic.to_string())),
            }
        }
    };
    CaseResult {
        area: case.area().to_owned(),
        id: case.id,
        rule: case.rule,
        unchecked: case.unchecked.is_some(),
        millis: started.elapsed().as_millis() as u64,
        verdict,
    }
}

async fn in_namespace(server: Arc<Server>, number: usize, case: Case) -> Outcome {
    let cx = Context { ns: format!("{}-{number}", server.run), server, subject: case.subject };
    // The unchecked fields are sent as dry runs to the default namespace.
    if cx.server.has_core_kinds() && case.unchecked.is_none() {
        let labels = json!({RUN_LABEL: cx.server.run});
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cx.ns, "labels": labels}});
        cx.create_at("/api/v1/namespaces", &body).await?;
        cx.server.has_account(&cx.ns).await?;
    }
    (case.run)(cx).await
}
