//! Operators that share the objects with other replicas.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    operator::sharding::{Config, Membership},
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};

use super::operators::{Failed, Page, one_child};

/// The only member of its group, with the name of a pod of a StatefulSet. It renews seldom, so that a plan is quick.
pub(crate) async fn shares(client: Client) {
    let config = Config::new("pages", "default").identity("pages-0");
    let config = config
        .lease_duration(Duration::from_secs(360))
        .renew_deadline(Duration::from_secs(240))
        .retry_period(Duration::from_secs(60));
    let membership = Membership::join(client.clone(), config).unwrap();
    let maps: Api<ConfigMap> = Api::all(client.clone());
    let controller = Controller::new(Api::<Page>::all(client.clone()), watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .assigned_by(membership.assignments());
    let reconcile =
        async |page, client: Arc<Client>| one_child(page, (*client).clone()).await.map_err(Failed);
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}
