//! Operators that lead by a Lease.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ObjectMeta, PostParams},
};
use kube_testserver::{ApiServer, Fault, Match};
use kube_verify::Family;
use tokio::time::{Instant, sleep};

use super::operators::{Page, control, one_child, page, verify};

/// Who wants to lead.
#[derive(Clone, Copy)]
struct Candidate {
    name: &'static str,
    period: Duration,
    duration: Duration,
}

const ALONE: Candidate = Candidate::new("pages-0");

impl Candidate {
    const fn new(name: &'static str) -> Self {
        Self { name, period: Duration::from_secs(2), duration: Duration::from_secs(15) }
    }

    fn spec(&self) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.name.into()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }
    }

    fn holds(&self, lease: &Lease) -> bool {
        lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(self.name)
    }

    /// Writes that the Lease is renewed.
    async fn renew(&self, client: &Client, held: Lease) -> Result<Lease, kube::Error> {
        let renewal = Lease { spec: Some(self.spec()), ..held };
        leases(client).replace("pages", &PostParams::default(), &renewal).await
    }

    /// Waits until the Lease is free, and takes it.
    async fn take(&self, client: &Client) -> Lease {
        loop {
            match self.try_to_take(client).await {
                Ok(lease) => return lease,
                Err(_) => sleep(self.period).await,
            }
        }
    }

    /// Whether the Lease is free is told by its changes, not by the clocks of others.
    async fn try_to_take(&self, client: &Client) -> Result<Lease, kube::Error> {
        let (mut seen, mut since) = (None, Instant::now());
        loop {
            let Some(held) = leases(client).get_opt("pages").await? else {
                let metadata = ObjectMeta { name: Some("pages".into()), ..ObjectMeta::default() };
                let lease = Lease { metadata, spec: Some(self.spec()) };
                return leases(client).create(&PostParams::default(), &lease).await;
            };
            if held.metadata.resource_version != seen {
                (seen, since) = (held.metadata.resource_version.clone(), Instant::now());
            }
            if since.elapsed() > self.duration || self.holds(&held) {
                return self.renew(client, held).await;
            }
            sleep(self.period).await;
        }
    }

    /// Ends when the Lease has another holder, or cannot be renewed in time.
    async fn keep(&self, client: &Client) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < self.duration - 2 * self.period {
            sleep(self.period).await;
            let Ok(held) = leases(client).get("pages").await else { continue };
            if !self.holds(&held) {
                return;
            }
            if self.renew(client, held).await.is_ok() {
                renewed = Instant::now();
            }
        }
    }

    /// Works while it leads.
    async fn lead(self, client: Client) {
        self.take(&client).await;
        tokio::select! {
            biased;
            () = self.keep(&client) => {}
            () = control(client.clone(), one_child) => {}
        }
    }
}

fn leases(client: &Client) -> Api<Lease> {
    Api::default_namespaced(client.clone())
}

async fn lead(client: Client) {
    ALONE.lead(client).await;
}

/// BUG: it never looks again whether it leads.
pub(crate) async fn leads_for_ever(client: Client) {
    ALONE.take(&client).await;
    control(client, one_child).await;
}

#[test]
fn a_leader_that_stops_when_its_lease_is_lost_is_right() {
    let report = verify(|_| lead).families([Family::LostLease, Family::Restart]).report();
    assert!(report.is_ok(), "{report}");
    assert!(!report.to_string().contains("whose fault did not come"), "{report}");
}

#[test]
fn a_leader_that_goes_on_without_its_lease_is_found() {
    let report = verify(|_| leads_for_ever).families([Family::LostLease]).report();
    assert_eq!(report.families(), [Family::LostLease], "{report}");
    let (_, finding) = report.findings().next().unwrap();
    assert!(finding.to_string().starts_with("[two leaders] "), "{report}");
}

#[test]
fn a_leader_may_take_as_long_as_its_lease_is_valid() {
    async fn slow(client: Client) {
        let slow = Candidate { period: Duration::from_secs(26), duration: Duration::from_secs(137), ..ALONE };
        slow.lead(client).await;
    }
    // The Lease is taken at different times after a renewal.
    let mut verify = verify(|_| slow);
    for seconds in 1..3 {
        let time = Duration::from_secs(seconds);
        verify = verify
            .step("wait", |step| step.advance(time))
            .step("create another", |step| step.apply(page("b")))
            .step("delete another", |step| step.delete::<Page>("b"));
    }
    let report = verify.families([Family::LostLease]).report();
    assert!(report.is_ok(), "{report}");
}

/// Uses Leases, and leads by none of them: it looks who leads elsewhere, and locks something while it starts.
async fn uses_leases(client: Client) {
    let lock = async {
        leases(&client).get_opt("elsewhere").await?;
        let metadata = ObjectMeta { name: Some("lock".into()), ..ObjectMeta::default() };
        let lock = Lease { metadata, spec: Some(ALONE.spec()) };
        leases(&client).create(&PostParams::default(), &lock).await?;
        sleep(ALONE.period).await;
        leases(&client).delete("lock", &DeleteParams::default()).await
    };
    // A process before may have left it.
    drop(lock.await);
    control(client.clone(), one_child).await;
}

#[test]
fn who_only_uses_leases_leads_by_none() {
    let report = verify(|_| uses_leases).families([Family::LostLease]).report();
    assert!(report.tried() == 0 && report.to_string().contains("no fault can be tried"), "{report}");
}

/// A replica beside which another one leads or waits, in the same process. It does not read the Lease while it leads.
async fn replica(client: Client, me: Candidate, leads: &AtomicBool) {
    let mut held = me.take(&client).await;
    assert!(!leads.swap(true, Ordering::Relaxed), "{} leads beside another one", me.name);
    let renews = async {
        loop {
            sleep(me.period).await;
            match me.renew(&client, held).await {
                Ok(renewed) => held = renewed,
                Err(_) => return,
            }
        }
    };
    tokio::select! {
        biased;
        () = renews => {}
        () = control(client.clone(), one_child) => {}
    }
    leads.store(false, Ordering::Relaxed);
}

async fn two_replicas(client: Client) {
    let leads = AtomicBool::new(false);
    let replicas = ["pages-0", "pages-1"].map(Candidate::new).map(async |me| {
        loop {
            replica(client.clone(), me, &leads).await;
        }
    });
    join_all(replicas).await;
}

#[test]
fn a_standby_that_goes_by_the_version_leaves_a_living_leader_alone() {
    let report = verify(|_| two_replicas).families([Family::Restart]).per_family(1).report();
    assert!(report.is_ok(), "{report}");
}

/// What a step with a call sees of a leader that renews for ever, whatever happens: its last number, of all runs.
fn seen_by_a_call<Fut>(call: impl Fn(ApiServer) -> Fut + Send + Sync + 'static) -> u64
where
    Fut: Future<Output = u64> + Send + 'static,
{
    let seen = Arc::new(AtomicU64::new(0));
    let last = seen.clone();
    let report = verify(|_| leads_whatever_happens)
        .step("call", move |step| {
            step.call(move |server| {
                let (called, last) = (call(server), last.clone());
                async move { last.store(called.await, Ordering::Relaxed) }
            })
        })
        .families([Family::Restart])
        .per_family(1)
        .report();
    assert!(report.is_ok(), "{report}");
    seen.load(Ordering::Relaxed)
}

async fn leads_whatever_happens(client: Client) {
    let renews = async {
        let mut held = ALONE.take(&client).await;
        loop {
            sleep(ALONE.period).await;
            if let Ok(renewed) = ALONE.renew(&client, held.clone()).await {
                held = renewed;
            }
        }
    };
    tokio::select! {
        () = renews => {}
        () = control(client.clone(), one_child) => {}
    }
}

#[test]
fn a_step_sees_each_renewal() {
    let versions = seen_by_a_call(async |server| {
        let mut versions = BTreeSet::new();
        for _ in 0..30 {
            sleep(ALONE.period).await;
            let lease = server.objects("coordination.k8s.io", "leases").unwrap().remove(0);
            versions.insert(lease["metadata"]["resourceVersion"].to_string());
        }
        versions.len() as u64
    });
    assert!(versions >= 29, "{versions} versions in a minute");
}

#[test]
fn a_step_can_refuse_renewals() {
    let hits = seen_by_a_call(async |server| {
        let rule = server.fault(Match::update::<Lease>(), Fault::status(500, "InternalError"));
        sleep(30 * ALONE.period).await;
        rule.remove();
        rule.hits()
    });
    assert!(hits >= 29, "{hits} renewals are refused in a minute");
}

#[test]
fn an_observer_is_told_of_each_renewal() {
    let told = Arc::new(AtomicU64::new(0));
    let counter = told.clone();
    let report = verify(|_| leads_whatever_happens)
        .cluster(move |builder| {
            let counter = counter.clone();
            builder.on_response(move |request| {
                let is_renewal = request.method == "PUT" && request.uri.path().ends_with("/leases/pages");
                counter.fetch_add(is_renewal.into(), Ordering::Relaxed);
            })
        })
        .families([Family::Restart])
        .per_family(1)
        .report();
    assert!(report.is_ok(), "{report}");
    // Three runs without faults and one with, each of more than ten minutes.
    let told = told.load(Ordering::Relaxed);
    assert!(told > 4 * 300, "{told} renewals");
}
