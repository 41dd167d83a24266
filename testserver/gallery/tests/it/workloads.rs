//! Operators whose children run pods.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Pod},
    serde::de::DeserializeOwned,
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use kube_testserver::BuiltInController::{Kubelet, Workloads};
use kube_verify::{Family, Operator, Verify, World};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::operators::{Failed, Page, Result, is_deleted, owner, patch_status, verify};

/// A kind of children that run pods, and what a page wants of it.
trait Runs:
    kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
    + Clone
    + DeserializeOwned
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    fn wanted() -> Value;
}

fn pod() -> Value {
    json!({"containers": [{"name": "web", "image": "nginx"}], "terminationGracePeriodSeconds": 0})
}

impl Runs for Pod {
    fn wanted() -> Value {
        pod()
    }
}

impl Runs for Deployment {
    fn wanted() -> Value {
        let labels = json!({"app": "web"});
        json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod()}})
    }
}

/// Reconciles pages, also at events of their children.
async fn control<K: Runs, F, Fut>(client: Client, reconcile: F)
where
    F: Fn(Arc<Page>, Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let config = watcher::Config::default;
    let controller = Controller::new(Api::<Page>::all(client.clone()), config())
        .owns(Api::<K>::all(client.clone()), config());
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    let reconcile = Arc::new(reconcile);
    let reconcile = move |page, client: Arc<Client>| {
        let reconcile = reconcile.clone();
        async move { reconcile(page, (*client).clone()).await.map_err(Failed) }
    };
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

/// Applies one child of this kind for each page.
async fn runs<K: Runs>(client: Client) {
    control::<K, _, _>(client, |page, client| async move {
        if !is_deleted(&page) {
            apply::<K>(&page, &client).await?;
        }
        Ok(Action::await_change())
    })
    .await;
}

async fn apply<K: Runs>(page: &Page, client: &Client) -> Result<K> {
    let children: Api<K> = Api::namespaced(client.clone(), "default");
    let name = format!("{}-web", page.name_any());
    let child = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()),
        "metadata": {"name": name, "ownerReferences": [owner(page)]}, "spec": K::wanted()});
    Ok(children.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(child)).await?)
}

/// BUG: the pod that the status names is there.
async fn remembers_its_pod(client: Client) {
    control::<Pod, _, _>(client, |page, client| async move {
        let known = page.status.as_ref().and_then(|status| status.child.as_ref());
        if known.is_none() && !is_deleted(&page) {
            let pod = apply::<Pod>(&page, &client).await?;
            patch_status(&client, &page, json!({"child": pod.name_any()})).await?;
        }
        Ok(Action::await_change())
    })
    .await;
}

/// BUG: what is not there after five minutes will never be.
async fn waits_five_minutes(client: Client) {
    let begun = Arc::new(Mutex::new(BTreeMap::new()));
    control::<Deployment, _, _>(client, move |page, client| {
        let begun = *begun.lock().unwrap().entry(page.uid()).or_insert_with(Instant::now);
        async move {
            let known = page.status.as_ref().and_then(|status| status.child.as_ref());
            if known.is_some() || is_deleted(&page) {
                return Ok(Action::await_change());
            }
            let status = apply::<Deployment>(&page, &client).await?.status.unwrap_or_default();
            let verdict = match status.available_replicas {
                Some(1) => "ready",
                _ if begun.elapsed() > Duration::from_secs(300) => "failed",
                _ => return Ok(Action::requeue(Duration::from_secs(30))),
            };
            patch_status(&client, &page, json!({"child": verdict})).await?;
            Ok(Action::await_change())
        }
    })
    .await;
}

/// Pages in a cluster that runs pods.
fn verify_in_cluster<O, M>(operator: impl Fn(&World) -> O + Send + Sync + 'static) -> Verify
where
    O: Operator<M>,
{
    verify(operator).cluster(|builder| builder.with(Workloads).with(Kubelet))
}

fn verify_runs<K: Runs>() -> Verify {
    verify_in_cluster(|_| runs::<K>)
}

pub(crate) fn verify_pods() -> Verify {
    verify_runs::<Pod>()
}

pub(crate) fn verify_deployments() -> Verify {
    verify_runs::<Deployment>()
}

pub(crate) fn verify_remembers_its_pod() -> Verify {
    verify_in_cluster(|_| remembers_its_pod)
}

pub(crate) fn verify_waits_five_minutes() -> Verify {
    verify_in_cluster(|_| waits_five_minutes)
}

#[test]
fn evicted_pods_of_an_operator_come_again() {
    let report = verify_runs::<Pod>().families([Family::Evicted]).report();
    assert!(report.is_ok() && report.tried() > 0, "{report}");
    assert!(
        !report.to_string().contains("whose fault did not come, such as evicted pod after step 1"),
        "{report}"
    );
}

#[test]
fn pods_of_a_deployment_count_for_an_invariant() {
    let report = verify_runs::<Deployment>()
        .families([Family::Restart])
        .invariant("no pod", |state| state.count::<Pod>() == 0)
        .report();
    assert!(
        report.to_string().contains("FOUND without any fault: [invariant] no pod does not hold"),
        "{report}"
    );
}
