//! The builder of a verification.

use std::{panic::resume_unwind, sync::Arc};

use kube_testserver::{Builder, Manifests};

use crate::{
    explore,
    family::{Families, Family},
    invariant::Invariant,
    operator::{Operator, Start, World},
    options::Options,
    plan::Plan,
    report::{Allows, Report},
    scenario::{Scenario, Version},
    shards,
    state::State,
    workload::Step,
};

/// Why a plan that was asked for shows nothing.
const DID_NOT_COME: &str = "the fault did not come: the operator does something else now";

/// A verification: the operator, what users do with it, what must hold.
///
/// ```
/// use kube_verify::{ApiService, Family, Verify};
///
/// # async fn run_operator(_: ApiService) -> Result<(), String> { std::future::pending().await }
/// fn verify() -> Verify {
///     Verify::new(|_| |service: ApiService| run_operator(service))
///         .step("create", |step| step.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
///         .step("delete", |step| step.delete_of("configmap", "a"))
///         .families(Family::all() - Family::Late)
///         .invariant("at most one Secret", |state| state.count_of("secrets") <= 1)
/// }
/// assert!(verify().report().is_ok());
/// verify().replay("down after step 0");
/// ```
#[must_use]
pub struct Verify {
    scenario: Scenario,
    invariants: Vec<Invariant>,
    families: Families,
}

impl Verify {
    /// Tries an operator. The function is called once per run with what surrounds the operator, and returns the function that starts a
    /// process of it: see [`Operator`].
    pub fn new<O, From>(operator: impl Fn(&World) -> O + Send + Sync + 'static) -> Self
    where
        O: Operator<From>,
    {
        let scenario = Scenario {
            operator: version(operator),
            old_operator: None,
            cluster: Box::new(|builder| builder),
            steps: Vec::new(),
            invariants: Arc::default(),
            allows: Allows::default(),
            per_family: None,
        };
        Self { scenario, invariants: Vec::new(), families: Family::all() }
    }

    /// Tries upgrades from an old version too ([`Family::Upgrade`]): it runs until it crashes, after each of its writes and between the
    /// steps, then the version of [`new`](Self::new) starts. From then on the state must be the one of the new version alone, values that
    /// were generated stay, and nothing that both make is made twice. The definitions are those of the new version all the time, as they
    /// are installed first.
    ///
    /// Both functions get the same [`World`]: take fakes from [`World::fake`].
    ///
    /// ```
    /// use kube_verify::{ApiService, Verify};
    ///
    /// # mod old { pub async fn run(_: kube_verify::ApiService) {} }
    /// # async fn run(_: ApiService) {}
    /// let verify = Verify::new(|_| |service: ApiService| run(service)).upgrade_from(|_| |service: ApiService| old::run(service));
    /// # drop(verify);
    /// ```
    pub fn upgrade_from<O, From>(mut self, old: impl Fn(&World) -> O + Send + Sync + 'static) -> Self
    where
        O: Operator<From>,
    {
        self.scenario.old_operator = Some(version(old));
        self
    }

    /// Installs definitions before the operator starts: typed, as values, from YAML text, a file or a folder.
    pub fn crds(self, crds: impl Into<Manifests>) -> Self {
        let crds = crds.into();
        self.cluster(move |builder| builder.with_crds(crds.clone()))
    }

    /// Creates objects before the operator starts: roles, configuration.
    pub fn fixtures(self, objects: impl Into<Manifests>) -> Self {
        let objects = objects.into();
        self.cluster(move |builder| builder.with_objects(objects.clone()))
    }

    /// Configures the cluster: controllers such as `Workloads` and `Kubelet`, RBAC. Seed, time and the delay of the garbage collector are
    /// chosen for each run.
    pub fn cluster(mut self, configure: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        let before = self.scenario.cluster;
        self.scenario.cluster = Box::new(move |builder| configure(before(builder)));
        self
    }

    /// Adds a step of the workload. After each, the operator gets time until nothing changes any more.
    pub fn step(mut self, name: impl Into<String>, step: impl FnOnce(Step) -> Step) -> Self {
        self.scenario.steps.push((name.into(), step(Step::default())));
        self
    }

    /// A condition that holds after every write, of the operator and of users, and, if the cluster has changed something, every few seconds
    /// in between. It sees all objects, and nothing else may count: it is not asked again while they stay the same.
    pub fn invariant(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&State) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.invariants.push(Invariant { name: name.into(), holds: Box::new(holds) });
        self
    }

    /// Accepts what is found with a text that contains `pattern`, where `*` stands for anything. The reason is for readers. A pattern that
    /// covers nothing is an error.
    ///
    /// # Panics
    /// If the pattern covers every text, or the reason is empty.
    pub fn allow(mut self, pattern: impl Into<String>, reason: impl Into<String>) -> Self {
        self.scenario.allows.add(pattern, reason).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Tries only these families of faults; by default all.
    pub fn families(mut self, families: impl Into<Families>) -> Self {
        self.families = families.into();
        self
    }

    /// Tries at most so many plans of each family, evenly spread over the places of the fault, so that a test that runs with all others is
    /// quick; by default all. Families begin at different places. The report says how many were left out. `cargo kube verify` tries all.
    ///
    /// # Panics
    /// If it is none.
    pub fn per_family(mut self, most: usize) -> Self {
        assert!(most > 0, "expected at least one plan of each family");
        self.scenario.per_family = Some(most);
        self
    }

    /// Tries all plans, and prints what was tried.
    ///
    /// # Panics
    /// With the report, if something is found. If a variable of `cargo kube verify` cannot be read.
    pub fn run(self) {
        let ran = Options::from_env().and_then(|options| self.run_with(&options));
        match ran {
            Ok(Ran::Well) => {}
            // The test fails without a word: who reads the report tells it once.
            Ok(Ran::Told) => resume_unwind(Box::new("the report tells what is found")),
            Err(error) => panic!("\n{error}\n"),
        }
    }

    /// Does what the options ask for. The error is the report, or why there is none.
    fn run_with(self, options: &Options) -> Result<Ran, String> {
        let families = self.families.clone();
        let verify = self.ready();
        if options.list {
            let (_, choice) = explore::plans(&verify.scenario, &families, options);
            let list: String = choice.plans.iter().map(|plan| format!("{plan}\n")).collect();
            print!("{list}");
            options.leave("json", &serde_json::json!(choice.plans).to_string())?;
            return options.leave("txt", &list).map(|()| Ran::Well);
        }
        let report = if options.jobs > 1 && options.shard.is_none() {
            shards::explore(options.jobs)?
        } else {
            explore::explore(&verify.scenario, &families, options)
        };
        options.leave("json", &report.to_json().to_string())?;
        options.leave("txt", &format!("{report}\n"))?;
        if !report.is_ok() {
            return if options.is_left() { Ok(Ran::Told) } else { Err(report.to_string()) };
        }
        if options.plan.is_some() && !report.reached_all() {
            return Err(format!("{DID_NOT_COME}\n{report}"));
        }
        println!("{report}");
        Ok(Ran::Well)
    }

    /// Tries all plans; for tests that look at the result themselves.
    pub fn report(self) -> Report {
        let families = self.families.clone();
        explore::explore(&self.ready().scenario, &families, &Options::default())
    }

    /// Tries one plan, as a report prints it: the regression test of a finding.
    ///
    /// # Panics
    /// If something is found, with the report. If the text is no plan. If the fault of the plan does not come: then the operator does
    /// something else now, and the test shows nothing.
    pub fn replay(self, plan: &str) {
        let plan: Plan = plan.parse().unwrap_or_else(|error| panic!("{error}"));
        let families = self.families.clone();
        let options = Options { plan: Some(plan), ..Options::default() };
        let report = explore::explore(&self.ready().scenario, &families, &options);
        assert!(report.is_ok(), "\n{report}\n");
        assert!(report.reached_all(), "\n{DID_NOT_COME}\n{report}\n");
    }

    fn ready(mut self) -> Self {
        self.scenario.invariants = std::mem::take(&mut self.invariants).into();
        self
    }
}

fn version<O, From>(operator: impl Fn(&World) -> O + Send + Sync + 'static) -> Version
where
    O: Operator<From>,
{
    Box::new(move |world| -> Start {
        let operator = operator(world);
        Arc::new(move |service| operator.start(service))
    })
}

/// How a verification ended that has a result.
#[derive(Debug, PartialEq)]
enum Ran {
    Well,
    /// Something is found, and the report is left for the process that asked for it.
    Told,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use serde_json::json;
    use tokio::time::sleep;
    use tower::ServiceExt;

    use super::*;
    use crate::{finding::Oracle, gate::ApiService};

    const WANTED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wanted}\n";

    async fn panics(_: ApiService) {
        panic!("at once");
    }

    #[test]
    fn an_operator_that_always_panics_is_one_finding() {
        let verify = Verify::new(|_| panics).step("create", |step| step.apply(WANTED));
        let report = verify.families([Family::Restart]).report();
        let found: Vec<_> = report.findings().map(|(_, finding)| finding).collect();
        assert!(found.iter().filter(|finding| finding.oracle() == Oracle::Panic).count() == 1, "{found:?}");
        assert!(found.iter().any(|finding| finding.what().ends_with("at once")), "{found:?}");
    }

    #[test]
    fn a_report_that_another_process_reads_is_told_by_that_one() {
        let run = |options: &Options| {
            let verify = Verify::new(|_| panics).step("create", |step| step.apply(WANTED));
            verify.families([Family::Restart]).run_with(options)
        };
        let told = run(&Options::default()).unwrap_err();
        assert!(told.contains("at once"), "{told}");
        let folder = tempfile::tempdir().expect("a folder");
        let json = folder.path().join("1.json");
        assert_eq!(run(&Options { json: Some(json.clone()), ..Options::default() }), Ok(Ran::Told));
        let left = std::fs::read_to_string(json).expect("a report");
        assert!(left.contains("at once"), "{left}");
        let reports = Some(folder.path().to_owned());
        assert_eq!(run(&Options { reports, ..Options::default() }), Ok(Ran::Told));
        let texts =
            std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let texts = texts.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
        assert_eq!(texts.count(), 1);
    }

    /// Reads a ConfigMap, or creates it: the code of the answer, 0 without one.
    async fn map(service: &ApiService, method: &str, name: &str) -> u16 {
        let all = "/api/v1/namespaces/default/configmaps";
        let (path, body) = match method {
            "POST" => (all.to_owned(), json!({ "metadata": { "name": name } }).to_string()),
            _ => (format!("{all}/{name}"), String::new()),
        };
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body))).expect("invariant: the request is valid");
        service.clone().oneshot(request).await.map_or(0, |answer| answer.status().as_u16())
    }

    /// Two maps, if users want them. BUG: what a crash has left out is written once, whether or not that succeeds.
    async fn repairs_once(service: ApiService) {
        loop {
            sleep(Duration::from_secs(5)).await;
            if map(&service, "GET", "wanted").await != 200 {
                continue;
            }
            match map(&service, "GET", "one").await {
                404 if !matches!(map(&service, "POST", "one").await, 201 | 409) => continue,
                404 => {
                    while !matches!(map(&service, "POST", "two").await, 201 | 409) {
                        sleep(Duration::from_secs(1)).await;
                    }
                }
                200 => {
                    if map(&service, "GET", "two").await == 404 {
                        map(&service, "POST", "two").await;
                    }
                }
                _ => continue,
            }
            return std::future::pending().await;
        }
    }

    #[test]
    fn a_second_fault_finds_what_one_does_not() {
        let tried = |is_deep| {
            let verify = Verify::new(|_| repairs_once).step("create", |step| step.apply(WANTED)).ready();
            let families = [Family::CrashAfter, Family::Refused].into();
            explore::explore(&verify.scenario, &families, &Options { is_deep, ..Options::default() })
        };
        let (single, both) = (tried(false), tried(true));
        assert!(single.is_ok() && single.tried() == 4, "{single}");
        let plan = "crash after create configmaps one #1, then 500 for create configmaps two #1";
        let found: Vec<_> = both.findings().map(|(plan, _)| plan).collect();
        assert!(both.tried() > 4 && found.contains(&plan.to_owned()), "{both}");
        assert!(found.iter().all(|found| found == plan), "{both}");
    }
}
