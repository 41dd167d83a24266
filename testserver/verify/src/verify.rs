//! The builder of a verification.

use std::{panic::resume_unwind, sync::Arc};

use kube_testserver::{Builder, Manifests, User};

use crate::{
    explore,
    family::{Families, Family},
    invariant::Invariant,
    list::list,
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
/// # async fn run_operator(service: ApiService) -> Result<(), String> {
/// #     let event = r#"{"metadata": {"name": "seen"}, "involvedObject": {"namespace": "default"}}"#;
/// #     let request = http::Request::post("/api/v1/namespaces/default/events");
/// #     let request = request.body(http_body_util::Full::new(bytes::Bytes::from(event))).unwrap();
/// #     tower::ServiceExt::oneshot(service, request).await.unwrap();
/// #     std::future::pending().await
/// # }
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
            account: None,
            steps: Vec::new(),
            invariants: Arc::default(),
            allows: Allows::default(),
            per_family: None,
        };
        Self { scenario, invariants: Vec::new(), families: Family::all() }
    }

    /// Tries upgrades from an old version too ([`Family::Upgrade`]): it runs until it crashes, after each of its writes and between the
    /// steps, then the version of [`new`](Self::new) starts. Only from then on is anything judged: the state must be the one of the new
    /// version alone, values that were generated stay, and nothing that both make is made twice. What the old version has left when nothing
    /// is wanted any more is no fault of the new one. The definitions are those of the new version all the time: they are installed first.
    /// A step that fails with the old version is a finding: nothing could be tried after it.
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

    /// Creates objects before the operator starts: configuration, and roles for its [`service_account`](Self::service_account).
    pub fn fixtures(self, objects: impl Into<Manifests>) -> Self {
        let objects = objects.into();
        self.cluster(move |builder| builder.with_objects(objects.clone()))
    }

    /// Gives the operator the permissions of this service account, in place of those of an administrator: what RBAC refuses is a finding,
    /// also in what it does after a fault only. Its roles are among the [`fixtures`](Self::fixtures).
    ///
    /// ```
    /// use kube_verify::{ApiService, Verify};
    ///
    /// # async fn run_operator(_: ApiService) {}
    /// let verify = Verify::new(|_| |service: ApiService| run_operator(service))
    ///     .service_account("shop", "prices")
    ///     .fixtures(std::path::Path::new("deploy/install.yaml"));
    /// # drop(verify);
    /// ```
    pub fn service_account(self, namespace: &str, name: &str) -> Self {
        let mut verify = self.cluster(Builder::with_rbac);
        verify.scenario.account = Some(User::of_service_account(namespace, name));
        verify
    }

    /// Configures the cluster: controllers such as `Workloads` and `Kubelet`. Seed, time and the delay of the garbage collector are chosen
    /// for each run. The operator is an administrator, but with a [`service_account`](Self::service_account).
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
    /// in between. It sees all objects, and nothing else may count: it is not asked again while they stay the same, but for the time of a
    /// Lease. It is about values of the workload, so it is not asked any more once a user edits a child or sets an extreme value.
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

    /// Tries all plans, and prints what was tried. From then on SIGINT and SIGTERM end the process of the test, whoever else listens.
    ///
    /// # Panics
    /// With the report, if something is found. If a variable of `cargo kube verify` cannot be read. If a closure of the test panics: an
    /// invariant, a step, a fake; the text says which, in the run of which plan, and what was found before.
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
        self.can_try(options)?;
        let families = self.families.clone();
        let verify = self.ready();
        if options.list {
            let (_, choice) = explore::plans(&verify.scenario, &families, options)?;
            let list = list(&choice.plans);
            print!("{list}");
            options.leave("json", &serde_json::json!(choice.plans).to_string())?;
            return options.leave("txt", &list).map(|()| Ran::Well);
        }
        let report = if options.jobs > 0 && options.shard.is_none() {
            shards::explore(options.jobs)?
        } else {
            explore::explore(&verify.scenario, &families, options)
        };
        // A part of several processes leaves that to the one that started it.
        let did_not_come = options.plan.is_some() && options.shard.is_none() && !report.reached_all();
        let text = if did_not_come { format!("{report}\n{DID_NOT_COME}") } else { report.to_string() };
        options.leave("json", &report.to_json().to_string())?;
        options.leave("txt", &format!("{text}\n"))?;
        if report.is_ok() && !did_not_come {
            println!("{text}");
            return Ok(Ran::Well);
        }
        if options.is_left() { Ok(Ran::Told) } else { Err(text) }
    }

    /// Tries all plans; for tests that look at the result themselves.
    ///
    /// # Panics
    /// If a closure of the test panics, with what was found before.
    pub fn report(self) -> Report {
        let families = self.families.clone();
        let report = explore::explore(&self.ready().scenario, &families, &Options::default());
        assert!(report.broken.is_empty(), "\n{report}\n");
        report
    }

    /// Tries one plan, as a report prints it: the regression test of a finding.
    ///
    /// # Panics
    /// If something is found, with the report. If the text is no plan, or upgrades without an old version. If the fault of the plan does
    /// not come: then the operator does something else now, and the test shows nothing. If a closure of the test panics.
    pub fn replay(self, plan: &str) {
        let plan: Plan = plan.parse().unwrap_or_else(|error| panic!("{error}"));
        let families = self.families.clone();
        let options = Options { plan: Some(plan), ..Options::default() };
        self.can_try(&options).unwrap_or_else(|error| panic!("{error}"));
        let report = explore::explore(&self.ready().scenario, &families, &options);
        assert!(report.is_ok(), "\n{report}\n");
        assert!(report.reached_all(), "\n{DID_NOT_COME}\n{report}\n");
    }

    /// Whether the plan that is asked for has all that it needs.
    fn can_try(&self, options: &Options) -> Result<(), String> {
        let upgrade = options.plan.as_ref().filter(|plan| plan.upgrades());
        match upgrade.filter(|_| self.scenario.old_operator.is_none()) {
            Some(plan) => {
                Err(format!("{plan}: expected an old version of the operator, from `Verify::upgrade_from`"))
            }
            None => Ok(()),
        }
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
mod tests;
