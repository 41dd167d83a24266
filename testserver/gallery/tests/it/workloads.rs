//! Operators whose children run pods.

use std::sync::Arc;

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
use kube_verify::{Family, Verify};
use serde_json::{Value, json};

use super::operators::{Failed, Page, Result, owner, verify};

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

/// Applies one child of this kind for each page.
async fn runs<K: Runs>(client: Client) {
    let config = watcher::Config::default;
    let controller = Controller::new(Api::<Page>::all(client.clone()), config())
        .owns(Api::<K>::all(client.clone()), config());
    let retry = |_, _: &Failed, _| Action::requeue(std::time::Duration::from_secs(5));
    let reconcile = |page, client| async move { apply::<K>(page, client).await.map_err(Failed) };
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

async fn apply<K: Runs>(page: Arc<Page>, client: Arc<Client>) -> Result {
    if page.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let children: Api<K> = Api::namespaced((*client).clone(), "default");
    let name = format!("{}-web", page.name_any());
    let child = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()),
        "metadata": {"name": name, "ownerReferences": [owner(&page)]}, "spec": K::wanted()});
    children.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(child)).await?;
    Ok(Action::await_change())
}

fn verify_runs<K: Runs>() -> Verify {
    verify(|_| runs::<K>).cluster(|builder| builder.with(Workloads).with(Kubelet))
}

#[test]
fn an_operator_that_makes_pods_is_right() {
    let report = verify_runs::<Pod>().report();
    assert!(report.is_ok(), "{report}");
    let report = verify_runs::<Pod>().families([Family::Evicted]).report();
    assert!(report.is_ok() && report.tried() > 0, "{report}");
    assert!(
        !report.to_string().contains("whose fault did not come, such as evicted pod after step 1"),
        "{report}"
    );
}

#[test]
fn an_operator_that_makes_a_deployment_is_right() {
    let report = verify_runs::<Deployment>().report();
    assert!(report.is_ok(), "{report}");
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
