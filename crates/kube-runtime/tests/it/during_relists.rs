//! What is enumerated while a relist is under way includes what its first pages have brought.

use crate::common::{ApiExt, config_maps, expect_next, named, owned, server, wait_for_change};
use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Controller,
    controller::{Action, Assigner, Assignment},
    predicates,
    watcher::Config,
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::sleep;

/// A controller of paged lists, which has listed the objects `b` and `c`. With a filter, an object that was seen once does not trigger
/// again.
struct Paged {
    server: ApiServer,
    client: Client,
    controller: Controller<ConfigMap>,
}

impl Paged {
    async fn new() -> Self {
        let (server, client) = server();
        for name in ["b", "c"] {
            config_maps(&client).add(named(name)).await;
        }
        let controller = Controller::new(config_maps(&client), Config::default().page_size(1))
            .filter(predicates::resource_version);
        Self { server, client, controller }
    }

    /// Runs the controller and returns the names of its reconciles.
    fn run(self) -> (Relisting, mpsc::UnboundedReceiver<String>) {
        let (send, names) = mpsc::unbounded();
        let output = self.controller.run(
            async |map: Arc<ConfigMap>, send: Arc<mpsc::UnboundedSender<String>>| {
                send.unbounded_send(map.name_any()).unwrap();
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new(send),
        );
        tokio::spawn(output.for_each(|_| async {}));
        (Relisting { server: self.server, client: self.client }, names)
    }
}

struct Relisting {
    server: ApiServer,
    client: Client,
}

impl Relisting {
    /// Relists up to the first page, which has the new object `a`. The second page takes an hour.
    async fn first_page(&self) {
        sleep(Duration::from_secs(20)).await; // the controller has synced
        let lists = || Match::list::<ConfigMap>();
        self.server.fault(lists().nth(1), Fault::Delay(Duration::from_secs(10))); // the version check
        let second_page = self.server.fault(lists().nth(3), Fault::Delay(Duration::from_secs(3600)));
        self.server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
        self.server.end_watches();
        sleep(Duration::from_secs(5)).await;
        config_maps(&self.client).add(named("a")).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(second_page.hits(), 1, "it is requested");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_object_is_reconciled_when_it_is_assigned_before_the_next_page() {
    let (paged, assigner) = (Paged::new().await, Assigner::new());
    let controller = paged.controller.assigned_by(assigner.assignments());
    let (relisting, mut names) = Paged { controller, ..paged }.run();
    relisting.first_page().await;
    assert!(names.try_recv().is_err(), "nothing is assigned");
    assigner.assign(Assignment::matching(|_, name| name != "c")).await;
    assert_eq!([expect_next(&mut names).await, expect_next(&mut names).await], ["a", "b"]);
    assigner.assign(Assignment::all()).await;
    assert_eq!(expect_next(&mut names).await, "c", "the others were assigned before");
    sleep(Duration::from_secs(7200)).await;
    assert!(names.try_recv().is_err(), "the rest of the list has changed nothing");
}

#[tokio::test(start_paused = true)]
async fn so_it_is_when_all_objects_are_requested() {
    let (paged, (request, requests)) = (Paged::new().await, mpsc::unbounded());
    let controller = paged.controller.reconcile_all_on(requests);
    let (relisting, mut names) = Paged { controller, ..paged }.run();
    relisting.first_page().await;
    let first: Vec<String> = std::iter::from_fn(|| names.try_recv().ok()).collect();
    assert_eq!(first, ["b", "c", "a"]);
    request.unbounded_send(()).unwrap();
    sleep(Duration::from_secs(1)).await;
    let again: Vec<String> = std::iter::from_fn(|| names.try_recv().ok()).collect();
    assert_eq!(again, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn so_it_is_after_a_list_of_related_objects() {
    let paged = Paged::new().await;
    let children: Api<Secret> = Api::default_namespaced(paged.client.clone());
    let owner = config_maps(&paged.client).add(named("d")).await;
    children.add(owned("child", &owner)).await;
    let controller = paged.controller.owns(children, Config::default());
    let (relisting, mut names) = Paged { controller, ..paged }.run();
    relisting.first_page().await;
    while names.try_recv().is_ok() {}
    relisting.server.fault(Match::watch::<Secret>().times(1), Fault::Expired);
    relisting.server.end_watches();
    sleep(Duration::from_secs(60)).await;
    let again: Vec<String> = std::iter::from_fn(|| names.try_recv().ok()).collect();
    assert_eq!(again, ["d", "a", "b", "c", "d"], "the owner of a listed child, then all");
}
