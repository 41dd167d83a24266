//! The permissions of a controller, recorded on one server and enforced on another.

use futures::{Stream, StreamExt};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::{ConfigMap, Secret},
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
};
use kube_client::{Api, Client};
use kube_core::{
    Resource, ResourceExt,
    params::{DeleteParams, PostParams},
};
use kube_operator::{
    apply::Apply,
    rbac::{Permissions, RbacRecorder},
};
use kube_runtime::{
    Controller,
    controller::{Action, Error},
    events::{Event, EventType, Recorder, Reporter},
    finalizer::{self, finalizer},
    watcher,
};
use kube_testserver::{ApiServer, User};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tower::Layer;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct ReconcileError(String);

fn failed(error: impl std::fmt::Display) -> ReconcileError {
    ReconcileError(error.to_string())
}

/// Keeps a Secret per ConfigMap, publishes an Event, and cleans up by a finalizer.
async fn reconcile(map: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, ReconcileError> {
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), "shop");
    let work = |event: finalizer::Event<ConfigMap>| {
        let client = Client::clone(&client);
        async move {
            if let finalizer::Event::Apply(map) = event {
                let secret = json!({ "metadata": { "name": map.name_any() }, "stringData": { "a": "b" } });
                let secret: Secret = serde_json::from_value(secret).map_err(failed)?;
                let children = Apply::owned_by(client.clone(), "rbac-test", &*map).map_err(failed)?;
                children.apply(&secret).await.map_err(failed)?;
                let event = Event {
                    type_: EventType::Normal,
                    reason: "Applied".into(),
                    note: None,
                    action: "Apply".into(),
                    secondary: None,
                };
                let recorder = Recorder::new(client, Reporter::from("rbac-test"));
                recorder.publish(&event, &map.object_ref(&())).await.map_err(failed)?;
            }
            Ok::<_, ReconcileError>(Action::await_change())
        }
    };
    finalizer(&maps, "example.com/secret", map, work).await.map_err(failed)
}

/// The output, without requests for the object after its deletion.
fn controller(client: &Client) -> impl Stream<Item = Result<(), Failure>> + use<> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    let secrets: Api<Secret> = Api::all(client.clone());
    let output = Controller::new(maps, watcher::Config::default())
        .owns(secrets, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(client.clone()));
    output.filter_map(async |item| match item {
        Err(Error::ObjectNotFound(_)) => None,
        item => Some(item.map(drop).map_err(Into::into)),
    })
}

async fn create<K>(client: &Client, object: serde_json::Value)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + serde::Serialize
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    Api::namespaced(client.clone(), "shop").create(&PostParams::default(), &object).await.unwrap();
}

/// Runs the controller of `client` while `admin` creates, touches and deletes an object. Returns whether all went well, and the errors.
async fn life_of_an_object(admin: &Client, client: &Client) -> (bool, Vec<String>) {
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "shop");
    let secrets: Api<Secret> = Api::namespaced(admin.clone(), "shop");
    let errors = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&errors);
    let run = controller(client).for_each(move |item| {
        log.lock().unwrap().extend(item.err().map(|error| error.to_string()));
        std::future::ready(())
    });
    let changes = async {
        create::<ConfigMap>(admin, json!({ "metadata": { "name": "a" } })).await;
        while secrets.get_opt("a").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        secrets.delete("a", &DeleteParams::default()).await.unwrap();
        while secrets.get_opt("a").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        while maps.get_opt("a").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let done = tokio::select! {
        () = run => false,
        done = tokio::time::timeout(Duration::from_secs(60), changes) => done.is_ok(),
    };
    let errors = errors.lock().unwrap().clone();
    (done && errors.is_empty(), errors)
}

async fn record() -> Permissions {
    let server = ApiServer::new();
    let admin = Client::new(server.clone(), "default");
    namespace(&admin).await;
    let recorder = RbacRecorder::default();
    let client = Client::new(recorder.layer(server), "default");
    let (worked, errors) = life_of_an_object(&admin, &client).await;
    assert!(worked, "{errors:?}");
    recorder.permissions()
}

async fn namespace(admin: &Client) {
    let shop: k8s_openapi::api::core::v1::Namespace =
        serde_json::from_value(json!({ "metadata": { "name": "shop" } })).unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &shop).await.unwrap();
}

/// Runs the controller as a user with these roles only.
async fn run_with(cluster_role: Option<ClusterRole>, roles: Vec<Role>) -> (bool, Vec<String>) {
    let server = ApiServer::builder().with_rbac().service().unwrap();
    let admin = Client::new(server.clone(), "default");
    namespace(&admin).await;
    let group = "rbac.authorization.k8s.io";
    let binding = |kind: &str| {
        json!({
            "metadata": { "name": "op" },
            "roleRef": { "apiGroup": group, "kind": kind, "name": "op" },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": "robot" }],
        })
    };
    if let Some(role) = cluster_role {
        Api::all(admin.clone()).create(&PostParams::default(), &role).await.unwrap();
        let binding: ClusterRoleBinding = serde_json::from_value(binding("ClusterRole")).unwrap();
        Api::all(admin.clone()).create(&PostParams::default(), &binding).await.unwrap();
    }
    for role in roles {
        assert_eq!(role.metadata.namespace.as_deref(), Some("shop"));
        create::<Role>(&admin, serde_json::to_value(role).unwrap()).await;
        create::<RoleBinding>(&admin, binding("Role")).await;
    }
    let robot = Client::new(server.as_user(User::new("robot")), "default");
    life_of_an_object(&admin, &robot).await
}

#[tokio::test(start_paused = true)]
async fn a_controller_runs_with_the_recorded_roles_and_not_with_one_verb_less() {
    let permissions = record().await;
    let expected = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "op"
rules:
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["list","watch"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: "op"
  namespace: "shop"
rules:
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["list","patch","watch"]
- apiGroups: [""]
  resources: ["configmaps/finalizers"]
  verbs: ["update"]
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create","get","patch"]
- apiGroups: ["events.k8s.io"]
  resources: ["events"]
  verbs: ["create","patch"]
"#;
    assert_eq!(permissions.to_yaml("op"), expected);
    let (cluster_role, roles) = (permissions.cluster_role("op"), permissions.roles("op"));
    assert_eq!(run_with(cluster_role.clone(), roles.clone()).await, (true, vec![]));

    let rules = roles[0].rules.clone().unwrap();
    let each =
        rules.iter().enumerate().flat_map(|(at, rule)| rule.verbs.iter().map(move |verb| (at, verb.clone())));
    for (at, verb) in each {
        let rule = &rules[at].resources.as_ref().unwrap()[0];
        // Needed at times only, or on servers with an admission plugin.
        if rule == "configmaps/finalizers" || (rule == "events" && verb == "patch") {
            continue;
        }
        let mut less = roles.clone();
        let rules = less[0].rules.as_mut().unwrap();
        rules[at].verbs.retain(|it| *it != verb);
        rules.retain(|rule| !rule.verbs.is_empty());
        let (worked, errors) = run_with(cluster_role.clone(), less).await;
        assert!(!worked, "without {verb} of rule {at}");
        // Of a creation by an apply patch, servers do not say more than that it is forbidden.
        let refused =
            if verb == "create" { "is forbidden: ".to_owned() } else { format!("cannot {verb} resource") };
        assert!(
            errors.iter().any(|error| error.contains(&refused)),
            "without {verb} of rule {at}: {errors:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn two_recordings_of_a_controller_are_equal() {
    let (first, second) = (record().await, record().await);
    assert_eq!(first.to_yaml("op"), second.to_yaml("op"));
    let named = first.with_resource_names().to_yaml("op");
    assert!(named.contains("  resourceNames: [\"a\"]\n  verbs: [\"create\",\"get\",\"patch\"]\n"), "{named}");
}

#[tokio::test(start_paused = true)]
async fn clones_record_into_one_set_that_can_be_cleared() {
    let recorder = RbacRecorder::default();
    let client = Client::new(recorder.clone().layer(ApiServer::new()), "default");
    assert!(client.apiserver_version().await.is_ok());
    let yaml = recorder.permissions().to_yaml("op");
    assert!(yaml.ends_with("rules:\n- nonResourceURLs: [\"/version\"]\n  verbs: [\"get\"]\n"), "{yaml}");
    recorder.clear();
    assert!(recorder.permissions().is_empty());
}
