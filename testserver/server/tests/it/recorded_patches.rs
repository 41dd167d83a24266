//! Strategic merge patches, compared with recorded responses of a genuine server (`testserver/generators/record_patches.py`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::*;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[derive(Deserialize)]
struct Case {
    patch: Value,
    code: u16,
    object: Option<Value>,
    message: Option<String>,
}

#[tokio::test(start_paused = true)]
async fn as_the_genuine_server() {
    let client = TestClient::new();
    let mut lines = include_str!("../../src/patch/recorded/strategic.jsonl").lines();
    let mut base: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    base["base"]["metadata"] =
        only(&base["base"]["metadata"], &["name", "labels", "annotations", "finalizers"]);
    client.post(DEPLOYMENTS, base["base"].take()).await.ok();
    let mut seen = 0;
    for line in lines {
        let case: Case = serde_json::from_str(line).unwrap();
        let at = case.patch.to_string();
        let path = format!("{DEPLOYMENTS}/smp?dryRun=All");
        let reply = client.patch("application/strategic-merge-patch+json", &path, case.patch).await;
        assert_eq!(reply.code, case.code, "{at}: {} {:?}", reply.body["message"], case.message);
        let message = reply.body["message"].as_str().unwrap_or_default();
        let wanted = case.message.unwrap_or_default();
        match case.code {
            200 => assert_eq!(compared(reply.body), compared(case.object.unwrap()), "{at}"),
            // The genuine message lists all element types; Go prints wrong types differently.
            500 => {
                let start = message.split(": [").next().unwrap();
                assert!(wanted.starts_with(start) || wanted.contains("%!s"), "{at}: {message:?}, {wanted:?}");
            }
            422 if wanted.contains("patch: Invalid value") => {
                assert!(message.contains("patch: Invalid value"), "{at}: {message}")
            }
            422 => assert_eq!(problems(message), problems(&wanted), "{at}: {message}, {wanted}"),
            _ => assert_eq!(message, wanted, "{at}"),
        }
        seen += 1;
    }
    assert!(seen > 70);
}

/// The fields and reasons that an error names. Values are printed as other types.
fn problems(message: &str) -> BTreeSet<String> {
    let (_, list) = message.split_once(" is invalid: ").unwrap();
    let list = list.trim_start_matches('[').trim_end_matches(']');
    let reasons = ["Required value", "Invalid value", "Forbidden", "Unsupported value", "Duplicate value"];
    let words: Vec<&str> = list.split(": ").collect();
    let named = words.windows(2).filter_map(|pair| {
        let reason = reasons.into_iter().find(|reason| pair[1].starts_with(reason))?;
        Some(format!("{}: {reason}", pair[0].rsplit(", ").next().unwrap()))
    });
    named.collect()
}

/// What a patch changes.
fn compared(object: Value) -> Value {
    let metadata = only(&object["metadata"], &["labels", "annotations", "finalizers"]);
    json!({"metadata": metadata, "spec": object["spec"]})
}

fn only(object: &Value, members: &[&str]) -> Value {
    let members = members.iter().filter_map(|name| Some(((*name).to_owned(), object.get(name)?.clone())));
    Value::Object(members.collect())
}
