//! The generated manifests: `deploy/` has them, a server accepts them, and their roles are what the operator needs.

#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{net::SocketAddr, path::Path, time::Duration};

use http::{HeaderValue, Request};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::{
    Api, Client,
    api::{DeleteParams, PatchParams, PostParams},
    client::Body,
    crds,
    operator::rbac::RbacRecorder,
    runtime::{conditions::is_deleted, wait::await_condition},
    yaml::{Applier, Objects},
};
use kube_testserver::{ApiServer, BuiltInController};
use operator::{
    Addresses, NAME,
    advice::VerticalPodAutoscaler,
    embedded::{autoscaler, expose, is_ready},
    manager,
    manifests::{FORMS, manifests},
    page::v2,
};
use tokio::{sync::oneshot, time::timeout};
use tower::{Layer, ServiceExt, service_fn};

const LIMIT: Duration = Duration::from_secs(30);

fn deploy() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy"))
}

#[tokio::test]
async fn the_folder_deploy_has_what_the_program_generates() {
    let outdated = manifests(NAME).unwrap().check(deploy(), FORMS);
    outdated.expect("run: cargo run -p operator -- manifests examples/operator/deploy");
}

/// A client that acts as the operator's service account.
fn account(server: &ApiServer, recorder: &RbacRecorder) -> Client {
    let (server, user) = (server.clone(), format!("system:serviceaccount:{NAME}:{NAME}"));
    let service = service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert("impersonate-user", HeaderValue::from_str(&user).unwrap());
        server.clone().oneshot(request)
    });
    Client::new(recorder.layer(service), NAME)
}

#[tokio::test]
async fn with_the_generated_roles_the_operator_does_all_it_does() {
    let builder = ApiServer::builder().with(BuiltInController::Workloads).with(BuiltInController::Kubelet);
    let server = builder.with_rbac().service().unwrap();
    let admin = Client::new(server.clone(), NAME);
    let text = std::fs::read_to_string(deploy().join("install.yaml")).unwrap();
    let objects = Objects::parse(&text).unwrap();
    let applied = Applier::new(admin.clone()).apply(&objects, &PatchParams::apply("test")).await;
    applied.into_result().unwrap();
    crds::install(&admin, "test", [autoscaler()]).await.unwrap();

    let recorder = RbacRecorder::default();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let manager = manager(account(&server, &recorder), Addresses { metrics: any, webhooks: any });
    let handle = manager.handle();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { drop(stopped.await) }));
    let webhooks = timeout(LIMIT, handle.webhook_address()).await.unwrap().unwrap();
    // No pod of the Deployment serves: the Service of the manifests makes way for one that leads to this process.
    Api::<Service>::default_namespaced(admin.clone()).delete(NAME, &DeleteParams::default()).await.unwrap();
    expose(&admin, &[webhooks]).await.unwrap();

    let sample = std::fs::read_to_string(deploy().join("samples/v2-page-welcome.yaml")).unwrap();
    let sample = Objects::parse(&sample).unwrap().iter().next().unwrap().clone();
    let sample: v2::Page = sample.try_parse().unwrap();
    let pages: Api<v2::Page> = Api::default_namespaced(admin.clone());
    let mut last = None;
    let create = async {
        while let Err(error) = pages.create(&PostParams::default(), &sample).await {
            last = Some(error);
            tokio::time::sleep(Duration::from_millis(20)).await; // until the CA of the webhooks is injected
        }
    };
    let created = timeout(LIMIT, create).await;
    created.unwrap_or_else(|_| panic!("the webhooks are not called: {last:?}"));
    let ready = timeout(LIMIT, await_condition(pages.clone(), "welcome", is_ready)).await;
    let page = ready.expect("the page is not ready").unwrap().unwrap();
    Api::<ConfigMap>::default_namespaced(admin.clone()).get("welcome-page").await.unwrap();
    Api::<VerticalPodAutoscaler>::default_namespaced(admin.clone()).get("welcome-page").await.unwrap();
    pages.delete("welcome", &DeleteParams::default()).await.unwrap();
    let uid = page.metadata.uid.unwrap();
    timeout(LIMIT, await_condition(pages, "welcome", is_deleted(&uid))).await.unwrap().unwrap();
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();

    // ANCHOR: roles
    let granted = manifests(NAME).unwrap().granted();
    let recorded = recorder.permissions().with_resource_names().in_namespace(NAME);
    let missing = recorded.missing_from(&granted);
    assert!(missing.is_empty(), "the roles lack:\n{}", missing.to_yaml(NAME));
    // ANCHOR_END: roles
    let unused = granted.unused_by(&recorded).to_yaml(NAME);
    let lines = unused.lines().map(str::trim);
    let rules: Vec<_> =
        lines.filter(|line| line.starts_with("resources: ") || line.starts_with("verbs: ")).collect();
    // What it does at times only: watching the objects with its CA after the first list, renewing its certificate, and deleting children
    // that a later release no longer wants.
    let at_times = [
        ["resources: [\"configmaps\"]", "verbs: [\"delete\"]"],
        ["resources: [\"deployments\"]", "verbs: [\"delete\"]"],
        ["resources: [\"verticalpodautoscalers\"]", "verbs: [\"delete\"]"],
        ["resources: [\"validatingwebhookconfigurations\"]", "verbs: [\"watch\"]"],
        ["resources: [\"customresourcedefinitions\"]", "verbs: [\"watch\"]"],
        ["resources: [\"secrets\"]", "verbs: [\"update\"]"],
    ];
    let excess = rules.chunks(2).any(|rule| !at_times.iter().any(|known| rule == known));
    assert!(!excess, "the roles permit more than was used:\n{unused}");
}
