//! Waiting for objects: `Api::wait_ready`, `wait_for`, `rollout_status`, and sets of objects. Time is paused.

#![allow(clippy::unwrap_used, reason = "functions of tests, too")]

use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{ApiResource, DeleteParams, Patch, PatchParams, PostParams};
use kube_client::{Api, Client};
use kube_testserver::{ApiServer, BuiltInController, Fault, FaultRule, Match};
use kube_tools::ApiExt as _;
use kube_tools::ready::{Readiness, ReadyState};
use kube_tools::wait::{WaitError, WaitFor, WaitTarget, readiness_of, until_ready};
use kube_tools::yaml::{Applier, Objects};
use serde_json::json;
use tokio::time::Instant;

use crate::definition::definition;
use crate::server::{config_map, create, in_process};

const MINUTE: Duration = Duration::from_secs(60);

fn web(replicas: u32) -> Deployment {
    let labels = json!({ "app": "web" });
    serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        },
    }))
    .unwrap()
}

/// A deployment of three replicas without a controller.
async fn deployment() -> (Api<Deployment>, ApiServer) {
    let (client, server) = in_process();
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    deployments.create(&PostParams::default(), &web(3)).await.unwrap();
    (deployments, server)
}

async fn set_status(deployments: &Api<Deployment>, updated: u32, available: u32) {
    let status = json!({ "status": {
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": updated, "readyReplicas": available, "availableReplicas": available,
    } });
    deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

/// The message of the next progress.
async fn next(progress: &mut (impl Stream<Item = Result<Readiness, WaitError>> + Unpin)) -> String {
    let item = tokio::time::timeout(MINUTE, progress.next()).await.expect("within a minute");
    item.expect("not the end").map_or_else(|err| err.to_string(), |readiness| readiness.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_rollout_shows_its_progress_and_ends() {
    let (deployments, _server) = deployment().await;
    let mut progress = Box::pin(deployments.rollout_status("web"));
    assert_eq!(next(&mut progress).await, "Waiting for deployment spec update to be observed...");
    set_status(&deployments, 1, 3).await;
    let one =
        r#"Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated..."#;
    assert_eq!(next(&mut progress).await, one);
    // A change that does not show is no progress.
    let label = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    deployments.patch("web", &PatchParams::default(), &label).await.unwrap();
    set_status(&deployments, 3, 2).await;
    let two = r#"Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available..."#;
    assert_eq!(next(&mut progress).await, two);
    set_status(&deployments, 3, 3).await;
    assert_eq!(next(&mut progress).await, r#"deployment "web" successfully rolled out"#);
    assert!(progress.next().await.is_none());
}

/// Waits for the deployment while the server misbehaves, and makes it ready after 20 seconds.
async fn survives(faults: impl FnOnce(&ApiServer) -> Vec<FaultRule>, later: impl FnOnce(&ApiServer)) {
    let (deployments, server) = deployment().await;
    let rules = faults(&server);
    let ready = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        later(&server);
        tokio::time::sleep(Duration::from_secs(10)).await;
        set_status(&deployments, 3, 3).await;
    };
    let (result, ()) = futures::join!(deployments.wait_ready("web", MINUTE), ready);
    assert_eq!(result.unwrap().status.unwrap().available_replicas, Some(3));
    assert!(rules.iter().all(|rule| rule.hits() > 0), "every fault was met");
}

#[tokio::test(start_paused = true)]
async fn broken_connections_expired_versions_and_refusals_are_survived() {
    survives(|server| vec![server.fault(Match::watch::<Deployment>().times(3), Fault::Reset)], |_| {}).await;
    survives(|server| vec![server.fault(Match::watch::<Deployment>().nth(1), Fault::Expired)], |_| {}).await;
    survives(
        |server| vec![server.fault(Match::watch::<Deployment>().nth(1), Fault::Truncate.after(0))],
        |_| {},
    )
    .await;
    survives(
        |server| {
            vec![server.fault(Match::list::<Deployment>().times(2), Fault::status(503, "ServiceUnavailable"))]
        },
        |_| {},
    )
    .await;
    survives(|_| vec![], ApiServer::end_watches).await;
    survives(
        |_| vec![],
        |server| {
            server.compact();
            server.end_watches();
        },
    )
    .await;
}

/// A server that starts refuses users until it has read their roles, and does not know custom resources at first.
#[tokio::test(start_paused = true)]
async fn what_was_watched_before_is_watched_again_after_a_refusal() {
    for (code, reason) in [(401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound")] {
        let refused = |server: &ApiServer| {
            vec![server.fault(Match::watch::<Deployment>().from_nth(2).times(2), Fault::status(code, reason))]
        };
        survives(refused, ApiServer::end_watches).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_watches_at_once_is_not_asked_without_a_pause() {
    let (deployments, server) = deployment().await;
    let closed = server.fault(Match::watch::<Deployment>(), Fault::Cut.after(0));
    let err = deployments.wait_ready("web", MINUTE * 5).await.unwrap_err();
    assert!(matches!(err, WaitError::Timeout { .. }), "{err}");
    assert!((20..100).contains(&closed.hits()), "{} watches in five minutes", closed.hits());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_an_error() {
    let (deployments, server) = deployment().await;
    let (start, forbidden) =
        (Instant::now(), server.fault(Match::list::<Deployment>(), Fault::status(403, "Forbidden")));
    let err = deployments.wait_ready("web", MINUTE * 5).await.unwrap_err();
    assert!(matches!(err, WaitError::Request { .. }), "{err}");
    assert!(err.to_string().starts_with(r#"deployments.apps "web" in namespace "default": "#), "{err}");
    assert!(start.elapsed() < Duration::from_secs(1), "at once");
    forbidden.remove();
    let start = Instant::now();
    server.fault(Match::list::<Deployment>(), Fault::status(500, "InternalError"));
    let err = deployments.wait_ready("web", MINUTE * 5).await.unwrap_err();
    assert!(matches!(err, WaitError::Request { .. }), "{err}");
    assert!((60..80).contains(&start.elapsed().as_secs()), "after a minute: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_missing_or_deleted_is_an_answer() {
    let (deployments, _server) = deployment().await;
    let err = deployments.wait_ready("other", MINUTE).await.unwrap_err();
    assert_eq!(err.to_string(), r#"deployments.apps "other" in namespace "default" does not exist"#);

    let delete = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        deployments.delete("web", &DeleteParams::default()).await.unwrap();
    };
    let available = WaitFor::condition("Available");
    let (ready, condition, ()) = futures::join!(
        deployments.wait_ready("web", MINUTE),
        deployments.wait_for("web", &available, MINUTE),
        delete
    );
    for err in [ready.unwrap_err(), condition.unwrap_err()] {
        assert_eq!(err.to_string(), r#"deployments.apps "web" in namespace "default" was deleted"#);
    }

    let mut held = web(3);
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    deployments.create(&PostParams::default(), &held).await.unwrap();
    deployments.delete("web", &DeleteParams::default()).await.unwrap();
    let err = deployments.wait_ready("web", MINUTE).await.unwrap_err();
    assert!(err.to_string().contains("is being deleted, after the finalizers"), "{err}");
    assert!(err.to_string().contains("example.com/hold"), "{err}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_the_last_state() {
    let (deployments, server) = deployment().await;
    set_status(&deployments, 3, 2).await;
    let start = Instant::now();
    let err = deployments.wait_ready("web", Duration::from_secs(30)).await.unwrap_err();
    assert!(err.to_string().contains("waited 30s for deployments.apps \"web\""), "{err}");
    assert!(err.to_string().contains("2 of 3 updated replicas are available"), "{err}");
    assert_eq!(start.elapsed().as_secs(), 30);
    // Zero looks once.
    let err = deployments.wait_ready("web", Duration::ZERO).await.unwrap_err();
    assert!(err.to_string().contains("2 of 3 updated replicas are available"), "{err}");
    set_status(&deployments, 3, 3).await;
    deployments.wait_ready("web", Duration::ZERO).await.unwrap();
    deployments.wait_ready("web", Duration::MAX).await.unwrap();
    // A server that does not answer.
    server.fault(Match::list::<Deployment>(), Fault::Stall);
    let err = deployments.wait_ready("web", Duration::from_secs(3)).await.unwrap_err();
    assert!(err.to_string().contains("the server has not answered"), "{err}");
}

#[tokio::test(start_paused = true)]
async fn conditions_of_kubectl_wait() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let wait = |condition: &str| {
        let (maps, condition) = (maps.clone(), condition.parse::<WaitFor>().unwrap());
        async move { maps.wait_for("a", &condition, MINUTE).await }
    };
    let later = |change: &'static str| {
        let (maps, client) = (maps.clone(), client.clone());
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            match change {
                "create" => drop(create(&client, "a").await.unwrap()),
                "delete" => drop(maps.delete("a", &DeleteParams::default()).await.unwrap()),
                "recreate" => {
                    maps.delete("a", &DeleteParams::default()).await.unwrap();
                    create(&client, "a").await.unwrap();
                }
                value => {
                    drop(maps.replace("a", &PostParams::default(), &config_map("a", value)).await.unwrap())
                }
            }
        }
    };
    assert!(wait("delete").await.unwrap().is_none(), "it does not exist yet");
    assert!(matches!(wait("jsonpath={.data.key}").await, Err(WaitError::NotFound(_))));
    let (created, ()) = futures::join!(wait("create"), later("create"));
    assert_eq!(created.unwrap().unwrap().metadata.name.as_deref(), Some("a"));
    let (changed, ()) = futures::join!(wait("jsonpath={.data.key}=two"), later("two"));
    assert_eq!(changed.unwrap().unwrap().data.unwrap()["key"], "two");
    let err = wait("jsonpath={.data}=two").await.unwrap_err();
    assert!(
        err.to_string()
            .contains("configmaps \"a\" in namespace \"default\": the JSON path `{.data}` leads to"),
        "{err}"
    );
    let (recreated, ()) = futures::join!(wait("delete"), later("recreate"));
    recreated.unwrap();
    let (deleted, ()) = futures::join!(wait("delete"), later("delete"));
    assert!(deleted.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn one_name_in_several_namespaces_is_not_one_object() {
    let (client, _server) = in_process();
    for namespace in ["default", "kube-public"] {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    }
    let err = Api::<ConfigMap>::all(client).wait_ready("a", MINUTE).await.unwrap_err();
    assert!(err.to_string().contains("several namespaces: expected an `Api` of one namespace"), "{err}");
}

/// Deployments with controllers and a kubelet, which make them ready.
fn with_controllers() -> (Client, Api<Deployment>) {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = Client::new(builder.service().unwrap(), "default");
    (client.clone(), Api::default_namespaced(client))
}

#[tokio::test(start_paused = true)]
async fn restart_and_scale_wait_for_the_new_pods() {
    let (_client, deployments) = with_controllers();
    deployments.create(&PostParams::default(), &web(2)).await.unwrap();
    let first = deployments.wait_ready("web", MINUTE).await.unwrap();
    let restarted = deployments.restart_and_wait("web", MINUTE).await.unwrap();
    assert!(restarted.metadata.generation > first.metadata.generation);
    assert_eq!(restarted.status.unwrap().updated_replicas, Some(2));
    let scaled = deployments.scale_and_wait("web", 4, MINUTE).await.unwrap();
    assert_eq!(scaled.status.unwrap().available_replicas, Some(4));
    let err = deployments.scale_and_wait("other", 4, MINUTE).await.unwrap_err();
    assert!(matches!(err, WaitError::Request { .. }), "{err}");
}

#[tokio::test(start_paused = true)]
async fn a_set_is_waited_for_to_the_end_and_names_what_is_not_ready() {
    let (client, deployments) = with_controllers();
    deployments.create(&PostParams::default(), &web(2)).await.unwrap();
    create(&client, "a").await.unwrap();
    let target = |resource: &ApiResource, name: &str| WaitTarget::new(resource, Some("default"), name);
    let (maps, kinds) = (ApiResource::erase::<ConfigMap>(&()), ApiResource::erase::<Deployment>(&()));
    let ready = [
        target(&maps, "a"),
        target(&kinds, "web"),
        WaitTarget::new(&ApiResource::erase::<Namespace>(&()), None, "default"),
    ];
    // In a task, so that its future has to be `Send`.
    tokio::spawn(until_ready(client.clone(), ready.clone(), MINUTE)).await.unwrap().unwrap();
    until_ready(client.clone(), [], MINUTE).await.unwrap();

    let mut stuck = web(1);
    stuck.metadata.name = Some("stuck".into());
    stuck.spec.paused = Some(true);
    deployments.create(&PostParams::default(), &stuck).await.unwrap();
    let all = ready.into_iter().chain([target(&maps, "missing"), target(&kinds, "stuck")]);
    let err = until_ready(client.clone(), all.clone(), MINUTE).await.unwrap_err();
    assert_eq!((err.ready, err.errors.len()), (3, 2));
    assert!(err.to_string().starts_with("2 of 5 objects are not ready: "), "{err}");
    assert!(err.to_string().contains("\"missing\" in namespace \"default\" does not exist"), "{err}");
    assert!(err.to_string().contains("waited 60s for deployments.apps \"stuck\""), "{err}");

    let mut last = std::collections::BTreeMap::new();
    let mut progress = Box::pin(readiness_of(client, all));
    while let Ok(Some((target, readiness))) = tokio::time::timeout(MINUTE, progress.next()).await {
        last.insert(target.name().to_owned(), readiness.map(|readiness| readiness.state).ok());
    }
    let expected = [
        ("a", Some(ReadyState::Ready)),
        ("default", Some(ReadyState::Ready)),
        ("missing", None),
        ("stuck", Some(ReadyState::InProgress)),
        ("web", Some(ReadyState::Ready)),
    ];
    assert_eq!(last, expected.map(|(name, state)| (name.to_owned(), state)).into());
}

/// More objects than are watched at the same time.
#[tokio::test(start_paused = true)]
async fn a_large_set_is_ready_though_only_some_are_watched() {
    let (client, _server) = in_process();
    let maps = ApiResource::erase::<ConfigMap>(&());
    let mut targets = Vec::new();
    for nth in 0..200 {
        let name = format!("map-{nth}");
        create(&client, &name).await.unwrap();
        targets.push(WaitTarget::new(&maps, Some("default"), &name));
    }
    until_ready(client, targets, MINUTE).await.unwrap();
}

/// Deployments that never become ready have the first turn.
#[tokio::test(start_paused = true)]
async fn a_ready_object_is_seen_behind_many_that_never_are() {
    let (client, server) = in_process();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let kinds = ApiResource::erase::<Deployment>(&());
    let mut targets = Vec::new();
    for nth in 0..70 {
        let mut stuck = web(1);
        stuck.metadata.name = Some(format!("stuck-{nth:02}"));
        deployments.create(&PostParams::default(), &stuck).await.unwrap();
        targets.push(WaitTarget::new(&kinds, Some("default"), &format!("stuck-{nth:02}")));
    }
    create(&client, "a").await.unwrap();
    targets.push(WaitTarget::new(&ApiResource::erase::<ConfigMap>(&()), Some("default"), "a"));
    // The last one is not ready at first.
    deployments.create(&PostParams::default(), &web(3)).await.unwrap();
    targets.push(WaitTarget::new(&kinds, Some("default"), "web"));
    let watches = server.fault(Match::watch::<Deployment>(), Fault::Delay(Duration::ZERO));
    for (timeout, ready_at, ready) in [(0, 60, 1), (5, 60, 1), (5, 4, 2), (60, 30, 2)] {
        set_status(&deployments, 3, 2).await;
        let later = async {
            tokio::time::sleep(Duration::from_secs(ready_at)).await;
            set_status(&deployments, 3, 3).await;
        };
        let waiting = until_ready(client.clone(), targets.clone(), Duration::from_secs(timeout));
        let started = Instant::now();
        let (result, ()) = futures::join!(waiting, later);
        let err = result.unwrap_err();
        assert_eq!((err.ready, err.errors.len()), (ready, 72 - ready), "{timeout} {ready_at}");
        assert!(!err.to_string().contains("state is not known"), "{err}");
        assert!(
            started.elapsed().as_secs() <= timeout.max(ready_at) + 1,
            "{timeout}: {:?}",
            started.elapsed()
        );
    }
    // In turns: not one watch after the other without a pause.
    assert!(watches.hits() < 2_000, "{}", watches.hits());
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_replaces_no_pod_is_refused_before_it_changes_anything() {
    let (client, server) = in_process();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let mut paused = web(1);
    paused.spec.paused = Some(true);
    deployments.create(&PostParams::default(), &paused).await.unwrap();
    let sets: Api<DaemonSet> = Api::default_namespaced(client);
    let labels = json!({ "app": "d" });
    let set = json!({ "metadata": { "name": "d" }, "spec": {
        "updateStrategy": { "type": "OnDelete" }, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    sets.create(&PostParams::default(), &serde_json::from_value(set).unwrap()).await.unwrap();
    let stateful: Api<StatefulSet> = Api::default_namespaced(sets.clone().into_client());
    let staged = json!({ "metadata": { "name": "s" }, "spec": { "replicas": 3, "serviceName": "s",
        "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 3 } },
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    stateful.create(&PostParams::default(), &serde_json::from_value(staged).unwrap()).await.unwrap();
    let before = server.snapshot();
    let started = Instant::now();
    let err = stateful.restart_and_wait("s", MINUTE).await.unwrap_err().to_string();
    assert!(err.contains("its partition covers all replicas"), "{err}");
    let err = deployments.restart_and_wait("web", MINUTE).await.unwrap_err().to_string();
    assert!(
        err.starts_with(
            "deployments.apps \"web\" in namespace \"default\" cannot be restarted: it is paused"
        ),
        "{err}"
    );
    let err = sets.restart_and_wait("d", MINUTE).await.unwrap_err().to_string();
    assert!(err.contains("its update strategy is OnDelete"), "{err}");
    assert_eq!((started.elapsed().as_secs(), server.snapshot()), (0, before));
}

/// As controllers of 1.37 show it: the new generation is observed, and the old replicas are still there and available.
#[tokio::test(start_paused = true)]
async fn a_scale_down_is_waited_for() {
    let (deployments, _server) = deployment().await;
    set_status(&deployments, 3, 3).await;
    let observed = |replicas: u32| {
        let status = json!({ "status": {
            "observedGeneration": 2, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
            "availableReplicas": replicas,
        } });
        let deployments = deployments.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        }
    };
    let controller = async {
        observed(3).await;
        observed(2).await;
        observed(1).await;
    };
    let started = Instant::now();
    let (scaled, ()) = futures::join!(deployments.scale_and_wait("web", 1, MINUTE), controller);
    assert_eq!((scaled.unwrap().status.unwrap().replicas, started.elapsed().as_secs()), (Some(1), 15));
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let status = json!({ "status": { "observedGeneration": 3 } });
        deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    };
    let (err, ()) = futures::join!(deployments.scale_and_wait("web", 0, Duration::from_secs(10)), later);
    let err = err.unwrap_err().to_string();
    assert!(err.ends_with("there are 1 replicas, 0 are wanted"), "{err}");
}

/// The scale is read after each event, that is in the middle of every scale-down.
#[tokio::test(start_paused = true)]
async fn a_scale_that_cannot_be_read_for_a_moment_does_not_end_the_wait() {
    let (client, server) = {
        let builder =
            ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
        let server = builder.service().unwrap();
        (Client::new(server.clone(), "default"), server)
    };
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    deployments.create(&PostParams::default(), &web(2)).await.unwrap();
    deployments.wait_ready("web", MINUTE).await.unwrap();
    let scales = Match::get::<Deployment>().subresource("scale");
    let failing = server.fault(scales.clone().times(3), Fault::status(500, "InternalError"));
    deployments.scale_and_wait("web", 1, MINUTE).await.unwrap();
    assert_eq!(failing.hits(), 3);
    server.fault(scales, Fault::status(403, "Forbidden"));
    let err = deployments.scale_and_wait("web", 2, MINUTE).await.unwrap_err();
    assert!(matches!(err, WaitError::Request { .. }), "{err}");
}

/// It is deleted as soon as it has finished: its last state says that it has, unless nobody saw it.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_gone_has_finished_unless_it_was_deleted_before_that() {
    let (client, server) = in_process();
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let job = |ttl: u32| {
        let template =
            json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" },
            "spec": { "suspend": true, "ttlSecondsAfterFinished": ttl, "template": template } })
    };
    let create = async |ttl: u32| {
        jobs.create(&PostParams::default(), &serde_json::from_value(job(ttl)).unwrap()).await.unwrap();
    };
    let gone = async || {
        tokio::time::sleep(Duration::from_secs(5)).await;
        jobs.delete("j", &DeleteParams::background()).await.unwrap();
    };
    let has = |type_: &str| {
        let conditions =
            ["SuccessCriteriaMet", "FailureTarget"].map(|it| json!({ "type": it, "status": "True" }));
        let target = conditions[usize::from(type_ == "Failed")].clone();
        Patch::Merge(json!({ "status": { "conditions": [target, { "type": type_, "status": "True" }],
            "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z" } }))
    };
    // The last state is that of the deletion, in one event.
    create(0).await;
    let finish = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        jobs.patch_status("j", &PatchParams::default(), &has("Complete")).await.unwrap();
        jobs.delete("j", &DeleteParams::background()).await.unwrap();
    };
    let (finished, ()) = futures::join!(jobs.wait_ready("j", MINUTE), finish);
    finished.unwrap();
    // Quiet for longer than its time to live, and then deleted by someone.
    for ttl in [0, 3, 3600] {
        create(ttl).await;
        let (deleted, ()) = futures::join!(jobs.wait_ready("j", MINUTE), gone());
        assert!(deleted.unwrap_err().to_string().ends_with("was deleted"), "{ttl}");
    }
    // By a run, before it is looked at for the first time.
    let applier = Applier::new(client).wait_ready(MINUTE);
    let lists = server.fault(Match::list::<Job>(), Fault::Delay(Duration::from_secs(10)));
    let objects = Objects::parse(&job(0).to_string()).unwrap();
    let (report, ()) = futures::join!(applier.apply(&objects, &PatchParams::apply("test")).report(), gone());
    report.into_result().unwrap();
    assert_eq!(lists.hits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_that_the_condition_is_of_an_older_generation() {
    let (deployments, _server) = deployment().await;
    let condition = json!({ "type": "Available", "status": "True" });
    let status = json!({ "status": { "observedGeneration": 1, "conditions": [condition] } });
    deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let change = Patch::Merge(json!({ "spec": { "replicas": 4 } }));
    deployments.patch("web", &PatchParams::default(), &change).await.unwrap();
    let available = WaitFor::condition("Available");
    let waited = deployments.wait_for("web", &available, Duration::from_secs(5)).await;
    let err = waited.unwrap_err().to_string();
    assert!(err.ends_with("waiting for condition=Available: the condition is True for generation 1, and the current one is 2"), "{err}");
}

#[tokio::test(start_paused = true)]
async fn a_custom_kind_is_ready_by_its_condition() {
    let (client, _server) = in_process();
    let widgets = definition("example.com", "widgets", "Widget", "Namespaced", &["v1"]);
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &widgets).await.unwrap();
    definitions.wait_ready("widgets.example.com", MINUTE).await.unwrap();

    let resource: ApiResource = serde_json::from_value(json!({
        "group": "example.com", "version": "v1", "api_version": "example.com/v1", "kind": "Widget", "plural": "widgets",
    }))
    .unwrap();
    let widgets: Api<kube_client::api::DynamicObject> = Api::default_namespaced_with(client, &resource);
    let widget = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } });
    widgets.create(&PostParams::default(), &serde_json::from_value(widget).unwrap()).await.unwrap();
    let status = |status: &str| {
        Patch::Merge(json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } }))
    };
    widgets.patch_status("w", &PatchParams::default(), &status("False")).await.unwrap();
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        widgets.patch_status("w", &PatchParams::default(), &status("True")).await.unwrap();
    };
    let (ready, _) = futures::join!(widgets.wait_ready("w", MINUTE), later);
    assert_eq!(ready.unwrap().metadata.name.as_deref(), Some("w"));
}
