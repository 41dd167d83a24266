//! Inputs that were once answered differently from the genuine server, and recorded answers of 1.37 about custom resources.

use serde_json::{Value, json};

use crate::client::*;

const TESTS: &str = "/apis/mini.example.com/v1/namespaces/default/tests";

macro_rules! finding {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("findings/", $name, ".json"))).unwrap()
    };
}

async fn with_definition(definition: Value) -> TestClient {
    let client = TestClient::new();
    client.post(CRDS, definition).await.ok();
    client
}

#[tokio::test(start_paused = true)]
async fn definitions_are_accepted_and_keep_what_they_say() {
    for definition in [
        finding!("01-cel-cost-escaped-name"),
        finding!("02-cel-cost-map-keys"),
        finding!("03-oldself-in-atomic-map"),
    ] {
        with_definition(definition).await;
    }
    let client = TestClient::new();
    let stored = client.post(CRDS, finding!("04-subresources-empty")).await.ok();
    assert_eq!(stored["spec"]["versions"][0]["subresources"], json!({}));
    let object = json!({"apiVersion": "mini.example.com/v1", "kind": "Test", "metadata": {"name": "t"}, "status": {"a": 1}});
    assert_eq!(
        client.post(TESTS, object).await.ok()["status"],
        json!({"a": 1}),
        "there is no status subresource"
    );

    let client = TestClient::new();
    let stored = client.post(CRDS, finding!("19-optmap-and-default-empty-list")).await.ok();
    let schema = &stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["properties"]["spec"]["properties"]["l"]["default"], json!([]));
    let object = |a: &str| json!({"apiVersion": "mini.example.com/v1", "kind": "Test", "metadata": {"name": "t"}, "spec": {"a": a}});
    client.post(TESTS, object("y")).await.refused(422, "Invalid");
    assert_eq!(client.post(TESTS, object("xy")).await.ok()["spec"]["l"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn members_of_atomic_maps_have_an_old_value() {
    let client = with_definition(finding!("03-oldself-in-atomic-map")).await;
    let object = json!({"apiVersion": "mini.example.com/v1", "kind": "Test", "metadata": {"name": "t"}, "spec": {"r": {"m": 1}}});
    client.post(TESTS, object).await.ok();
    let message = client
        .patch(MERGE, &format!("{TESTS}/t"), json!({"spec": {"r": {"m": 2}}}))
        .await
        .refused(422, "Invalid");
    assert!(message.ends_with("spec.r.m: Invalid value: 2: failed rule: self == oldSelf"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn applied_nulls_and_unknown_fields() {
    let client = with_definition(finding!("06-ssa-crd")).await;
    let object = json!({"apiVersion": "mini.example.com/v1", "kind": "Test", "metadata": {"name": "t"}, "spec": {"a": {"b": "x"}, "s": "a"}});
    client.post(TESTS, object).await.ok();
    let path = format!("{TESTS}/t?fieldManager=m");
    let kept = client.patch(APPLY, &path, finding!("06-ssa-null-over-existing-map-200")).await.ok();
    assert_eq!(kept["spec"]["a"], json!({"b": "x"}));
    client
        .patch(APPLY, &path, finding!("06-ssa-null-over-foreign-scalar-409"))
        .await
        .refused(409, "Conflict");
    let reply = client.patch(APPLY, &path, finding!("06-ssa-unknown-in-atomic-list-500")).await;
    assert_eq!(reply.code.as_u16(), 500);
    let message = reply.body["message"].as_str().unwrap();
    assert!(message.ends_with(".spec.l[0].y: field not declared in schema"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_and_metadata_of_refused_requests() {
    let client = with_definition(finding!("06-ssa-crd")).await;
    let strict = format!("{TESTS}?fieldValidation=Strict");
    let message = client
        .post(&strict, finding!("07-strict-unknown-below-wrong-type-400"))
        .await
        .refused(400, "BadRequest");
    assert!(message.ends_with(r#"strict decoding error: unknown field "spec.s.q""#), "{message}");
    let reply = client.post(TESTS, finding!("07-warning-with-422")).await;
    assert_eq!(reply.warnings(), [r#"299 - "unknown field \"spec.unknown\"""#]);
    reply.refused(422, "Invalid");
    client.post(TESTS, finding!("08-metadata-wrong-type-400")).await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn replica_counts_are_not_negative() {
    let client = with_definition(finding!("17-scale-negative-crd")).await;
    let message = client.post(TESTS, finding!("17-scale-negative")).await.refused(422, "Invalid");
    assert!(
        message.ends_with(".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        "{message}"
    );
}

/// The requests of `generators/record_custom.py`, in their order, and what 1.37 answered.
#[tokio::test(start_paused = true)]
async fn custom_resources_are_answered_as_recorded() {
    let client = TestClient::new();
    let mut wrong = Vec::new();
    for line in include_str!("recorded/custom_resources.jsonl").lines() {
        let want: Value = serde_json::from_str(line).unwrap();
        let (verb, path) = (want["verb"].as_str().unwrap(), want["path"].as_str().unwrap());
        let mut body = want["body"].clone();
        if verb == "PUT" {
            let stored = client.get(path.split('?').next().unwrap()).await.ok();
            body["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        }
        let reply = match verb {
            "POST" => client.post(path, body).await,
            "PUT" | "REPLACE" => client.put(path, body).await,
            "PATCH" => client.patch(MERGE, path, body).await,
            "APPLY" => client.patch(APPLY, path, body).await,
            _ => client.get(path).await,
        };
        wrong.extend(difference(&want, &reply).map(|why| format!("{verb} {path} {}: {why}", want["body"])));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(want: &Value, reply: &Reply) -> Option<String> {
    let code = reply.code.as_u16();
    if want["code"] != code {
        return Some(format!("{} and not {code}: {}", want["code"], reply.body));
    }
    let warnings = json!(reply.warnings());
    if sorted(&want["warnings"]) != sorted(&warnings) {
        return Some(format!("warnings {} and not {warnings}", want["warnings"]));
    }
    let found = stable(&reply.body);
    let several = want["causes"].as_array().is_some_and(|causes| causes.len() > 1);
    let lines = |message: &Value| {
        json!(message.as_str().map(|text| sorted(&json!(text.lines().collect::<Vec<_>>()))))
    };
    let operations = operations(&found["paths"]);
    let schemas = |name: &String| (name.clone(), found["components"]["schemas"][name].clone());
    let schemas: Option<Value> = want["schemas"].as_object().map(|all| all.keys().map(schemas).collect());
    let pairs = [
        // Genuine servers report several errors in any order.
        (!several).then(|| (lines(&want["message"]), lines(&found["message"]))),
        Some((want["causes"].clone(), found["details"]["causes"].clone())),
        Some((want["conditions"].clone(), found["status"]["conditions"].clone())),
        Some((want["versions"].clone(), found["spec"]["versions"].clone())),
        Some((want["object"].clone(), found.clone())),
        schemas.map(|schemas| (want["schemas"].clone(), schemas)),
        Some((want["operations"].clone(), operations)),
    ];
    pairs.into_iter().flatten().find_map(|(want, found)| {
        let same = want.is_null() || want == json!([]) && found.is_null() || sorted(&want) == sorted(&found);
        (!same).then(|| format!("{want}\n    and not {found}"))
    })
}

/// The schemas that the operations on `hards` return, but for deletions.
fn operations(paths: &Value) -> Value {
    let mut out = serde_json::Map::new();
    for (path, methods) in paths.as_object().into_iter().flatten().filter(|(path, _)| path.contains("/hards"))
    {
        for operation in methods.as_object().unwrap().values().filter(|operation| operation.is_object()) {
            let action = operation["x-kubernetes-action"].as_str().unwrap_or_default();
            if !action.is_empty() && !action.starts_with("delete") {
                let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
                out.insert(format!("{action} {path}"), schema.clone());
            }
        }
    }
    Value::Object(out)
}

/// Without what differs from run to run.
fn stable(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let volatile = |name: &str| {
                matches!(
                    name,
                    "uid" | "resourceVersion" | "creationTimestamp" | "time" | "lastTransitionTime"
                )
            };
            let kept = map.iter().filter(|(name, _)| !volatile(name));
            Value::Object(kept.map(|(name, value)| (name.clone(), stable(value))).collect())
        }
        Value::Array(list) => list.iter().map(stable).collect(),
        other => other.clone(),
    }
}

fn sorted(value: &Value) -> Vec<String> {
    let mut all: Vec<String> = match value.as_array() {
        Some(list) => list.iter().map(Value::to_string).collect(),
        None => vec![value.to_string()],
    };
    all.sort();
    all
}
