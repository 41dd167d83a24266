//! A table of texts in YAML and JSON, odd ones above all, with what kubectl reads in each: the same is read here.
//!
//! `yaml_texts/ask_kubectl.py` has the texts, and writes the table with a genuine kubectl.

mod differences;

use differences::DIFFERENCES;
use kube_tools::yaml::Objects;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    /// The bodies that kubectl sends.
    sends: Vec<String>,
    /// Why it ends with an error, after them.
    error: Option<String>,
}

#[test]
fn each_text_is_read_or_refused_as_by_kubectl() {
    let table: Table = serde_json::from_str(include_str!("yaml_texts/table.json")).unwrap();
    assert!(table.rows.len() >= 700);
    let is_listed = |text: &str| DIFFERENCES.iter().any(|(_, texts)| texts.contains(&text));
    let mut wrong = Vec::new();
    for Row { text, sends, error } in &table.rows {
        // For us, nothing is no error.
        let error = error.as_ref().filter(|error| !error.contains("no objects passed to create"));
        let expected = error.is_none().then(|| sends.iter().map(|body| sent(body)).collect::<Vec<_>>());
        let read = Objects::parse(text).map(|objects| {
            objects.iter().map(|object| sent(&serde_json::to_string(object).unwrap())).collect::<Vec<_>>()
        });
        if (read.as_ref().ok() == expected.as_ref()) == is_listed(text) {
            let read = read.map_err(|err| err.to_string());
            wrong.push(format!("{text:?}\n  kubectl: {sends:?} {error:?}\n  here: {read:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.rows.len(), wrong.join("\n"));
    for text in DIFFERENCES.iter().flat_map(|(_, texts)| *texts) {
        assert!(table.rows.iter().any(|row| row.text == *text), "{text:?} is gone");
    }
}

/// What a server reads in a body.
fn sent(body: &str) -> Value {
    let mut object: Value = serde_json::from_str(body).expect("a body is JSON");
    if let Some(metadata) = object["metadata"].as_object_mut() {
        // Null is an empty text among labels and annotations, and elsewhere in metadata nothing.
        for field in ["labels", "annotations"] {
            let values = metadata.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
            values.filter(|(_, value)| value.is_null()).for_each(|(_, value)| *value = json!(""));
        }
        metadata
            .retain(|_, value| !matches!(value, Value::Null) && *value != json!({}) && *value != json!([]));
        if metadata.get("namespace").is_some_and(|namespace| namespace == "") {
            metadata.remove("namespace");
        }
    }
    in_go(object)
}

/// Numbers are of 64 bits with a sign, or else floats.
fn in_go(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_i64() => {
            let float = number.as_f64().expect("every number is a float too");
            let is_whole = float.fract() == 0.0 && float.abs() <= 9_223_372_036_854_775_808.0;
            if is_whole { json!(float as i64) } else { json!(float) }
        }
        Value::Array(items) => items.into_iter().map(in_go).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, in_go(value))).collect(),
        other => other,
    }
}
