//! Odd requests about bodies, Secrets, services, Scales, statuses, names and options, and what 1.37 answered.

use serde_json::{Value, json};

use super::client::TestClient;

/// The requests of `generators/record_requests.py`, in their order: the code, the reason, and which fields are refused why.
#[tokio::test(start_paused = true)]
async fn odd_requests_are_answered_as_recorded() {
    let client = TestClient::new();
    let mut wrong = Vec::new();
    for line in include_str!("recorded/requests.jsonl").lines() {
        let want: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| want[name].as_str().unwrap();
        let body = sent(text("path"), &want["body"]);
        let reply = client.send(text("verb"), text("path"), &[("content-type", text("type"))], body).await;
        let found = outcome(reply.code.as_u16(), &reply.body);
        let wanted = json!([want["code"], want["reason"], want["causes"]]);
        if found != wanted {
            wrong.push(format!(
                "{} {} {}: {wanted} and not {found}",
                text("verb"),
                text("path"),
                want["body"]
            ));
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
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let mut causes: Vec<[String; 2]> =
        causes.map(|cause| [text(cause, "field"), text(cause, "reason")]).collect();
    causes.sort();
    json!([code, body["reason"].as_str().unwrap_or_default(), causes])
}
