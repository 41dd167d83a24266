//! Server-side apply of configurations: what a manager applied can be read back, conflicts name their owners, updates can be adopted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::apply::{Sparse, extract};
use kube::core::gvk::GroupVersionKind;
use kube::{Api, ApiExt, Resource, ResourceExt as _};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::test_env::{Requires, TestEnv, rejection, run};
use crate::widget::{Widget, WidgetStatus, widget};

/// How many random configurations are applied.
const CASES: usize = 24;

fn sparse<K>(json: Value) -> Sparse<K> {
    let Value::Object(fields) = json else { unreachable!("a configuration is an object") };
    Sparse::from_fields(fields)
}

fn me() -> PatchParams {
    PatchParams::apply("me").force()
}

/// An object with some of these fields.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let field = |(name, value): (&'static str, BoxedStrategy<Value>)| {
        prop::option::of(value).prop_map(move |value| Some((name.to_owned(), value?)))
    };
    let fields: Vec<_> = fields.into_iter().map(field).collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>())).boxed()
}

/// One of these values.
fn one_of<const N: usize>(values: [Value; N]) -> BoxedStrategy<Value> {
    prop::sample::select(values.to_vec()).boxed()
}

/// Some of these items, at least one.
fn items_of<const N: usize>(values: [Value; N]) -> BoxedStrategy<Value> {
    prop::sample::subsequence(values.to_vec(), 1..=N).prop_map(Value::Array).boxed()
}

fn container(name: &'static str) -> BoxedStrategy<Value> {
    let optional = some_of(vec![
        ("args", one_of([json!(["a"]), json!(["a", "b"])])),
        ("env", items_of([json!({ "name": "A", "value": "1" }), json!({ "name": "B" })])),
        (
            "ports",
            items_of([
                json!({ "containerPort": 80 }),
                json!({ "containerPort": 443, "protocol": "TCP", "name": "https" }),
                json!({ "containerPort": 80, "protocol": "UDP" }),
            ]),
        ),
        (
            "resources",
            one_of([
                json!({}),
                json!({ "limits": { "cpu": "1" } }),
                json!({ "limits": { "memory": "1Gi" }, "requests": { "cpu": "100m" } }),
            ]),
        ),
        (
            "securityContext",
            one_of([
                json!({}),
                json!({ "runAsUser": 5 }),
                json!({ "runAsNonRoot": true, "capabilities": { "drop": ["ALL"] } }),
            ]),
        ),
        (
            "readinessProbe",
            one_of([
                json!({ "httpGet": { "port": 80 } }),
                json!({ "httpGet": { "path": "/ready", "port": "http" }, "periodSeconds": 5 }),
            ]),
        ),
        ("imagePullPolicy", one_of([json!("Always"), json!("Never")])),
    ]);
    (optional, one_of([json!("x:1"), json!("x")]))
        .prop_map(move |(mut container, image)| {
            container["name"] = json!(name);
            container["image"] = image;
            container
        })
        .boxed()
}

fn deployment() -> BoxedStrategy<Value> {
    let containers = (container("a"), prop::option::of(container("b")));
    let pod = some_of(vec![
        ("nodeSelector", one_of([json!({ "disk": "ssd" }), json!({ "disk": "hdd", "zone": "a" })])),
        ("securityContext", one_of([json!({}), json!({ "fsGroup": 5 })])),
        (
            "volumes",
            items_of([
                json!({ "name": "v", "emptyDir": {} }),
                json!({ "name": "w", "configMap": { "name": "x" } }),
                json!({ "name": "x", "emptyDir": { "medium": "Memory" } }),
            ]),
        ),
        (
            "tolerations",
            one_of([
                json!([{ "operator": "Exists" }]),
                json!([{ "key": "a" }, { "key": "b", "effect": "NoExecute" }]),
            ]),
        ),
        ("imagePullSecrets", items_of([json!({ "name": "s" }), json!({ "name": "t" })])),
        ("hostAliases", one_of([json!([{ "ip": "10.0.0.1", "hostnames": ["a", "b"] }])])),
        (
            "topologySpreadConstraints",
            items_of([
                json!({ "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1, "labelSelector": { "matchLabels": { "app": "x" } } }),
                json!({ "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 2 }),
            ]),
        ),
        ("serviceAccountName", one_of([json!("robot")])),
    ]);
    let spec = some_of(vec![
        ("replicas", one_of([json!(0)])),
        (
            "strategy",
            // Not `Recreate`: a server does not accept it beside the limits of a rolling update that it has set itself.
            one_of([
                json!({}),
                json!({ "type": "RollingUpdate" }),
                json!({ "rollingUpdate": { "maxSurge": 1 } }),
            ]),
        ),
        ("minReadySeconds", one_of([json!(3)])),
        ("paused", one_of([json!(true)])),
    ]);
    (containers, pod, spec, metadata())
        .prop_map(|((a, b), mut pod, mut spec, metadata)| {
            pod["containers"] = [a].into_iter().chain(b).collect();
            spec["selector"] = json!({ "matchLabels": { "app": "x" } });
            spec["template"] = json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod });
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec })
        })
        .boxed()
}

fn service() -> BoxedStrategy<Value> {
    let ports = items_of([
        json!({ "name": "a", "port": 80 }),
        json!({ "name": "b", "port": 80, "protocol": "UDP" }),
        json!({ "name": "c", "port": 443, "targetPort": "https", "protocol": "TCP" }),
    ]);
    let spec = some_of(vec![
        ("selector", one_of([json!({ "app": "x" }), json!({ "app": "x", "tier": "y" })])),
        ("externalIPs", one_of([json!(["10.1.1.1"])])),
        ("sessionAffinity", one_of([json!("ClientIP"), json!("None")])),
    ]);
    (ports, spec, metadata())
        .prop_map(|(ports, mut spec, metadata)| {
            spec["ports"] = ports;
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec })
        })
        .boxed()
}

fn metadata() -> BoxedStrategy<Value> {
    some_of(vec![
        ("labels", one_of([json!({ "a": "1" }), json!({ "a": "2", "b.io/c": "" })])),
        ("annotations", one_of([json!({ "x": "1" }), json!({ "y": "text" })])),
        ("finalizers", items_of([json!("e.io/a"), json!("e.io/b")])),
    ])
}

fn custom() -> BoxedStrategy<Value> {
    let spec = some_of(vec![
        ("color", one_of([json!("red"), json!("")])),
        ("tags", one_of([json!(["a"]), json!(["b", "a"])])),
    ]);
    (spec, metadata()).prop_map(|(mut spec, metadata)| {
        spec["size"] = json!(1);
        json!({ "apiVersion": "e2e.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec })
    })
    .boxed()
}

/// Three random configurations for each case.
fn random(configurations: &BoxedStrategy<Value>) -> Vec<[Value; 3]> {
    let mut runner = TestRunner::deterministic();
    let mut case = |number: usize| {
        [(); 3].map(|()| {
            let mut json = configurations.new_tree(&mut runner).expect("no filters").current();
            json["metadata"]["name"] = json!(format!("random-{number}"));
            json
        })
    };
    (0..CASES).map(&mut case).collect()
}

/// Applies random configurations of two managers to one object after the other, and what was extracted again.
async fn is_fixpoint<K>(env: &TestEnv, cases: Vec<[Value; 3]>) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned,
{
    let api = env.api::<K>();
    for mut case in cases {
        if env.older_than(22) {
            case.iter_mut().for_each(adapt_to_old_servers);
        }
        let [first, second, third] = case;
        let live = apply(&api, &me(), &sparse(first.clone())).await?;
        let applied = extract(&live, "me", None)?;
        assert_eq!(without_namespace(&applied), first, "what was applied comes back");
        writes_nothing(env, &live, &apply(&api, &me(), &applied).await?);
        // The same manager with other fields, beside another manager.
        apply(&api, &PatchParams::apply("other").force(), &sparse(second)).await?;
        let live = apply(&api, &me(), &sparse(third)).await?;
        for manager in ["me", "other"] {
            let params = PatchParams::apply(manager);
            let applied = extract(&live, manager, None)?;
            let again = apply(&api, &params, &applied).await?;
            assert_eq!(values(&again)?, values(&live)?, "{manager}: {applied:?} of {live:?}");
            assert_eq!(extract(&again, manager, None)?, applied);
            // An empty struct that went with the fields of another manager in it is owned, but not there: its owner is forgotten once.
            writes_nothing(env, &again, &apply(&api, &params, &applied).await?);
        }
        let name = live.name_any();
        let finalizers = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        api.patch(&name, &PatchParams::default(), &finalizers).await?;
        api.delete(&name, &Default::default()).await?;
    }
    Ok(())
}

/// An error says what was applied by whom.
async fn apply<K>(api: &Api<K>, params: &PatchParams, configuration: &Sparse<K>) -> anyhow::Result<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let applied = api.apply(params, configuration).await;
    applied.with_context(|| format!("{:?} applies {configuration:?}", params.field_manager))
}

/// Servers before 1.22 do not remember who applied an empty struct, and require the protocol of a port of a Service. Of a probe that is
/// left out, they keep the defaults and refuse them, as they have no port.
fn adapt_to_old_servers(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "readinessProbe" && *value != json!({}));
            if fields.contains_key("port") {
                fields.entry("protocol").or_insert(json!("TCP"));
            }
            fields.values_mut().for_each(adapt_to_old_servers);
        }
        Value::Array(items) => items.iter_mut().for_each(adapt_to_old_servers),
        _ => {}
    }
}

/// Of two answers one after the other. Servers before 1.22 renew times with every apply. Controllers of genuine servers write the status
/// meanwhile.
fn writes_nothing(env: &TestEnv, before: &impl Resource, after: &impl Resource) {
    assert_eq!(applied_fields(after), applied_fields(before));
    if env.server.is_some() {
        assert_eq!(after.meta().resource_version, before.meta().resource_version);
    }
}

/// Who has applied what.
fn applied_fields(object: &impl Resource) -> Vec<(Option<&str>, Option<&FieldsV1>)> {
    let applies = object.meta().managed_fields.iter().flatten();
    let applies = applies.filter(|it| it.operation.as_deref() == Some("Apply"));
    applies.map(|it| (it.manager.as_deref(), it.fields_v1.as_ref())).collect()
}

/// What managers apply of an object.
fn values(object: &(impl Resource + Serialize)) -> anyhow::Result<Value> {
    let mut annotations = object.annotations().clone();
    annotations.remove("deployment.kubernetes.io/revision"); // written by a controller
    let spec = serde_json::to_value(object)?["spec"].take();
    Ok(json!([spec, object.labels(), annotations, object.finalizers()]))
}

fn without_namespace<K>(configuration: &Sparse<K>) -> Value {
    let mut json = configuration.json().expect("valid");
    json["metadata"].as_object_mut().map(|metadata| metadata.remove("namespace"));
    json
}

#[test]
fn what_was_applied_to_built_in_kinds_can_be_applied_again() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let (deployments, services) = (random(&deployment()), random(&service()));
            is_fixpoint::<Deployment>(env, deployments).await?;
            is_fixpoint::<Service>(env, services).await
        }
        .boxed()
    })
}

#[test]
fn what_was_applied_to_custom_resources_can_be_applied_again() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let cases = random(&custom());
            is_fixpoint::<Widget>(env, cases).await
        }
        .boxed()
    })
}

fn widget_with(name: &str, spec: Value) -> Sparse<Widget> {
    sparse(
        json!({ "apiVersion": "e2e.example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec }),
    )
}

#[test]
fn a_conflict_names_field_and_manager_and_what_is_left_out_is_removed() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.apply(&PatchParams::apply("first"), &widget_with("a", json!({ "size": 1, "color": "red" })))
                .await?;
            let second = PatchParams::apply("second");
            let wanted = widget_with("a", json!({ "size": 2, "tags": ["x"] }));
            let error = api.apply(&second, &wanted).await.unwrap_err();
            let owners: Vec<_> =
                error.field_conflicts().iter().map(|it| (it.manager_name(), it.field.clone())).collect();
            assert_eq!(owners, [("first".to_owned(), ".spec.size".to_owned())], "{error}");

            let forced = api.apply(&second.clone().force(), &wanted).await?;
            assert_eq!(
                (forced.spec.size, forced.spec.color.as_deref()),
                (2, Some("red")),
                "others keep their fields"
            );
            let left = api.apply(&second, &widget_with("a", json!({ "size": 2 }))).await?;
            assert_eq!((left.spec.tags.len(), left.spec.color.as_deref()), (0, Some("red")));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_status_is_applied_and_extracted_by_itself() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut whole = widget("a", 3);
            let live = api.apply(&me(), &whole).await?;
            assert_eq!(extract(&live, "me", Some("status"))?.json()?.get("status"), None);
            whole.status = Some(WidgetStatus { phase: "Ready".into() });
            let live = api.apply_status(&me(), &whole).await?;
            assert_eq!(
                (live.spec.size, live.status.as_ref().map(|status| &*status.phase)),
                (3, Some("Ready"))
            );
            let status = extract(&live, "me", Some("status"))?.json()?;
            assert_eq!(status["status"], json!({ "phase": "Ready" }));
            if !env.older_than(22) {
                let main = extract(&live, "me", None)?.json()?;
                assert_eq!((main["spec"]["size"].as_i64(), main.get("status")), (Some(3), None));
            }
            let again = api.apply_status(&me(), &sparse(status)).await?;
            if !env.older_than(22) {
                assert_eq!(applied_fields(&again), applied_fields(&live));
                assert_eq!(again.resource_version(), live.resource_version());
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn dynamic_objects_are_applied_and_extracted() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("e2e.example.com", "v1", "Widget"));
            let api = Api::<DynamicObject>::namespaced_with(env.client.clone(), &env.namespace, &kind);
            let wanted = DynamicObject::new("a", &kind).data(json!({ "spec": { "size": 1 } }));
            let live = api.apply(&me(), &wanted).await?;
            let again = api.apply(&me(), &extract(&live, "me", None)?).await?;
            assert_eq!(applied_fields(&again), applied_fields(&live));
            if !env.older_than(22) {
                assert_eq!(again.resource_version(), live.resource_version());
            }
            Ok(())
        }
        .boxed()
    })
}

/// Writes labels of the object until it is told to stop.
async fn keep_writing(api: Api<ConfigMap>, stop: Arc<AtomicBool>) -> anyhow::Result<u32> {
    let params = PatchParams { field_manager: Some("busy".into()), ..PatchParams::default() };
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return Ok(number);
        }
        let labels = Patch::Merge(json!({ "metadata": { "labels": { "number": number.to_string() } } }));
        api.patch("a", &params, &labels).await?;
        tokio::task::yield_now().await;
    }
    unreachable!("it is told to stop")
}

async fn adopts(env: &TestEnv) -> anyhow::Result<()> {
    let api = env.api::<ConfigMap>();
    let mut map: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "data": { "x": "1", "y": "2" } }))?;
    let params = PostParams { field_manager: Some("me".into()), ..PostParams::default() };
    api.create(&params, &map).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(keep_writing(api.clone(), Arc::clone(&stop)));
    // Others write all the time: a few conflicts are part of the test, an attempt between two writes succeeds.
    let mut adopted = api.adopt("a", "me").await;
    for _ in 0..20 {
        if !matches!(&adopted, Err(kube::Error::Api(status)) if status.is_conflict()) {
            break;
        }
        adopted = api.adopt("a", "me").await;
    }
    stop.store(true, Ordering::Relaxed);
    let writes = writer.await??;
    assert!(adopted?, "it moved something");
    assert!(!api.adopt("a", "me").await?, "nothing is left to move");

    let live = api.get("a").await?;
    let entries: Vec<_> =
        live.managed_fields().iter().map(|it| (it.manager.as_deref(), it.operation.as_deref())).collect();
    assert!(
        entries.contains(&(Some("me"), Some("Apply"))) && !entries.contains(&(Some("me"), Some("Update"))),
        "{entries:?}"
    );
    if writes > 0 {
        assert!(entries.contains(&(Some("busy"), Some("Update"))), "no write of others is lost: {entries:?}");
        assert_eq!(live.labels().get("number"), Some(&(writes - 1).to_string()));
    }
    assert_eq!(extract(&live, "me", None)?.json()?["data"], json!({ "x": "1", "y": "2" }));
    map.data = Some([("x".to_owned(), "1".to_owned())].into());
    let applied = api.apply(&PatchParams::apply("me"), &map).await?;
    assert_eq!(applied.data.map(|data| data.into_keys().collect::<Vec<_>>()), Some(vec!["x".to_owned()]));
    Ok(())
}

#[test]
fn updates_are_adopted_while_others_write() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| adopts(env).boxed())
}

#[test]
fn an_object_that_does_not_exist_is_not_adopted() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let error = rejection(env.api::<Widget>().adopt("missing", "me").await)?;
            assert!(error.is_not_found(), "{error}");
            Ok(())
        }
        .boxed()
    })
}
