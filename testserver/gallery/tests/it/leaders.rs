//! Operators that lead by a Lease.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use kube_verify::Family;
use tokio::time::{Instant, sleep};

use super::operators::{control, one_child, verify};

const PERIOD: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(15);

fn leases(client: &Client) -> Api<Lease> {
    Api::default_namespaced(client.clone())
}

/// Waits until the Lease is free, and takes it. Whether it is free is told by its changes, not by the clocks of others.
async fn take(client: &Client) -> Result<(), kube::Error> {
    let leases = leases(client);
    let (mut seen, mut since) = (None, Instant::now());
    loop {
        let Some(held) = leases.get_opt("pages").await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some("pages".into()), ..ObjectMeta::default() },
                spec: Some(spec()),
            };
            return leases.create(&PostParams::default(), &lease).await.map(drop);
        };
        if held.metadata.resource_version != seen {
            (seen, since) = (held.metadata.resource_version.clone(), Instant::now());
        }
        if since.elapsed() > DURATION || holds(&held) {
            return leases
                .replace("pages", &PostParams::default(), &Lease { spec: Some(spec()), ..held })
                .await
                .map(drop);
        }
        sleep(PERIOD).await;
    }
}

fn spec() -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some("pages-0".into()),
        lease_duration_seconds: Some(15),
        renew_time: Some(MicroTime(Timestamp::now())),
        ..LeaseSpec::default()
    }
}

fn holds(lease: &Lease) -> bool {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some("pages-0")
}

/// Ends when the Lease has another holder, or cannot be renewed in time.
async fn renew(client: &Client) {
    let mut renewed = Instant::now();
    while renewed.elapsed() < DURATION - 2 * PERIOD {
        sleep(PERIOD).await;
        let Ok(held) = leases(client).get("pages").await else { continue };
        if !holds(&held) {
            return;
        }
        let renewal = Lease { spec: Some(spec()), ..held };
        if leases(client).replace("pages", &PostParams::default(), &renewal).await.is_ok() {
            renewed = Instant::now();
        }
    }
}

pub(crate) async fn lead(client: Client) {
    while take(&client).await.is_err() {
        sleep(PERIOD).await;
    }
    tokio::select! {
        biased;
        () = renew(&client) => {}
        () = control(client.clone(), one_child) => {}
    }
}

/// BUG: it never looks again whether it leads.
pub(crate) async fn leads_for_ever(client: Client) {
    while take(&client).await.is_err() {
        sleep(PERIOD).await;
    }
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
