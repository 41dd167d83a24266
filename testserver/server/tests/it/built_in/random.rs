//! Objects of the built-in kinds with many random fields at once: status, causes and stored object are those of `v1.37`.
//!
//! `testserver/generators/record_random.py` writes such rows; the recorded ones are of its seeds 1 and 7, without those whose difference is
//! known. With `RANDOM_ROWS` set to a file of such rows, those are compared instead; with `GAPS_FOLDER` set, the test writes what differs
//! to `random.jsonl` there: [row, ours].

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::values::{causes, difference, lines, sorted};
use crate::client::*;

#[tokio::test(start_paused = true)]
async fn random_objects_are_judged_as_recorded() {
    let recorded = include_str!("recorded/random.jsonl").to_owned();
    let rows = std::env::var("RANDOM_ROWS").map_or(recorded, |file| std::fs::read_to_string(file).unwrap());
    let rows = lines(&rows);
    assert!(rows.len() > 100);
    let client = TestClient::new();
    let (mut details, mut differing) = (String::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let reply = client.post(&format!("{}?dryRun=All", row[0].as_str().unwrap()), row[1].clone()).await;
        let code = i64::from(reply.code.as_u16());
        let result = match code {
            201 => difference(&sent(&row[1], &reply.body), &reply.body),
            422 => causes(&reply.body),
            _ => json!([]),
        };
        if row[2] != code || sorted(&row[3]) != sorted(&result) {
            writeln!(details, "{}", json!([row, code, result])).unwrap();
            differing.push(number + 1);
        }
    }
    if let Ok(folder) = std::env::var("GAPS_FOLDER") {
        std::fs::write(format!("{folder}/random.jsonl"), details).unwrap();
    }
    assert!(differing.is_empty(), "these lines differ from the genuine server: {differing:?}");
}

/// The object as it was sent. A status that the server adds is compared field by field.
fn sent(object: &Value, stored: &Value) -> Value {
    let mut object = object.clone();
    if object["status"].is_null() && !stored["status"].is_null() {
        object["status"] = json!({});
    }
    object
}
