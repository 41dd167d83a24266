//! A directory of YAML, applied and deleted; where there is a kubectl, its effect is the same.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;
use kube::api::{DeleteParams, DynamicObject, PatchParams};
use kube::discovery::RestMapper;
use kube::yaml::{Applier, ObjectOutcome, Objects};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::test_env::{Requires, TestEnv, run, skip, unique};

/// In an order in which a server would refuse most of them, in several files and forms.
const FILES: [(&str, &str); 4] = [
    ("1-workload.yaml", WORKLOAD),
    ("2-gadget.yml", GADGET),
    ("3-list.json", LIST),
    ("4-definitions.yaml", DEFINITIONS),
];

const WORKLOAD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: NAME
  labels: {app: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.k8s.io/pause:3.10
        ports: [{containerPort: 80}]
        resources: {requests: {cpu: 1e-2, memory: 16Mi}}
      volumes:
      - name: settings
        configMap: {name: settings, defaultMode: 0440}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME}
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80, targetPort: 80}
  - {name: metrics, port: 9090}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: NAME}
automountServiceAccountToken: no
";

const GADGET: &str = "
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: red, namespace: NAME}
spec:
  size: 3
  parts: [{name: a, weight: 1.5}, {name: b}]
---
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {name: blue, namespace: NAME}
spec: &spec {<<: {size: 4}}
";

const LIST: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "NAME"}, "data": {"level": "info"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "NAME"}, "stringData": {"token": "secret"}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "web", "namespace": "NAME"},
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
     "subjects": [{"kind": "ServiceAccount", "name": "web", "namespace": "NAME"}]}]}"#;

const DEFINITIONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAME.example.com}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: number}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
";

/// One directory, of which each run on a shared server has its own.
struct Directory {
    name: String,
    path: std::path::PathBuf,
}

impl Directory {
    fn create() -> anyhow::Result<Self> {
        let name = unique("yaml");
        let path = std::env::temp_dir().join(&name);
        std::fs::create_dir(&path)?;
        let directory = Self { name, path };
        for (file, text) in FILES {
            std::fs::write(directory.path.join(file), text.replace("NAME", &directory.name))?;
        }
        std::fs::write(directory.path.join("README.txt"), "not: [yaml")?;
        Ok(directory)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn manager() -> PatchParams {
    PatchParams::apply("script")
}

#[test]
fn a_directory_is_applied_as_kubectl_applies_it() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| scenario(env).boxed())
}

async fn scenario(env: &TestEnv) -> anyhow::Result<()> {
    if env.older_than(22) {
        return skip("the server does not know the default protocol of a port when it applies");
    }
    let directory = Directory::create()?;
    let objects = Objects::read(&directory.path)?;
    ensure!(objects.len() == 10, "{} objects", objects.len());
    let applier = Applier::new(env.client.clone());

    let report = applier.apply(&objects, &manager()).await;
    println!("{report}");
    let results = report.into_result()?;
    ensure!(results.iter().all(|result| matches!(result.outcome, ObjectOutcome::Created)));
    ensure!(results[0].id.kind == "Namespace" && results[1].id.kind == "CustomResourceDefinition");
    let ours = live(&env.client, &objects).await?;
    ensure!(ours.len() == 10);
    ensure!(
        ours["Deployment web"]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["defaultMode"] == 0o440
    );
    ensure!(ours["ServiceAccount web"]["automountServiceAccountToken"] == false);
    ensure!(
        ours["Gadget red"]["spec"]
            == json!({ "size": 3, "parts": [{ "name": "a", "weight": 1.5 }, { "name": "b" }] })
    );

    let again = applier.apply(&objects, &manager()).await;
    for result in again.results() {
        // A status that a controller writes in between is a change too.
        let by_controller =
            ["Namespace", "Deployment", "CustomResourceDefinition"].contains(&result.id.kind.as_str());
        let unchanged = matches!(result.outcome, ObjectOutcome::Unchanged);
        ensure!(unchanged || by_controller && result.is_ok(), "applied again: {result}");
    }
    let dry_run = applier.apply(&objects, &manager().dry_run()).await;
    for result in dry_run.results() {
        ensure!(matches!(result.outcome, ObjectOutcome::Unchanged), "dry run: {result}");
    }
    delete(&applier, &objects).await?;

    let Some(kubectl) = Kubectl::open(env)? else { return Ok(()) };
    let kubectl = kubectl.in_namespace(&directory.name);
    let path = directory.path.display().to_string();
    let apply = ["apply", "--server-side", "--field-manager=script", "-f", &path];
    // The first time it does not find the kind of the custom resource.
    let _ = kubectl.run(&apply, "").await;
    let crd = format!("crd/gadgets.{}.example.com", directory.name);
    kubectl.run(&["wait", "--for=condition=Established", &crd], "").await?;
    println!("{}", kubectl.run(&apply, "").await?);
    let theirs = live(&env.client, &objects).await?;
    for (id, theirs) in &theirs {
        ensure!(&ours[id] == theirs, "{id}\n    by kubectl {theirs:#}\n    by us {:#}", ours[id]);
    }
    ensure!(ours.len() == theirs.len());
    // The other tool's turn: nothing to do.
    for result in applier.apply(&objects, &manager().dry_run()).await.results() {
        ensure!(matches!(result.outcome, ObjectOutcome::Unchanged), "after kubectl: {result}");
    }
    delete(&applier, &objects).await
}

async fn delete(applier: &Applier, objects: &Objects) -> anyhow::Result<()> {
    let deleted = applier.delete(objects, &DeleteParams::background()).await;
    println!("{deleted}");
    deleted.into_result()?;
    let gone = applier.delete(objects, &DeleteParams::background()).await;
    ensure!(gone.results().iter().all(|result| matches!(result.outcome, ObjectOutcome::NotFound)), "{gone}");
    Ok(())
}

/// What the server has, without what differs between two objects of the same content: identity, times, addresses, and what controllers
/// write.
async fn live(client: &Client, objects: &Objects) -> anyhow::Result<BTreeMap<String, Value>> {
    let mapper = RestMapper::new(client.clone());
    let mut live = BTreeMap::new();
    for object in objects.iter() {
        let types = object.types.as_ref().context("has a kind")?;
        let mapping = mapper.kind(&types.try_into()?).await?;
        let mut api =
            Api::<DynamicObject>::dynamic(client.clone(), &mapping.resource, &mapping.capabilities.scope);
        if let Some(namespace) = &object.metadata.namespace {
            api = api.constrain(namespace);
        }
        let name = object.metadata.name.as_deref().context("has a name")?;
        let mut found = api.get(name).await?;
        let mut managed = found.metadata.managed_fields.take().unwrap_or_default();
        managed.retain(|entry| entry.manager.as_deref() == Some("script"));
        managed.iter_mut().for_each(|entry| entry.time = None);
        found.metadata.uid = None;
        found.metadata.resource_version = None;
        found.metadata.creation_timestamp = None;
        found.metadata.generation = None;
        found.metadata.annotations = None;
        let mut value = serde_json::to_value(found)?;
        let fields = value.as_object_mut().context("an object")?;
        fields.remove("status");
        if types.kind == "Service"
            && let Some(spec) = fields["spec"].as_object_mut()
        {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        fields.insert("managed".to_owned(), serde_json::to_value(managed)?);
        live.insert(format!("{} {name}", types.kind), value);
    }
    Ok(live)
}
