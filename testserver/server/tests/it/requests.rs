//! Odd requests about bodies, Secrets, services, Scales, statuses, names and options, and what 1.37 answered.

use std::sync::LazyLock;

use kube_testserver::ApiServer;
use regex::Regex;
use serde_json::{Value, json};

use super::client::TestClient;

/// The requests of `generators/record_requests.py`, in their order: the code, the object, or the reason and which fields are refused with
/// which messages, or the message.
#[tokio::test(start_paused = true)]
async fn odd_requests_are_answered_as_recorded() {
    let api = ApiServer::builder().service_range("10.96.0.0/16").service().unwrap();
    let client = TestClient { api };
    let mut wrong = Vec::new();
    for line in include_str!("recorded/requests.jsonl").lines() {
        let want: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| want[name].as_str().unwrap();
        let body = sent(text("path"), &want["body"]);
        let reply = client.send(text("verb"), text("path"), &[("content-type", text("type"))], body).await;
        let found = outcome(reply.code.as_u16(), &reply.body);
        let wanted = json!([want["code"], want["reason"], without_chosen(&want["causes"])]);
        let request = || format!("{} {} {}", text("verb"), text("path"), want["body"]);
        if found != wanted {
            wrong.push(format!("{}: {wanted} and not {found}", request()));
        } else if let Some(message) = compared(&want) {
            let (wanted, found) = (shown(message), shown(reply.body["message"].as_str().unwrap_or_default()));
            if wanted != found {
                wrong.push(format!("{}: message\n  {wanted}\n  {found}", request()));
            }
        } else if want["object"].is_object() {
            let (wanted, found) = (lasting(&want["object"]), lasting(&reply.body));
            if wanted != found {
                wrong.push(format!("{}: object\n  {wanted}\n  {found}", request()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The body of a row: a text as it is, an object, or one with so many bytes.
fn sent(path: &str, body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(size) => {
            let text = "x".repeat(usize::try_from(size.as_u64().unwrap()).unwrap());
            let list = if path.contains("configmaps") { "data" } else { "stringData" };
            json!({"metadata": {"name": "big"}, list: {"a": text}}).to_string()
        }
        object => object.to_string(),
    }
}

fn outcome(code: u16, body: &Value) -> Value {
    if code < 400 {
        return json!([code, null, null]);
    }
    let causes = body["details"]["causes"].as_array().into_iter().flatten();
    let text = |cause: &Value, name: &str| shown(cause[name].as_str().unwrap_or_default());
    let mut causes: Vec<[String; 3]> =
        causes.map(|cause| ["field", "reason", "message"].map(|name| text(cause, name))).collect();
    causes.sort();
    json!([code, body["reason"].as_str().unwrap_or_default(), causes])
}

/// The message of a refusal without causes, whose words depend neither on a parser nor on the storage.
fn compared(want: &Value) -> Option<&str> {
    const OWN: [&str; 3] = ["yaml: ", "StorageError", "no kind is registered for the type v1.Scale"];
    let message = want["message"].as_str().filter(|_| want["causes"][0].is_null());
    message.filter(|message| !OWN.iter().any(|own| message.contains(own)))
}

/// A message without uids, generated names and whole objects.
fn shown(message: &str) -> String {
    static CHOSEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f-]{27}|[bcdfghjklmnpqrstvwxz2456789]{5}\"").unwrap());
    // A whole object is in the order of its server, with its times.
    let why = match message.rsplit_once("}\": ") {
        Some((object, why)) if object.starts_with("Invalid value: \"{") => why,
        _ => message,
    };
    let why = why.split_once("'{").map_or(why, |(why, _)| why);
    CHOSEN.replace_all(why, "…").into_owned()
}

fn without_chosen(causes: &Value) -> Value {
    match causes {
        Value::Array(list) => list.iter().map(without_chosen).collect(),
        Value::String(text) => shown(text).into(),
        other => other.clone(),
    }
}

/// An object without what each server chooses.
fn lasting(value: &Value) -> Value {
    const CHOSEN: [&str; 13] = [
        "managedFields",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "token",
        "expirationTimestamp",
        "clusterIP",
        "clusterIPs",
        "nodePort",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "kubernetes.io/metadata.name",
    ];
    match value {
        Value::Array(list) => list.iter().map(lasting).collect(),
        Value::Object(members) => {
            let is_named = members.contains_key("generateName");
            let lasts = |name: &str| !CHOSEN.contains(&name) && (name != "name" || !is_named);
            let lasting = members.iter().filter(|(name, _)| lasts(name));
            lasting.map(|(name, value)| (name.clone(), self::lasting(value))).collect()
        }
        other => other.clone(),
    }
}
