//! A directory of YAML that is applied, awaited and pruned in one run, on the embedded server.

#![allow(clippy::unwrap_used, reason = "functions of tests, too")]

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Api, Client, Resource as _};
use kube_testserver::{BuiltInController, ContainerState, Fault, FaultResponse, Match};
use kube_tools::apply_set::{ApplySet, ApplySetError};
use kube_tools::wait::WaitError;
use kube_tools::yaml::{Applier, ObjectError, ObjectOutcome, Objects};
use serde_json::json;

use crate::server::in_process;
use crate::yaml::{lines, params};

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
";

const GADGETS: &str = "
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: red}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

fn set() -> ApplySet {
    ApplySet::secret("default", "shop")
}

fn applier(client: &Client) -> Applier {
    Applier::new(client.clone()).wait_ready(Duration::from_secs(60)).prune(set())
}

/// ConfigMaps by these names.
fn maps(names: &[&str]) -> Objects {
    let map = |name: &&str| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n");
    Objects::parse(&names.iter().map(map).collect::<String>()).unwrap()
}

fn write(directory: &Path, file: &str, text: &str) {
    std::fs::write(directory.join(file), text).unwrap();
}

async fn names(client: &Client) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let list = maps.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

/// The kinds that the parent of the set records.
async fn recorded(client: &Client) -> String {
    let parent = Api::<Secret>::default_namespaced(client.clone()).get("shop").await.unwrap();
    parent.metadata.annotations.unwrap()["applyset.kubernetes.io/contains-group-kinds"].clone()
}

/// The controller of the deployment, 5 seconds from now.
async fn roll_out(client: &Client) {
    tokio::time::sleep(Duration::from_secs(5)).await;
    let status = json!({ "status": { "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1 } });
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_directory_is_applied_then_ready_then_pruned() {
    let (client, _server) = in_process();
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "gadgets.yaml", GADGETS);
    write(directory.path(), "old.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}");
    let objects = Objects::read(directory.path()).unwrap();
    let report = applier(&client).apply(&objects, &params()).await;
    assert_eq!(
        lines(&report),
        [
            "customresourcedefinition.apiextensions.k8s.io/gadgets.example.com created",
            "configmap/old created",
            "gadget.example.com/red created",
        ]
    );
    report.into_result().unwrap();
    assert_eq!(
        recorded(&client).await,
        "ConfigMap,CustomResourceDefinition.apiextensions.k8s.io,Gadget.example.com"
    );

    std::fs::remove_file(directory.path().join("old.yaml")).unwrap();
    write(directory.path(), "gadgets.yaml", GADGETS.split_once("---").unwrap().1);
    write(directory.path(), "web.yaml", WEB);
    let objects = Objects::read(directory.path()).unwrap();
    let mut run = applier(&client).apply(&objects, &params());
    let steps = async {
        let mut steps = Vec::new();
        while let Some(progress) = run.next().await {
            steps.push(progress.to_string());
        }
        steps
    };
    let (steps, ()) = futures::join!(steps, roll_out(&client));
    assert_eq!(
        steps,
        [
            "1/2 customresourcedefinition.apiextensions.k8s.io/gadgets.example.com unchanged",
            "2/2 deployment.apps/web created",
            "deployment.apps/web: Waiting for deployment spec update to be observed...",
            r#"deployment.apps/web: deployment "web" successfully rolled out"#,
            "gadget.example.com/red pruned",
            "configmap/old pruned",
        ]
    );
    assert_eq!(names(&client).await, [] as [&str; 0]);
    assert_eq!(recorded(&client).await, "CustomResourceDefinition.apiextensions.k8s.io,Deployment.apps");
    // Again: nothing to do, and nothing to wait for.
    let report = applier(&client).apply(&objects, &params()).await;
    assert!(lines(&report).iter().all(|line| line.ends_with("unchanged")), "{report}");
    assert!(report.pruned().is_empty() && report.prune_error().is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pruned_after_an_object_that_failed_or_is_not_ready() {
    let (client, server) = in_process();
    applier(&client).apply(&maps(&["a", "b"]), &params()).await.into_result().unwrap();
    let directory = tempfile::tempdir().unwrap();
    write(
        directory.path(),
        "objects.yaml",
        &format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: b}}}}\n---{WEB}"),
    );
    let file = directory.path().join("objects.yaml");
    let objects = Objects::read(&file).unwrap();

    // The deployment is refused: nothing is waited for.
    let rule = server.fault(Match::patch::<Deployment>(), FaultResponse::status(403, "Forbidden"));
    let started = tokio::time::Instant::now();
    let report = applier(&client).apply(&objects, &params()).await;
    assert_eq!(started.elapsed().as_secs(), 0);
    assert_eq!((report.failed().count(), report.pruned().len()), (1, 0), "{report}");
    let err = report.into_result().unwrap_err().to_string();
    let failed = format!(
        "1 of 2 objects failed: deployment.apps/web in namespace default ({}, document 2, line 3): ",
        file.display()
    );
    assert!(err.starts_with(&failed), "{err}");
    assert!(
        err.ends_with("; nothing was pruned, because not all objects were applied and are ready"),
        "{err}"
    );
    rule.remove();

    // It is accepted, and never ready.
    let report = applier(&client).apply(&objects, &params()).await;
    assert_eq!(started.elapsed().as_secs(), 60);
    let outcome = &report.failed().next().unwrap().outcome;
    assert!(
        matches!(outcome, ObjectOutcome::Failed(ObjectError::Wait(WaitError::Timeout { .. }))),
        "{outcome}"
    );
    let err = report.into_result().unwrap_err().to_string();
    assert!(err.starts_with(&failed), "{err}");
    assert!(err.contains(r#"waited 60s for deployments.apps "web" in namespace "default""#), "{err}");
    assert!(err.contains("Waiting for deployment spec update to be observed"), "{err}");
    assert_eq!(names(&client).await, ["a", "b"]);

    // What was left is found once it is ready.
    let (report, ()) =
        futures::join!(applier(&client).apply(&objects, &params()).report(), roll_out(&client));
    assert_eq!(
        lines(&report),
        ["configmap/b unchanged", "deployment.apps/web unchanged", "configmap/a pruned"]
    );
    report.into_result().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_prunes_nothing_and_reports_what_it_would() {
    let (client, server) = in_process();
    applier(&client).apply(&maps(&["a", "b"]), &params()).await.into_result().unwrap();
    let before = server.snapshot();
    let report = applier(&client).apply(&maps(&["b", "c"]), &params().dry_run()).await;
    assert_eq!(
        lines(&report),
        [
            "configmap/b unchanged (server dry run)",
            "configmap/c created (server dry run)",
            "configmap/a pruned (server dry run)",
        ]
    );
    assert_eq!(report.pruned()[0].name, "a");
    assert_eq!(server.snapshot(), before);
    // A dry run waits for nothing.
    let started = tokio::time::Instant::now();
    applier(&client).apply(&Objects::parse(WEB).unwrap(), &params().dry_run()).await.into_result().unwrap();
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test]
async fn a_set_that_is_refused_writes_nothing() {
    let (client, server) = in_process();
    let other = Applier::new(client.clone()).prune(ApplySet::secret("default", "other"));
    other.apply(&maps(&["taken"]), &params()).await.into_result().unwrap();
    let before = server.snapshot();
    let refused = async |objects: &Objects, applier: Applier| {
        let report = applier.apply(objects, &params()).await;
        assert!(report.results().is_empty() && report.prune_error().is_some(), "{report}");
        report.into_result().unwrap_err().to_string()
    };

    // An object of another set, on the server and in a file.
    let err = refused(&maps(&["free", "taken"]), applier(&client)).await;
    assert!(
        err.starts_with(
            r#"document 2, line 4: ConfigMap "taken" in namespace "default" is in another apply set"#
        ),
        "{err}"
    );
    let mut labelled = maps(&["free"]);
    let id = ApplySet::secret("default", "other").id();
    labelled.iter_mut().for_each(|map| {
        map.metadata.labels = Some([("applyset.kubernetes.io/part-of".to_owned(), id.clone())].into());
    });
    let err = refused(&labelled, applier(&client)).await;
    assert!(err.starts_with(r#"document 1, line 2: ConfigMap "free" in namespace "default" is in"#), "{err}");
    // Another tool's set, and a namespace that does not exist.
    let tool = ApplySet::secret("default", "other").tooling("mine/v1");
    let err = refused(&maps(&["free"]), applier(&client).prune(tool)).await;
    assert!(err.contains("so the set belongs to another tool: expected \"mine\""), "{err}");
    let err = refused(&maps(&["free"]), applier(&client).prune(ApplySet::secret("nowhere", "set"))).await;
    assert!(err.starts_with(r#"cannot apply Secret "set" in namespace "nowhere""#), "{err}");
    assert!(err.contains("\"nowhere\" not found"), "{err}");
    // No object at all, as of a template that was rendered empty.
    let err = refused(&Objects::default(), applier(&client)).await;
    assert!(err.contains("expected at least one object to apply"), "{err}");
    assert_eq!(server.snapshot(), before);
}

#[tokio::test]
async fn a_run_that_is_cut_off_is_completed_by_the_next() {
    let (client, server) = in_process();
    applier(&client).apply(&maps(&["a"]), &params()).await.into_result().unwrap();
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: late}, spec: {ports: [{port: 80}]}}";
    let rule = server.fault(Match::any().name("late"), Fault::Stall);
    let mut run = applier(&client).apply(&Objects::parse(secret).unwrap(), &params());
    assert_eq!(run.next().await.unwrap().to_string(), "1/2 secret/s created");
    drop(run);
    rule.remove();
    assert_eq!(recorded(&client).await, "ConfigMap,Secret,Service");
    let report = applier(&client).apply(&maps(&["b"]), &params()).await;
    assert_eq!(lines(&report), ["configmap/b created", "configmap/a pruned", "secret/s pruned"]);
    assert_eq!(recorded(&client).await, "ConfigMap");
}

#[tokio::test]
async fn what_cannot_be_pruned_is_an_error_and_the_rest_is_pruned() {
    let (client, server) = in_process();
    applier(&client).apply(&maps(&["a", "b", "c"]), &params()).await.into_result().unwrap();
    server.fault(Match::delete::<ConfigMap>().name("a"), FaultResponse::status(403, "Forbidden"));
    let report = applier(&client).apply(&maps(&["c"]), &params()).await;
    assert_eq!(lines(&report)[..2], ["configmap/c unchanged", "configmap/b pruned"], "{report}");
    assert_eq!((report.failed().count(), report.pruned().len()), (0, 1));
    assert!(
        matches!(report.prune_error(), Some(ApplySetError::Prune { failures, .. }) if failures.len() == 1)
    );
    let err = report.into_result().unwrap_err().to_string();
    assert!(err.starts_with("1 of 2 objects could not be pruned: configmap/a: "), "{err}");
    assert_eq!(names(&client).await, ["a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_ready_when_it_is_written_is_not_watched_and_create_waits_too() {
    let (client, server) = in_process();
    let watched = server.fault(Match::watch::<ConfigMap>(), FaultResponse::status(500, "InternalError"));
    let waiting = Applier::new(client.clone()).wait_ready(Duration::from_secs(60));
    waiting.apply(&maps(&["a", "b"]), &params()).await.into_result().unwrap();
    assert_eq!(watched.hits(), 0);

    let objects = Objects::parse(WEB).unwrap();
    let (report, ()) =
        futures::join!(waiting.create(&objects, &PostParams::default()).report(), roll_out(&client));
    report.into_result().unwrap();
    // A deployment that is deleted in the meantime is not ready.
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let restart = json!({ "spec": { "template": { "metadata": { "annotations": { "restarted": "1" } } } } });
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(restart)).await.unwrap();
    let delete = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        deployments.delete("web", &DeleteParams::background()).await.unwrap();
    };
    let (report, ()) = futures::join!(waiting.apply(&objects, &params()).report(), delete);
    let outcome = &report.failed().next().expect("it was deleted").outcome;
    assert!(
        matches!(outcome, ObjectOutcome::Failed(ObjectError::Wait(WaitError::Deleted { .. }))),
        "{outcome}"
    );
}

#[tokio::test]
async fn objects_of_one_generated_name_have_results_of_their_own() {
    let server = kube_testserver::ApiServer::builder().with(BuiltInController::Kubelet).service().unwrap();
    server.kubelet().on_start(|_, pod| match pod["metadata"]["labels"]["fails"].as_str() {
        Some(_) => ContainerState::Waiting("ImagePullBackOff".into()),
        None => ContainerState::Running,
    });
    let client = Client::new(server, "default");
    let pod = |labels| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{generateName: a-, labels: {labels}}}, spec: {{containers: [{{name: a, image: a}}]}}}}\n"
        )
    };
    let objects = Objects::parse(&[pod("{}"), pod("{fails: \"yes\"}"), pod("{}")].concat()).unwrap();
    let applier = Applier::new(client).wait_ready(Duration::from_millis(500));
    let report = applier.create(&objects, &PostParams::default()).await;
    let results = report.results();
    let names: std::collections::HashSet<&str> =
        results.iter().map(|result| result.id.name.as_str()).collect();
    assert_eq!(names.len(), 3, "{report}");
    for (index, result) in results.iter().enumerate() {
        assert_eq!(Some(&result.id.name), result.after.as_ref().unwrap().metadata.name.as_ref());
        assert_eq!(result.is_ok(), index != 1, "{report}");
    }
    assert!(lines(&report)[0].starts_with("pod/a-"), "{report}");
}

/// It was applied without the label of the set, and never pruned.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_known_for_a_moment_is_an_error_before_the_first_write() {
    let (client, server) = in_process();
    let kinds = Objects::parse(GADGETS).unwrap();
    Applier::new(client.clone()).apply(&kinds, &params()).await.into_result().unwrap();
    let before = server.snapshot();
    let objects = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: example.com/v1, kind: Gadget, metadata: {name: blue}}";
    let objects = Objects::parse(objects).unwrap();
    for response in
        [FaultResponse::status(403, "Forbidden"), FaultResponse::status(503, "ServiceUnavailable")]
    {
        let rule = server.fault(Match::path("/apis").verb("get").times(20), response);
        let report = applier(&client).apply(&objects, &params()).await;
        rule.remove();
        assert!(report.results().is_empty(), "{report}");
        let err = report.into_result().unwrap_err().to_string();
        assert!(err.contains("nothing was applied, because configmap/a could not be recorded"), "{err}");
        assert!(err.starts_with("document 1, line 1: "), "{err}");
        assert_eq!(server.snapshot(), before);
    }
    applier(&client).apply(&objects, &params()).await.into_result().unwrap();
    let report = applier(&client).apply(&maps(&["a"]), &params()).await;
    assert!(lines(&report).contains(&"gadget.example.com/blue pruned".to_owned()), "{report}");
}

/// As the controller of EndpointSlices copies the labels of a Service.
#[tokio::test]
async fn an_object_with_an_owner_is_kept_with_a_warning() {
    let (client, _server) = in_process();
    applier(&client).apply(&maps(&["a", "owner"]), &params()).await.into_result().unwrap();
    let maps_api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner = maps_api.get("owner").await.unwrap().owner_ref(&()).unwrap();
    let patch = Patch::Merge(json!({ "metadata": { "ownerReferences": [owner] } }));
    maps_api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let report = applier(&client).apply(&maps(&["owner"]), &params()).await;
    assert_eq!(
        lines(&report),
        [
            "configmap/owner unchanged",
            r#"Warning: configmap/a was not pruned, because ConfigMap "owner" owns it"#,
        ]
    );
    assert!(report.pruned().is_empty());
    report.into_result().unwrap();
    assert_eq!(names(&client).await, ["a", "owner"]);
}
