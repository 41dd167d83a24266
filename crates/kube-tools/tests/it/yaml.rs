//! YAML of any kinds, applied, created, compared and deleted on the embedded server.

#![allow(clippy::unwrap_used, reason = "functions of tests, too")]

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube_client::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube_client::discovery::RestMapper;
use kube_client::{Api, ResourceExt};
use kube_testserver::{Fault, FaultResponse, Match};
use kube_tools::ApiExt as _;
use kube_tools::wait::WaitFor;
use kube_tools::yaml::{Applier, ObjectError, ObjectOutcome, Objects, Progress, Report};
use serde_json::json;

use crate::server::in_process;

/// In an order in which a server would refuse half of them.
const SHOP: &str = "
apiVersion: example.com/v1
kind: Gadget
metadata: {name: red, namespace: shop}
spec: {size: 3}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: info}}
- {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, namespace: ignored}}
";

pub(crate) fn params() -> PatchParams {
    PatchParams::apply("script")
}

fn shop() -> Objects {
    Objects::parse(SHOP).expect("the set can be read")
}

pub(crate) fn lines(report: &Report) -> Vec<String> {
    report.to_string().lines().map(str::to_owned).collect()
}

fn outcome(report: &Report, id: &str) -> String {
    let result = report.results().iter().find(|result| result.id.to_string() == id);
    result.unwrap_or_else(|| panic!("no {id} in {report}")).outcome.to_string()
}

const INSTALLED: [&str; 6] = [
    "namespace/shop",
    "customresourcedefinition.apiextensions.k8s.io/gadgets.example.com",
    "configmap/settings",
    "service/web",
    "deployment.apps/web",
    "gadget.example.com/red",
];

#[tokio::test]
async fn a_set_is_applied_in_order_and_deleted_in_reverse() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).namespace("shop");
    let report = applier.apply(&shop(), &params()).await;
    assert_eq!(lines(&report), INSTALLED.map(|id| format!("{id} created")));
    let results = report.into_result().unwrap();
    assert_eq!(results[0].id.namespace, None, "a cluster-scoped object has no namespace");
    assert_eq!(results[2].id.namespace.as_deref(), Some("shop"), "the default namespace");
    assert_eq!(results[2].source.as_ref().unwrap().to_string(), "document 2, line 7, items[0]");
    assert_eq!(results[5].after.as_ref().unwrap().data["spec"]["size"], 3);
    assert!(results.iter().all(|result| result.before.is_none() && !result.dry_run));

    let report = applier.apply(&shop(), &params()).await;
    assert_eq!(lines(&report), INSTALLED.map(|id| format!("{id} unchanged")));

    let changed = Objects::parse(&SHOP.replace("size: 3", "size: 4").replace("info", "debug")).unwrap();
    let report = applier.apply(&changed, &params()).await;
    assert_eq!(outcome(&report, "gadget.example.com/red"), "configured");
    assert_eq!(outcome(&report, "configmap/settings"), "configured");
    assert_eq!(outcome(&report, "service/web"), "unchanged");

    let report = applier.delete(&shop(), &DeleteParams::background()).await;
    let mut reverse = INSTALLED.map(|id| format!("{id} deleted"));
    reverse.reverse();
    assert_eq!(lines(&report), reverse);
    let maps: Api<ConfigMap> = Api::namespaced(client, "shop");
    assert!(maps.get_opt("settings").await.unwrap().is_none());
    let report = applier.delete(&shop(), &DeleteParams::background()).await;
    assert!(
        report.results().iter().all(|result| matches!(result.outcome, ObjectOutcome::NotFound)),
        "{report}"
    );
}

#[tokio::test]
async fn an_error_of_one_object_does_not_stop_the_others() {
    let (client, _server) = in_process();
    let objects = Objects::parse(
        "
{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_Name}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: typo}, dota: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: nowhere, namespace: missing}}
---
{apiVersion: x.io/v1, kind: Unknown, metadata: {name: a}}
---
{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: default}}
",
    )
    .unwrap();
    let report = Applier::new(client).apply(&objects, &params()).await;
    assert_eq!(report.results().len(), 8);
    assert_eq!(report.failed().count(), 7);
    assert_eq!(outcome(&report, "configmap/good"), "created");
    let failed = |name: &str| {
        let mut failed = report.failed().filter(|result| result.id.name == name).map(ToString::to_string);
        failed.next().unwrap_or_else(|| panic!("{name} did not fail: {report}"))
    };
    assert!(failed("Bad_Name").starts_with("configmap/Bad_Name in namespace default (document 2, line 4): "));
    assert!(failed("typo").contains("dota"), "unknown fields are errors: {}", failed("typo"));
    assert!(failed("nowhere").contains("\"missing\" not found"), "{}", failed("nowhere"));
    assert_eq!(
        failed("good"),
        "configmap/good in namespace default (document 8, line 16): the same object occurs twice: expected it once, here or in document 1, line 2"
    );
    let unknown: Vec<_> =
        report.failed().filter(|result| result.id.name == "a").map(ToString::to_string).collect();
    assert!(unknown[0].ends_with(r#"the cluster serves no kind "Unknown" in version "x.io/v1"; for a custom resource, install its CRD first"#));
    assert!(unknown[1].ends_with(
        r#"no kind "Deployment" in version "extensions/v1beta1"; it serves a kind of this name in apps/v1"#
    ));
    assert!(failed("a-").ends_with("an object with a generateName can only be created"));
    let err = report.into_result().unwrap_err().to_string();
    assert!(err.starts_with("7 of 8 objects failed: configmap/Bad_Name in namespace default"), "{err}");
}

#[tokio::test]
async fn a_conflict_names_managers_and_fields_and_force_takes_them() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone());
    let objects = |level: &str| {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "level": level } });
        Objects::parse(&map.to_string()).unwrap()
    };
    applier.apply(&objects("info"), &PatchParams::apply("other")).await.into_result().unwrap();
    let report = applier.apply(&objects("debug"), &params()).await;
    let ObjectOutcome::Conflict(conflicts) = &report.results()[0].outcome else { panic!("{report}") };
    assert_eq!(conflicts[0].field, ".data.level");
    assert!(conflicts[0].manager.contains("\"other\""), "{conflicts:?}");
    let line = report.results()[0].to_string();
    assert!(line.contains("conflict: other managers own .data.level of \"other\""), "{line}");
    assert!(report.into_result().is_err());
    let forced = applier.apply(&objects("debug"), &params().force()).await;
    assert_eq!(outcome(&forced, "configmap/a"), "configured");
    // Without a field manager nothing is sent.
    let err = applier.apply(&objects("x"), &PatchParams::default()).await.into_result().unwrap_err();
    assert!(err.to_string().contains("field manager"), "{err}");
}

/// As `kubectl apply --server-side` of 1.37 after `kubectl apply`.
#[tokio::test]
async fn what_was_applied_on_the_client_side_is_taken_over() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let map = |data: serde_json::Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": data });
    for manager in ["kubectl-client-side-apply", "flux"] {
        let mut object = map(json!({ "a": "1", "b": "2" }));
        object["metadata"]["annotations"] =
            json!({ "kubectl.kubernetes.io/last-applied-configuration": "{}" });
        let params_of_kubectl = PostParams { field_manager: Some(manager.into()), ..PostParams::default() };
        maps.create(&params_of_kubectl, &serde_json::from_value(object).unwrap()).await.unwrap();
        let other = json!({ "data": { "c": "3" } });
        let params_of_other = PatchParams { field_manager: Some("other".into()), ..PatchParams::default() };
        maps.patch("m", &params_of_other, &Patch::Merge(other)).await.unwrap();

        let objects = Objects::parse(&map(json!({ "a": "1" })).to_string()).unwrap();
        let report = Applier::new(client.clone()).apply(&objects, &params()).await;
        assert_eq!(lines(&report), ["configmap/m configured"]);
        let after = maps.get("m").await.unwrap();
        assert_eq!(serde_json::to_value(&after.data).unwrap(), json!({ "a": "1", "c": "3" }));
        assert_eq!(after.metadata.annotations, None);
        let managers = after.metadata.managed_fields.unwrap().into_iter().map(|entry| entry.manager.unwrap());
        assert_eq!(managers.collect::<std::collections::BTreeSet<_>>().len(), 2);
        maps.delete("m", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn an_apply_to_an_object_that_is_being_deleted_is_told_as_kubectl_tells_it() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone());
    let objects = |value: &str| {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "fin", "finalizers": ["example.com/x"] }, "data": { "a": value } });
        Objects::parse(&map.to_string()).unwrap()
    };
    applier.apply(&objects("1"), &params()).await.into_result().unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.delete("fin", &DeleteParams::default()).await.unwrap();
    let report = applier.apply(&objects("2"), &params()).await;
    assert_eq!(
        lines(&report),
        [
            "configmap/fin configured (Warning: Detected changes to resource fin which is currently being deleted.)"
        ]
    );
    report.into_result().unwrap();
}

/// A controller gives a new namespace its ServiceAccount; until then, pods are refused with this text.
#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_service_account_of_its_new_namespace() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: c, image: i}]}}";
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
    let refused = |account: &str| {
        let message = format!(
            "pods \"p\" is forbidden: error looking up service account shop/{account}: serviceaccount \"{account}\" not found"
        );
        let refusal = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": message });
        FaultResponse::status(403, "Forbidden").body(refusal.to_string())
    };
    let (client, server) = in_process();
    let rule = server.fault(Match::patch::<Pod>().times(5), refused("default"));
    let both = Objects::parse(&format!("{namespace}\n---\n{pod}")).unwrap();
    Applier::new(client.clone()).apply(&both, &params()).await.into_result().unwrap();
    assert_eq!(rule.hits(), 5);
    // Also if an earlier run has made the namespace, and was cut off.
    let rule = server.fault(Match::patch::<Pod>().times(5), refused("default"));
    Applier::new(client.clone()).apply(&both, &params()).await.into_result().unwrap();
    assert_eq!(rule.hits(), 5);
    // Any other account is missing for good.
    let rule = server.fault(Match::patch::<Pod>(), refused("web"));
    let report = Applier::new(client.clone()).apply(&both, &params()).await;
    assert_eq!((report.failed().count(), rule.hits()), (1, 1));
}

/// Custom resources with finalizers that nobody serves: all are asked to go, and awaited side by side.
#[tokio::test(start_paused = true)]
async fn deletions_are_all_requested_before_any_is_awaited() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).wait_timeout(Duration::from_secs(30));
    let text = |n: usize| {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: n{n}, finalizers: [example.com/keep]}}}}\n"
        )
    };
    let objects = |count: usize| Objects::parse(&(0..count).map(text).collect::<String>()).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let free = async |name: &str| {
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        maps.patch(name, &PatchParams::default(), &free).await.unwrap();
    };
    // More than are watched at the same time.
    applier.apply(&objects(100), &params()).await.into_result().unwrap();
    let started = tokio::time::Instant::now();
    let report = applier.delete(&objects(100), &DeleteParams::background()).await;
    assert_eq!((report.failed().count(), started.elapsed().as_secs()), (100, 30));
    for n in 0..100 {
        free(&format!("n{n}")).await;
    }
    // The finalizers of eight are removed when the ninth is gone; deletion is in the reverse order of the file.
    applier.apply(&objects(9), &params()).await.into_result().unwrap();
    let owner = async {
        while maps.get("n0").await.unwrap().metadata.deletion_timestamp.is_none() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        for n in 0..9 {
            free(&format!("n{n}")).await;
        }
    };
    let (report, ()) =
        futures::join!(applier.delete(&objects(9), &DeleteParams::background()).report(), owner);
    report.into_result().unwrap();
}

/// A place is free as soon as its request is answered, whichever it is.
#[tokio::test]
async fn a_slow_object_holds_up_only_its_own_place() {
    let (client, server) = in_process();
    let hour = Duration::from_secs(3600);
    let slow = server.fault(Match::patch::<ConfigMap>().name("n0"), Fault::Delay(hour));
    let objects: String = (0..20)
        .map(|n| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: n{n}}}}}\n"))
        .collect();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let others = async {
        while slow.hits() == 0 || maps.get_opt("n19").await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        server.advance(hour);
    };
    let applier = Applier::new(client).concurrency(2);
    let run = applier.apply(&Objects::parse(&objects).unwrap(), &params()).report();
    let both = async { futures::join!(run, others) };
    let (report, ()) =
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("n0 holds up no other one");
    report.into_result().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_hangs_is_explained_by_its_conditions() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).wait_timeout(Duration::from_secs(5));
    let namespace = Objects::parse("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").unwrap();
    applier.apply(&namespace, &params()).await.into_result().unwrap();
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, finalizers: [example.com/x]}}";
    applier.apply(&Objects::parse(map).unwrap(), &params()).await.into_result().unwrap();
    let report = applier.delete(&namespace, &DeleteParams::default()).await;
    let err = report.into_result().unwrap_err().to_string();
    let reason = "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances";
    assert!(err.contains("but not gone after 5 s: SomeResourcesRemain: "), "{err}");
    assert!(err.ends_with(reason), "{err}");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let err = namespaces.wait_for("shop", &WaitFor::Delete, Duration::from_secs(5)).await.unwrap_err();
    assert!(err.to_string().ends_with(reason), "{err}");
    let err = namespaces.wait_ready("shop", Duration::from_secs(5)).await.unwrap_err();
    assert!(err.to_string().ends_with(reason), "{err}");
}

#[tokio::test]
async fn create_refuses_what_exists_and_completes_names() {
    let (client, _server) = in_process();
    let applier = Applier::new(client);
    let objects = Objects::parse(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {generateName: b-}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {generateName: b-}}",
    )
    .unwrap();
    let dry = applier.create(&objects, &PostParams { dry_run: true, ..PostParams::default() }).await;
    assert_eq!(lines(&dry)[0], "configmap/a created (server dry run)");
    let created = applier.create(&objects, &PostParams::default()).await.into_result().unwrap();
    let name = created[1].after.as_ref().unwrap().name_any();
    assert!(name.starts_with("b-") && name.len() > 2, "{name}");
    let again = applier.create(&objects, &PostParams::default()).await;
    assert_eq!(again.failed().count(), 1);
    assert!(outcome(&again, "configmap/a").contains("AlreadyExists"), "{again}");
}

#[tokio::test]
async fn a_dry_run_stores_nothing_and_tells_what_would_change() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).namespace("shop");
    let report = applier.apply(&shop(), &params().dry_run()).await;
    assert_eq!(outcome(&report, "namespace/shop"), "created");
    let gadget = outcome(&report, "gadget.example.com/red");
    assert_eq!(
        gadget,
        "a dry run does not install the CRD gadgets.example.com, so its objects cannot be tried"
    );
    assert_eq!(
        outcome(&report, "configmap/settings"),
        r#"namespaces "shop" not found: a dry run does not create it, so what is in it cannot be tried"#
    );

    applier.apply(&shop(), &params()).await.into_result().unwrap();
    let unchanged = applier.apply(&shop(), &params().dry_run()).await;
    assert_eq!(lines(&unchanged), INSTALLED.map(|id| format!("{id} unchanged (server dry run)")));
    let changed = Objects::parse(&SHOP.replace("size: 3", "size: 4")).unwrap();
    let report = applier.apply(&changed, &params().dry_run()).await;
    assert_eq!(outcome(&report, "gadget.example.com/red"), "configured");
    let again = applier.apply(&shop(), &params()).await;
    assert_eq!(outcome(&again, "gadget.example.com/red"), "unchanged", "the dry run stored nothing");
    let deleted = applier.delete(&shop(), &DeleteParams::default().dry_run()).await;
    assert_eq!(lines(&deleted)[0], "gadget.example.com/red deleted (server dry run)");
    assert_eq!(outcome(&applier.apply(&shop(), &params()).await, "gadget.example.com/red"), "unchanged");
}

#[cfg(feature = "diff")]
#[tokio::test]
async fn a_diff_shows_what_changes_and_no_secret() {
    let (client, _server) = in_process();
    let applier = Applier::new(client);
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: shop}}
data: {level: info, same: x}
---
apiVersion: v1
kind: Secret
metadata: {name: b}
stringData: {changed: one, kept: two, removed: three}
";
    let report = applier.apply(&Objects::parse(text).unwrap(), &params()).await;
    let diff = |report: &Report, id: &str| {
        report.results().iter().find(|result| result.id.to_string() == id).unwrap().diff().unwrap()
    };
    assert_eq!(
        diff(&report, "configmap/a"),
        "--- live/configmap/a\n+++ applied/configmap/a\n@@ -0,0 +1,9 @@\n+apiVersion: v1\n+data:\n+  level: info\n+  same: x\n+kind: ConfigMap\n+metadata:\n+  labels:\n+    app: shop\n+  name: a\n+  namespace: default\n"
            .replace("+1,9", "+1,10")
    );
    let text =
        text.replace("info", "debug").replace("one", "four").replace(", removed: three", ", added: five");
    let report = applier.apply(&Objects::parse(&text).unwrap(), &params().dry_run()).await;
    assert_eq!(
        diff(&report, "configmap/a"),
        "--- live/configmap/a\n+++ applied/configmap/a\n@@ -1,6 +1,6 @@\n apiVersion: v1\n data:\n-  level: info\n+  level: debug\n   same: x\n kind: ConfigMap\n metadata:\n"
    );
    let secret = diff(&report, "secret/b");
    assert!(
        secret.contains("-  changed: '*** (before)'") || secret.contains("-  changed: \"*** (before)\""),
        "{secret}"
    );
    assert!(!secret.contains("Zm91cg") && !secret.contains("b25l") && !secret.contains("dHdv"), "{secret}");
    let unchanged = applier.apply(&Objects::parse(&text).unwrap(), &params().dry_run()).await;
    let _ = diff(&unchanged, "secret/b");
    applier.apply(&Objects::parse(&text).unwrap(), &params()).await.into_result().unwrap();
    let unchanged = applier.apply(&Objects::parse(&text).unwrap(), &params().dry_run()).await;
    assert_eq!(diff(&unchanged, "configmap/a"), "");
    assert_eq!(diff(&unchanged, "secret/b"), "");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_is_awaited_until_it_is_gone() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).wait_timeout(Duration::from_secs(30));
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/keep]}}";
    let objects = Objects::parse(text).unwrap();
    applier.apply(&objects, &params()).await.into_result().unwrap();
    let report = applier.delete(&objects, &DeleteParams::background()).await;
    assert_eq!(
        report.results()[0].to_string(),
        "configmap/a in namespace default (document 1, line 1): deleted, but not gone after 30 s: it has the finalizers example.com/keep"
    );
    let no_wait = applier.clone().wait_for_deletion(false);
    assert_eq!(
        outcome(&no_wait.delete(&objects, &DeleteParams::background()).await, "configmap/a"),
        "deleted"
    );

    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let release = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let free = json!({ "metadata": { "finalizers": null } });
        maps.patch("a", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    };
    let started = tokio::time::Instant::now();
    let (report, ()) =
        futures::join!(applier.delete(&objects, &DeleteParams::background()).report(), release);
    assert_eq!(outcome(&report, "configmap/a"), "deleted");
    assert!(started.elapsed() < Duration::from_secs(12), "seen by the watch: {:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_wait_survives_broken_watches_and_a_new_object_of_that_name() {
    let (client, server) = in_process();
    let applier = Applier::new(client.clone()).wait_timeout(Duration::from_secs(60));
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/keep]}}";
    let objects = Objects::parse(text).unwrap();
    applier.apply(&objects, &params()).await.into_result().unwrap();
    server.fault(Match::watch::<ConfigMap>().nth(1), Fault::Cut);
    server.fault(Match::watch::<ConfigMap>().nth(1), Fault::Expired); // the second one: the first rule takes the first
    // The list after that fails for a while.
    let lists = Match::list::<ConfigMap>().nth(2).times(4);
    let failed = server.fault(lists, FaultResponse::status(500, "InternalError"));
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let replace = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        let free = json!({ "metadata": { "finalizers": null } });
        maps.patch("a", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
        Applier::new(client).create(&objects, &PostParams::default()).await.into_result().unwrap();
    };
    let (report, ()) =
        futures::join!(applier.delete(&objects, &DeleteParams::background()).report(), replace);
    assert_eq!(outcome(&report, "configmap/a"), "deleted");
    assert!(maps.get("a").await.is_ok(), "the new object is not touched");
    assert_eq!(failed.hits(), 4);
}

/// A starting server, or a load balancer, does not know the path for a moment.
#[tokio::test(start_paused = true)]
async fn a_path_that_is_not_served_for_a_moment_is_no_object_that_is_gone() {
    let (client, server) = in_process();
    let applier = Applier::new(client.clone()).wait_timeout(Duration::from_secs(60));
    let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/keep]}}";
    let objects = Objects::parse(text).unwrap();
    applier.apply(&objects, &params()).await.into_result().unwrap();
    let unknown = || FaultResponse::status(404, "NotFound").body("404 page not found");
    let first = server.fault(Match::delete::<ConfigMap>(), unknown());
    let report = applier.delete(&objects, &DeleteParams::background()).await;
    assert!(report.into_result().is_err(), "it is there");
    first.remove();

    server.fault(Match::watch::<ConfigMap>().nth(1), Fault::Cut);
    let later = server.fault(Match::watch::<ConfigMap>().nth(1), unknown());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let release = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        let free = json!({ "metadata": { "finalizers": null } });
        maps.patch("a", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    };
    let started = tokio::time::Instant::now();
    let (report, ()) =
        futures::join!(applier.delete(&objects, &DeleteParams::background()).report(), release);
    assert_eq!((outcome(&report, "configmap/a").as_str(), later.hits()), ("deleted", 1));
    assert_eq!(started.elapsed().as_secs(), 20);
}

/// One applier deletes twice, as a service that reconciles manifests; in between, the kind is installed.
#[tokio::test]
async fn a_kind_that_was_missing_a_moment_ago_is_looked_for_again_before_it_is_taken_for_gone() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).namespace("shop");
    let red = Objects::parse("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: red}}").unwrap();
    let delete = async || {
        let report = applier.delete(&red, &DeleteParams::background()).await;
        report.results()[0].outcome.to_string()
    };
    assert_eq!(delete().await, "not found");
    Applier::new(client).namespace("shop").apply(&shop(), &params()).await.into_result().unwrap();
    let dry_run = applier.apply(&shop(), &params().dry_run()).await;
    dry_run.into_result().expect("what a deletion did not find is not remembered");
    assert_eq!(delete().await, "deleted");
}

#[tokio::test(start_paused = true)]
async fn progress_is_a_stream_and_dropping_it_ends_the_run() {
    let (client, server) = in_process();
    let applier = Applier::new(client.clone()).namespace("shop").concurrency(0);
    let mut run = applier.apply(&shop(), &params());
    let mut seen = Vec::new();
    while let Some(progress) = run.next().await {
        if let Progress::Object { done, total, result } = &progress {
            assert_eq!((*total, result.is_ok()), (6, true));
            assert_eq!(*done, seen.len() + 1 - usize::from(seen.len() > 5));
        }
        seen.push(progress.to_string());
    }
    assert_eq!(seen[0], "1/6 namespace/shop created");
    assert_eq!(seen[5], "waiting for the CRD gadgets.example.com");
    assert_eq!(seen[6], "6/6 gadget.example.com/red created");

    server.fault(Match::any().name("b"), Fault::Stall);
    let objects: String = ["a", "b", "c"]
        .map(|name| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n"))
        .concat();
    let objects = Objects::parse(&objects).unwrap();
    let applier = Applier::new(client.clone()).concurrency(1);
    let mut run = applier.apply(&objects, &params());
    assert_eq!(run.next().await.unwrap().to_string(), "1/3 configmap/a created");
    assert!(tokio::time::timeout(Duration::from_secs(1), run.next()).await.is_err());
    drop(run);
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    assert!(maps.get("a").await.is_ok() && maps.get_opt("c").await.unwrap().is_none());
}

#[tokio::test]
async fn writes_are_concurrent_up_to_the_bound() {
    let (client, server) = in_process();
    server.fault(Match::any().name("slow"), Fault::Delay(Duration::from_millis(1)));
    let objects: String = (0..50)
        .map(|n| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: n{n}}}}}\n"))
        .collect();
    let report =
        Applier::new(client).concurrency(4).apply(&Objects::parse(&objects).unwrap(), &params()).await;
    // In the order of the file, although several are written at a time.
    let names: Vec<_> = report.results().iter().map(|result| result.id.name.clone()).collect();
    assert_eq!(names, (0..50).map(|n| format!("n{n}")).collect::<Vec<_>>());
    report.into_result().unwrap();
}

#[tokio::test]
async fn a_shared_mapper_finds_the_kind_of_a_new_crd() {
    let (client, _server) = in_process();
    let mapper = RestMapper::new(client.clone());
    assert!(mapper.resource("gadgets").await.is_err(), "and the miss is remembered");
    let applier = Applier::new(client.clone()).mapper(mapper.clone()).namespace("shop");
    applier.apply(&shop(), &params()).await.into_result().unwrap();
    let gadgets = mapper.resource("gadget").await.unwrap();
    let api = Api::<DynamicObject>::dynamic(client, &gadgets.resource, &gadgets.capabilities.scope);
    assert_eq!(api.constrain("shop").get("red").await.unwrap().data["spec"]["size"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_crd_that_is_never_usable_fails_its_objects_and_no_others() {
    let (client, _server) = in_process();
    let applier = Applier::new(client.clone()).namespace("shop").wait_timeout(Duration::from_secs(5));
    applier.apply(&shop(), &params()).await.into_result().unwrap();
    // Another CRD with the same kind and names.
    let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: others.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: others, singular: gadget, kind: Gizmo}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: a}}
---
{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: b}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: blue}}
";
    let report = applier.apply(&Objects::parse(text).unwrap(), &params()).await;
    assert_eq!(outcome(&report, "gadget.example.com/blue"), "created");
    for id in ["gizmo.example.com/a", "gizmo.example.com/b"] {
        let err = outcome(&report, id);
        assert!(
            err.starts_with("the CustomResourceDefinition others.example.com is stored, but not served: its names are not accepted"),
            "{err}"
        );
        assert!(err.contains("gadget"), "{err}");
    }
    assert!(matches!(
        report.failed().next().unwrap().outcome,
        ObjectOutcome::Failed(ObjectError::Crd { .. })
    ));
}

#[tokio::test]
async fn a_server_that_refuses_discovery_or_reads_is_an_error_of_each_object() {
    let (client, server) = in_process();
    let rule = server.fault(Match::path("/apis"), FaultResponse::status(403, "Forbidden"));
    let report = Applier::new(client.clone()).apply(&shop(), &params()).await;
    assert_eq!(report.failed().count(), 6, "{report}");
    assert!(matches!(report.failed().next().unwrap().outcome, ObjectOutcome::Failed(ObjectError::Kind(_))));
    rule.remove();
    let report = Applier::new(client).apply(&Objects::default(), &params()).await;
    assert!(report.results().is_empty() && report.into_result().is_ok());
}
