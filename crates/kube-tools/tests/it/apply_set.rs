//! Apply sets: pruning, what the parent records, and what is refused.

#![allow(clippy::unwrap_used, reason = "functions of tests, too")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube_client::{Api, Client, Resource};
use kube_testserver::{ApiServer, Fault, FaultResponse, Match};
use kube_tools::apply_set::{ApplySet, ApplySetError};
use serde_json::json;

use crate::definition::definition;
use crate::server::{config_map, in_process};

type Objects = Vec<(ApiResource, DynamicObject)>;

fn objects<K: Resource<DynamicType = ()>>(namespace: Option<&str>, names: &[&str]) -> Objects {
    let resource = ApiResource::erase::<K>(&());
    let object = |name: &&str| {
        let object = DynamicObject::new(name, &resource);
        namespace.map_or(object.clone(), |namespace| object.within(namespace))
    };
    names.iter().map(|name| (resource.clone(), object(name))).collect()
}

fn maps(names: &[&str]) -> Objects {
    objects::<ConfigMap>(Some("default"), names)
}

async fn apply_one(client: &Client, resource: &ApiResource, object: &DynamicObject) -> DynamicObject {
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let name = object.metadata.name.as_deref().unwrap();
    api.patch(name, &PatchParams::apply("test"), &Patch::Apply(object)).await.unwrap()
}

/// Applies the set, and returns what was pruned, sorted.
async fn apply(client: &Client, set: &ApplySet, mut objects: Objects) -> Result<Vec<String>, ApplySetError> {
    let applying = set.begin(client, &mut objects).await?;
    let mut applied = Vec::new();
    for (resource, object) in &objects {
        applied.push(apply_one(client, resource, object).await);
    }
    let mut pruned: Vec<_> = applying.finish(&applied).await?.iter().map(ToString::to_string).collect();
    pruned.sort();
    Ok(pruned)
}

async fn names(client: &Client) -> Vec<String> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let list = maps.list(&Default::default()).await.unwrap();
    list.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

/// What the parent records: kinds and namespaces.
async fn record(client: &Client) -> [String; 2] {
    let secret = Api::<Secret>::default_namespaced(client.clone()).get("set").await.unwrap();
    let annotations = secret.metadata.annotations.unwrap();
    ["contains-group-kinds", "additional-namespaces"]
        .map(|name| annotations[&format!("applyset.kubernetes.io/{name}")].clone())
}

fn set() -> ApplySet {
    ApplySet::secret("default", "set")
}

#[tokio::test]
async fn members_that_are_no_longer_in_the_set_are_pruned() {
    let (client, _server) = in_process();
    // An object of nobody stays.
    Api::<ConfigMap>::default_namespaced(client.clone())
        .create(&PostParams::default(), &config_map("other", "1"))
        .await
        .unwrap();
    let mut first = maps(&["a", "b"]);
    first.extend(objects::<Secret>(Some("kube-public"), &["s"]));
    first.extend(objects::<Namespace>(None, &["team"]));
    // In a task, so that its futures have to be `Send`.
    let task = client.clone();
    let pruned = tokio::spawn(async move { apply(&task, &set(), first).await }).await.unwrap().unwrap();
    assert_eq!(pruned, [] as [&str; 0]);
    assert_eq!(record(&client).await, ["ConfigMap,Namespace,Secret", "kube-public"]);
    assert_eq!(
        apply(&client, &set(), maps(&["b", "c"])).await.unwrap(),
        ["configmap/a", "namespace/team", "secret/s"]
    );
    assert_eq!(names(&client).await, ["b", "c", "other"]);
    assert_eq!(record(&client).await, ["ConfigMap", ""]);
    assert_eq!(apply(&client, &set(), Vec::new()).await.unwrap(), ["configmap/b", "configmap/c"]);
    assert_eq!(record(&client).await, ["", ""]);
    assert_eq!(apply(&client, &set(), maps(&["a"])).await.unwrap(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_tells_what_would_be_pruned() {
    let (client, server) = in_process();
    apply(&client, &set(), maps(&["a", "b"])).await.unwrap();
    let before = server.snapshot();
    let mut objects = maps(&["b"]);
    let applying = set().dry_run(true).begin(&client, &mut objects).await.unwrap();
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &objects[0].0);
    let applied = [api.get("b").await.unwrap()];
    let pruned = applying.finish(&applied).await.unwrap();
    assert_eq!(pruned.iter().map(ToString::to_string).collect::<Vec<_>>(), ["configmap/a"]);
    assert_eq!(server.snapshot(), before);
}

#[tokio::test]
async fn a_run_that_is_cut_off_or_fails_leaves_a_superset_and_the_next_one_finishes() {
    let (client, server) = in_process();
    apply(&client, &set(), maps(&["a"])).await.unwrap();
    // Cut off after the parent was written.
    let mut secrets = objects::<Secret>(Some("kube-public"), &["s"]);
    drop(set().begin(&client, &mut secrets).await.unwrap());
    assert_eq!(record(&client).await, ["ConfigMap,Secret", "kube-public"]);
    assert_eq!(names(&client).await, ["a"]);
    // A deletion is refused: the others are deleted, and the superset stays.
    apply(&client, &set(), maps(&["a", "b"])).await.unwrap();
    let refused = server.fault(Match::delete::<ConfigMap>().name("a"), Fault::status(403, "Forbidden"));
    let err = apply(&client, &set(), objects::<Secret>(Some("default"), &["s"])).await.unwrap_err();
    let ApplySetError::Prune { pruned, failures } = &err else { panic!("{err}") };
    assert_eq!((pruned.len(), failures.len()), (1, 1));
    assert!(err.to_string().starts_with("1 of 2 objects could not be pruned: configmap/a: "), "{err}");
    assert_eq!(record(&client).await[0], "ConfigMap,Secret");
    refused.remove();
    let pruned = apply(&client, &set(), objects::<Secret>(Some("default"), &["s"])).await.unwrap();
    assert_eq!(pruned, ["configmap/a"]);
    assert_eq!(record(&client).await, ["Secret", ""]);
}

#[tokio::test]
async fn what_belongs_to_others_is_refused_before_anything_is_applied() {
    let (client, server) = in_process();
    apply(&client, &set(), maps(&["a"])).await.unwrap();
    let before = server.snapshot();
    let other = ApplySet::secret("default", "other");
    let err = apply(&client, &other, maps(&["b", "a"])).await.unwrap_err();
    assert!(
        err.to_string().starts_with("ConfigMap \"a\" in namespace \"default\" is in another apply set"),
        "{err}"
    );
    let err = apply(&client, &set().tooling("mine/v1"), maps(&["b"])).await.unwrap_err();
    assert!(err.to_string().contains("belongs to another tool: expected \"mine\""), "{err}");
    let kind = ApiResource::erase::<Namespace>(&());
    let err = apply(&client, &ApplySet::custom(&kind, None, "default"), maps(&["b"])).await.unwrap_err();
    assert!(err.to_string().contains("expected a Secret, a ConfigMap, or a custom resource"), "{err}");
    assert_eq!(server.snapshot(), before, "nothing was written");
    // A Secret of somebody else.
    let secret = serde_json::from_value(json!({ "metadata": { "name": "taken" } })).unwrap();
    Api::<Secret>::default_namespaced(client.clone()).create(&PostParams::default(), &secret).await.unwrap();
    let err = apply(&client, &ApplySet::secret("default", "taken"), maps(&["b"])).await.unwrap_err();
    assert!(err.to_string().contains("was not made for an apply set"), "{err}");
}

#[tokio::test]
async fn an_owned_member_is_not_deleted() {
    let (client, _server) = in_process();
    apply(&client, &set(), maps(&["a", "owner"])).await.unwrap();
    let maps_api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner = maps_api.get("owner").await.unwrap().owner_ref(&()).unwrap();
    let patch = Patch::Merge(json!({ "metadata": { "ownerReferences": [owner] } }));
    maps_api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    // The run ends well, as that of kubectl: what its owner makes again cannot be pruned.
    assert_eq!(apply(&client, &set(), maps(&["owner"])).await.unwrap(), [] as [&str; 0]);
    assert_eq!(names(&client).await, ["a", "owner"]);
}

/// Another run writes the parent between `begin` and `finish`: what it has recorded is not lost.
#[tokio::test]
async fn two_runs_at_the_same_time_lose_no_record() {
    let (client, _server) = in_process();
    apply(&client, &set(), maps(&["a"])).await.unwrap();
    let mut objects_of_first = maps(&["a"]);
    let first = set().begin(&client, &mut objects_of_first).await.unwrap();
    apply(&client, &set(), objects::<Secret>(Some("kube-public"), &["s"])).await.unwrap();
    let applied = apply_one(&client, &objects_of_first[0].0, &objects_of_first[0].1).await;
    first.finish(&[applied]).await.unwrap();
    assert_eq!(record(&client).await, ["ConfigMap,Secret", "kube-public"]);
}

/// Each has read the parent before the other has written it.
#[tokio::test]
async fn first_runs_at_the_same_time_do_not_overwrite_the_parent_of_each_other() {
    let (client, server) = in_process();
    let (mut of_first, mut of_second) = (maps(&["a"]), objects::<Secret>(Some("kube-public"), &["s"]));
    let first = set().begin(&client, &mut of_first).await.unwrap();
    server.fault(Match::get::<Secret>().name("set").times(1), Fault::status(404, "NotFound"));
    let second = set().begin(&client, &mut of_second).await.unwrap();
    assert_eq!(record(&client).await, ["ConfigMap,Secret", "kube-public"]);
    let applied = apply_one(&client, &of_second[0].0, &of_second[0].1).await;
    second.finish(&[applied]).await.unwrap();
    let applied = apply_one(&client, &of_first[0].0, &of_first[0].1).await;
    first.finish(&[applied]).await.unwrap();
    assert_eq!(record(&client).await, ["ConfigMap,Secret", "kube-public"]);
}

#[tokio::test]
async fn an_older_run_that_ends_later_deletes_nothing_and_says_who_was_faster() {
    let (client, _server) = in_process();
    apply(&client, &set(), maps(&["a", "b", "c"])).await.unwrap();
    let mut of_older = maps(&["a"]);
    of_older.extend(objects::<Secret>(Some("kube-public"), &["s"]));
    let older = set().begin(&client, &mut of_older).await.unwrap();
    assert_eq!(apply(&client, &set(), maps(&["a", "b"])).await.unwrap(), ["configmap/c"]);
    let mut applied = Vec::new();
    for (resource, object) in &of_older {
        applied.push(apply_one(&client, resource, object).await);
    }
    let err = older.finish(&applied).await.unwrap_err().to_string();
    assert!(
        err.contains("\"set\" in namespace \"default\", the parent of the apply set, was taken over"),
        "{err}"
    );
    assert!(err.contains("kubectl/v1.37 as field manager \"kubectl-applyset\" at 20"), "{err}");
    assert!(err.ends_with("this run has deleted nothing, and gives up"), "{err}");
    assert_eq!(names(&client).await, ["a", "b"]);
    // What the older one has applied is recorded, so that the next run finds it.
    assert_eq!(record(&client).await, ["ConfigMap,Secret", "kube-public"]);
    assert_eq!(apply(&client, &set(), maps(&["a"])).await.unwrap(), ["configmap/b", "secret/s"]);
}

/// Eight deletions at a time: the other run begins between them.
#[tokio::test]
async fn a_run_that_is_overtaken_while_it_deletes_stops() {
    let (client, server) = in_process();
    let many: Vec<_> = (0..20).map(|at| format!("map-{at:02}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    apply(&client, &set(), maps(&many)).await.unwrap();
    let mut of_older = maps(&["map-00"]);
    let older = set().begin(&client, &mut of_older).await.unwrap();
    let applied = apply_one(&client, &of_older[0].0, &of_older[0].1).await;
    let slow =
        server.fault(Match::delete::<ConfigMap>().name("map-01"), Fault::Delay(Duration::from_secs(3600)));
    let newer = async {
        while slow.hits() == 0 {
            tokio::task::yield_now().await;
        }
        let mut of_newer = maps(&many);
        drop(set().begin(&client, &mut of_newer).await.unwrap());
        server.advance(Duration::from_secs(3600));
    };
    let applied = [applied];
    let (result, ()) = futures::join!(older.finish(&applied), newer);
    let err = result.unwrap_err().to_string();
    assert!(err.ends_with("this run has deleted 8 objects, and gives up"), "{err}");
    assert_eq!(names(&client).await.len(), 12);
}

/// What was listed may have changed when its turn comes: someone takes an object out of the set, a later run applies another one.
#[tokio::test]
async fn a_member_that_was_changed_since_it_was_listed_is_looked_at_again() {
    let (client, server) = in_process();
    let many: Vec<_> = (0..20).map(|at| format!("map-{at:02}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let patch = async |name: &str, patch: serde_json::Value| {
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    };
    let while_deleting = async |newer: bool| {
        apply(&client, &set(), maps(&many)).await.unwrap();
        let mut of_older = maps(&["map-00"]);
        let older = set().begin(&client, &mut of_older).await.unwrap();
        let applied = [apply_one(&client, &of_older[0].0, &of_older[0].1).await];
        let slow = server
            .fault(Match::delete::<ConfigMap>().name("map-01"), Fault::Delay(Duration::from_secs(3600)));
        let others = async {
            while slow.hits() == 0 {
                tokio::task::yield_now().await;
            }
            patch("map-15", json!({ "metadata": { "labels": { "applyset.kubernetes.io/part-of": null } } }))
                .await;
            patch("map-16", json!({ "data": { "a": "b" } })).await;
            if newer {
                drop(set().begin(&client, &mut maps(&many)).await.unwrap());
                patch("map-01", json!({ "data": { "applied": "by the newer run" } })).await;
            }
            slow.remove();
            server.advance(Duration::from_secs(3600));
        };
        let (result, ()) = futures::join!(older.finish(&applied), others);
        result
    };
    while_deleting(false).await.unwrap();
    assert_eq!(names(&client).await, ["map-00", "map-15"], "map-16 is still in the set");
    let err = while_deleting(true).await.unwrap_err().to_string();
    assert!(err.ends_with("this run has deleted 7 objects, and gives up"), "{err}");
    assert_eq!(names(&client).await.len(), 13, "map-01 is that of the newer run");
}

/// Someone who labels the parent is no run.
#[tokio::test]
async fn an_edit_of_the_parent_does_not_end_a_run() {
    let (client, _server) = in_process();
    apply(&client, &set(), maps(&["a", "b"])).await.unwrap();
    let mut objects = maps(&["a"]);
    let applying = set().begin(&client, &mut objects).await.unwrap();
    let label = Patch::Merge(json!({ "metadata": { "labels": { "team": "shop" } } }));
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    secrets.patch("set", &PatchParams::default(), &label).await.unwrap();
    let applied = apply_one(&client, &objects[0].0, &objects[0].1).await;
    applying.finish(&[applied]).await.unwrap();
    assert_eq!(names(&client).await, ["a"]);
    let annotations = secrets.get("set").await.unwrap().metadata.annotations.unwrap();
    assert!(annotations.keys().all(|key| key.starts_with("applyset.kubernetes.io/")), "{annotations:?}");
}

/// The definition is gone, and its objects with it; the record stays until the kind is served again.
#[tokio::test]
async fn a_kind_that_is_not_served_stays_recorded() {
    let (client, _server) = in_process();
    apply(&client, &set(), maps(&["a"])).await.unwrap();
    let kinds = "applyset.kubernetes.io/contains-group-kinds";
    let patch =
        Patch::Merge(json!({ "metadata": { "annotations": { kinds: "ConfigMap,Widget.example.com" } } }));
    Api::<Secret>::default_namespaced(client.clone())
        .patch("set", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(apply(&client, &set(), maps(&["b"])).await.unwrap(), ["configmap/a"]);
    assert_eq!(record(&client).await, ["ConfigMap,Widget.example.com", ""]);
}

/// For a moment, while its definition is changed; the object is there all the time.
#[tokio::test]
async fn a_path_that_is_not_served_for_a_moment_is_no_member_that_is_gone() {
    let (client, server) = in_process();
    apply(&client, &set(), maps(&["a", "b"])).await.unwrap();
    let unknown = || FaultResponse::status(404, "NotFound").body("404 page not found");
    server.fault(Match::delete::<ConfigMap>().name("b").nth(1), unknown());
    let err = apply(&client, &set(), maps(&["a"])).await.unwrap_err().to_string();
    assert!(err.contains("configmap/b"), "{err}");
    assert_eq!(names(&client).await, ["a", "b"]);

    server.fault(Match::delete::<ConfigMap>().name("b").nth(1), Fault::status(409, "Conflict"));
    server.fault(Match::get::<ConfigMap>().name("b").nth(1), unknown());
    let err = apply(&client, &set(), maps(&["a"])).await.unwrap_err().to_string();
    assert!(err.contains("configmap/b"), "{err}");
    assert_eq!(apply(&client, &set(), maps(&["a"])).await.unwrap(), ["configmap/b"]);
}

/// Whether the object is in another set is then not known.
#[tokio::test]
async fn an_object_of_another_set_is_not_taken_over_while_its_path_is_not_served() {
    let (client, server) = in_process();
    apply(&client, &set(), maps(&["a"])).await.unwrap();
    let unknown = FaultResponse::status(404, "NotFound").body("404 page not found");
    let lists = server.fault(Match::list::<ConfigMap>().nth(1), unknown);
    let other = ApplySet::secret("default", "other");
    let err = apply(&client, &other, maps(&["a"])).await.unwrap_err().to_string();
    assert!(lists.hits() == 1 && err.contains("404"), "{err}");
    assert_eq!(Api::<Secret>::default_namespaced(client).get_opt("other").await.unwrap(), None);
}

#[tokio::test]
async fn custom_parents_need_a_definition_that_says_so() {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let resource = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Set".into(),
        plural: "sets".into(),
    };
    let set = ApplySet::custom(&resource, None, "one");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let sets = definition("example.com", "sets", "Set", "Cluster", &["v1"]);
    definitions.create(&PostParams::default(), &sets).await.unwrap();
    let err = apply(&client, &set, maps(&["a"])).await.unwrap_err();
    assert!(err.to_string().contains("has the label applyset.kubernetes.io/is-parent-type"), "{err}");
    let label = json!({ "metadata": { "labels": { "applyset.kubernetes.io/is-parent-type": "true" } } });
    definitions.patch("sets.example.com", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    let err = apply(&client, &set, maps(&["a"])).await.unwrap_err();
    assert!(err.to_string().contains("does not exist; only Secrets and ConfigMaps"), "{err}");
    let parent = format!(
        "apiVersion: example.com/v1\nkind: Set\nmetadata: {{name: one, labels: {{applyset.kubernetes.io/id: {}}}, annotations: \
         {{applyset.kubernetes.io/tooling: kubectl/v1.37, applyset.kubernetes.io/contains-group-kinds: \"\"}}}}\n",
        set.id()
    );
    server.load(parent.as_str()).unwrap();
    apply(&client, &set, maps(&["a", "b"])).await.unwrap();
    assert_eq!(apply(&client, &set, maps(&["b"])).await.unwrap(), ["configmap/a"]);
}
