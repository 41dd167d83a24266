//! Tables: printed as kubectl prints them.

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::table::{Table, human_duration};
use kube::{Api, ApiExt, Client, Resource, crds};
use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::test_env::{Requires, TestEnv, run, skip, unique};
use crate::widget::{Widget, widget};

async fn create<K>(env: &TestEnv, json: Value) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    env.api::<K>().create(&PostParams::default(), &serde_json::from_value(json)?).await?;
    Ok(())
}

async fn objects(env: &TestEnv) -> anyhow::Result<()> {
    let labels = json!({ "app": "web", "example.com/tier": "front" });
    let containers =
        json!([{ "name": "web", "image": "registry.example.com/web:1" }, { "name": "log", "image": "log" }]);
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
    let metadata = json!({ "name": "web", "labels": labels });
    create::<Pod>(env, json!({ "metadata": metadata, "spec": template["spec"] })).await?;
    create::<Pod>(
        env,
        json!({ "metadata": { "name": "a-pod-with-a-longer-name" }, "spec": template["spec"] }),
    )
    .await?;
    let spec = json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
    create::<Deployment>(env, json!({ "metadata": metadata, "spec": spec })).await?;
    create::<ConfigMap>(env, json!({ "metadata": metadata, "data": { "a": "1", "b": "2" } })).await?;
    create::<Secret>(env, json!({ "metadata": metadata, "stringData": { "a": "1" } })).await?;
    create::<Service>(
        env,
        json!({ "metadata": metadata, "spec": { "selector": labels, "ports": [{ "port": 80 }] } }),
    )
    .await?;
    env.api::<Widget>().create(&PostParams::default(), &widget("small", 1)).await?;
    env.api::<Widget>().create(&PostParams::default(), &widget("a-larger-widget", 1000)).await?;
    Ok(())
}

/// One way to print, as an option of kubectl and of the printer.
type Way = (&'static [&'static str], fn(&Table) -> String);

const WAYS: [Way; 6] = [
    (&[], |table| table.to_string()),
    (&["-o", "wide"], |table| table.printer().wide().to_string()),
    (&["--no-headers"], |table| table.printer().no_headers().to_string()),
    (&["--show-labels"], |table| table.printer().show_labels().to_string()),
    (&["-L", "app,example.com/tier,none"], |table| {
        table.printer().label_columns(["app", "example.com/tier", "none"]).to_string()
    }),
    (&["-o", "wide", "--show-labels", "--no-headers"], |table| {
        table.printer().wide().show_labels().no_headers().to_string()
    }),
];

/// Ages count on, so both print until nothing has changed in between.
async fn compare<K: Resource>(
    kubectl: &Kubectl,
    arguments: &[&str],
    api: &Api<K>,
    print: fn(&Table) -> String,
) -> anyhow::Result<()> {
    for _ in 0..20 {
        let before = print(&api.table(&ListParams::default()).await?);
        let theirs = kubectl.run(arguments, "").await?;
        let after = print(&api.table(&ListParams::default()).await?);
        if before == after {
            assert_eq!(format!("{before}\n"), theirs, "kubectl {}", arguments.join(" "));
            return Ok(());
        }
    }
    anyhow::bail!("the table changes all the time: kubectl {}", arguments.join(" "))
}

async fn compare_kind<K>(env: &TestEnv, kubectl: &Kubectl, plural: &str) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    for (options, print) in WAYS {
        compare(kubectl, &[&["get", plural], options].concat(), &env.api::<K>(), print).await?;
    }
    let all: Api<K> = Api::all(env.client.clone());
    let print = |table: &Table| table.printer().with_namespace().to_string();
    compare(kubectl, &["get", plural, "--all-namespaces"], &all, print).await
}

#[test]
fn objects_are_printed_as_kubectl_prints_them() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip("KUBE_E2E_KUBECTL is not set") };
            objects(env).await?;
            compare_kind::<Pod>(env, &kubectl, "pods").await?;
            compare_kind::<Deployment>(env, &kubectl, "deployments").await?;
            compare_kind::<ConfigMap>(env, &kubectl, "configmaps").await?;
            compare_kind::<Secret>(env, &kubectl, "secrets").await?;
            compare_kind::<Service>(env, &kubectl, "services").await?;
            compare_kind::<Widget>(env, &kubectl, "widgets.e2e.example.com").await?;
            let namespaces: Api<Namespace> = Api::all(env.client.clone());
            compare(&kubectl, &["get", "namespaces"], &namespaces, |table| table.to_string()).await
        }
        .boxed()
    })
}

#[test]
fn a_table_has_the_columns_of_the_definition_and_the_metadata_of_the_objects() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            assert_eq!(api.table(&ListParams::default()).await?.to_string(), "");
            api.create(&PostParams::default(), &widget("one", 7)).await?;
            let table = api.table(&ListParams::default()).await?;
            let size = table.column("size").context("no column")?;
            assert_eq!((table.rows[0].cells[size].as_i64(), table.rows.len()), (Some(7), 1));
            assert_eq!(
                table.rows[0].object.as_ref().and_then(|object| object.metadata.namespace.as_ref()),
                Some(&env.namespace)
            );
            let one = api.get_table("one").await?;
            assert_eq!(one.to_string(), "NAME   SIZE\none    7");
            Ok(())
        }
        .boxed()
    })
}

/// A kind whose table has the age of a time in its spec.
async fn moments(client: &Client, group: &str) -> anyhow::Result<Api<DynamicObject>> {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "at": { "type": "string", "format": "date-time" } } } });
    let columns = json!([{ "name": "At", "type": "date", "jsonPath": ".at" }]);
    let crd = serde_json::from_value(json!({
        "metadata": { "name": format!("moments.{group}") },
        "spec": { "group": group, "scope": "Cluster", "names": { "plural": "moments", "kind": "Moment" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema, "additionalPrinterColumns": columns }] },
    }))?;
    crds::install(client, "e2e", [crd]).await?;
    let kind = GroupVersionKind::gvk(group, "v1", "Moment");
    Ok(Api::all_with(client.clone(), &ApiResource::from_gvk(&kind)))
}

#[test]
fn ages_are_those_of_the_server() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let group = format!("{}.example.com", unique("moments"));
            let api = moments(&env.client, &group).await?;
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Moment"));
            let (minute, hour, day) = (60, 3600, 24 * 3600);
            let ages = [
                20,
                2 * minute - 10,
                3 * minute + 5,
                9 * minute,
                20 * minute + 30,
                3 * hour + 90,
                7 * hour + 30,
                20 * hour,
                47 * hour + 30,
                3 * day + 30,
                5 * day + 2 * hour + 30,
                100 * day,
                729 * day,
                730 * day + 30,
                900 * day + 30,
                3000 * day,
                -3600,
            ];
            let now = Timestamp::from_second(Timestamp::now().as_second())?;
            for (at, age) in ages.iter().enumerate() {
                let time = now - SignedDuration::from_secs(*age);
                let moment =
                    DynamicObject::new(&format!("m{at:02}"), &kind).data(json!({ "at": time.to_string() }));
                api.create(&PostParams::default(), &moment).await?;
            }
            let before = Timestamp::now();
            let table = api.table(&ListParams::default()).await?;
            let after = Timestamp::now();
            for (row, age) in table.rows.iter().zip(ages) {
                let time = now - SignedDuration::from_secs(age);
                let possible = [before, after].map(|now| human_duration(now.duration_since(time)));
                let printed = row.cells[1].as_str().context("an age is a text")?;
                assert!(possible.iter().any(|age| age == printed), "{printed}: expected {possible:?}");
            }
            assert_eq!(table.rows.len(), ages.len());
            delete_crd(&env.client, &format!("moments.{group}")).await
        }
        .boxed()
    })
}

async fn delete_crd(client: &Client, name: &str) -> anyhow::Result<()> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    Api::<CustomResourceDefinition>::all(client.clone()).delete(name, &Default::default()).await?;
    Ok(())
}
