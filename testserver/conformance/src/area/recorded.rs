//! Requests whose responses were recorded from a genuine server: definitions, rules and values of custom resources.
//! `generators/record_conformance.py` writes the files.

use std::{collections::BTreeMap, sync::LazyLock};

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::{Failure, Outcome},
    client::ApiResponse,
    context::Context,
    kinds::{self, SAMPLE},
    server::CRDS,
};

/// The minor version that was asked.
const RECORDED: u32 = 37;

/// The group of definitions, which are sent as dry runs only.
const GROUP: &str = "recorded.conformance.example";

static BASE: LazyLock<Value> = LazyLock::new(|| parsed(include_str!("../../recorded/base.json")));
static DEFINITIONS: LazyLock<Vec<Value>> =
    LazyLock::new(|| lines(include_str!("../../recorded/definitions.jsonl")));
static RULES: LazyLock<Vec<Value>> = LazyLock::new(|| lines(include_str!("../../recorded/rules.jsonl")));
static VALUES: LazyLock<Vec<Value>> = LazyLock::new(|| lines(include_str!("../../recorded/values.jsonl")));

pub(crate) fn cases() -> Vec<Case> {
    let definitions = topics("definitions", "definitions", &DEFINITIONS, |cx, row| {
        Box::pin(async move { cx.post(format!("{CRDS}?dryRun=All"), &definition(row)).await })
    });
    let rules = topics("rules", "rules of schemas", &RULES, |cx, row| {
        Box::pin(async move { cx.post(format!("{CRDS}?dryRun=All"), &ruled(row)).await })
    });
    let values = topics("values", "values", &VALUES, |cx, row| Box::pin(value(cx, row)));
    [definitions, rules, values].concat()
}

type Reply<'a> = futures::future::BoxFuture<'a, Result<ApiResponse, Failure>>;

/// One case for each topic of a file.
fn topics(
    area: &str,
    what: &str,
    rows: &'static [Value],
    send: for<'a> fn(&'a Context, &'static Value) -> Reply<'a>,
) -> Vec<Case> {
    let mut by_topic: BTreeMap<&str, Vec<&'static Value>> = BTreeMap::new();
    for row in rows {
        by_topic.entry(row["topic"].as_str().unwrap_or_default()).or_default().push(row);
    }
    let case = |(topic, rows): (&str, Vec<&'static Value>)| {
        let rule = format!("{what}, {topic}: {} requests are judged as recorded", rows.len());
        since(RECORDED, custom(&format!("{area}/{topic}"), &rule, move |cx| all(cx, rows.clone(), send)))
    };
    by_topic.into_iter().flat_map(case).collect()
}

/// Sends all requests; the failure has every response that differs.
async fn all(
    cx: Context,
    rows: Vec<&'static Value>,
    send: for<'a> fn(&'a Context, &'static Value) -> Reply<'a>,
) -> Outcome {
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    for row in rows {
        let recorded = &row["answer"];
        let reply = send(&cx, row).await?;
        let judged = json!({"code": reply.code, "causes": causes(&reply)});
        if judged != *recorded {
            wanted.push(format!("{} {recorded}", request(row)));
            found.push(format!("{} {judged}", request(row)));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    Err(Failure::new("recorded responses", wanted.join("\n"), found.join("\n")))
}

/// The part of a row that is sent.
fn request(row: &Value) -> String {
    let parts = ["edits", "rule", "field", "value"].into_iter().filter(|name| !row[name].is_null());
    parts.map(|name| row[name].to_string()).collect::<Vec<_>>().join(" ")
}

/// Field, reason and message of all causes, sorted.
fn causes(reply: &ApiResponse) -> Vec<[String; 3]> {
    if reply.code < 300 {
        return Vec::new();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cause =
        |cause: &Value| [text(&cause["field"]), text(&cause["reason"]), plain(&text(&cause["message"]))];
    let all = reply.body["details"]["causes"].as_array();
    let mut causes: Vec<_> = all.into_iter().flatten().map(cause).collect();
    causes.sort();
    causes
}

/// Without the random numbers in names of types.
fn plain(message: &str) -> String {
    const NAME: &str = "selfType";
    let mut parts = message.split(NAME);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + NAME + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn definition(row: &Value) -> Value {
    let mut crd = kinds::plain_crd(GROUP, "Thing", "things", BASE["definition"].clone());
    for edit in row["edits"].as_array().into_iter().flatten() {
        let path = edit[0].as_str().unwrap_or_default();
        let (parent, name) = path.rsplit_once('/').unwrap_or_default();
        let mut place = &mut crd;
        for part in parent.split('/').skip(1) {
            place = match part.parse::<usize>() {
                Ok(i) => &mut place[i],
                Err(_) => &mut place[part],
            };
        }
        match (edit.get(1), name.parse::<usize>()) {
            (Some(value), Ok(i)) => place[i] = value.clone(),
            (Some(value), Err(_)) => place[name] = value.clone(),
            (None, _) => drop(place.as_object_mut().and_then(|members| members.remove(name))),
        }
    }
    crd
}

fn ruled(row: &Value) -> Value {
    let mut schema = json!({"type": "object", "properties": {"spec": BASE["rules"]}});
    let place = if row["at"] == "root" { &mut schema } else { &mut schema["properties"]["spec"] };
    place["x-kubernetes-validations"] = json!([row["rule"]]);
    kinds::plain_crd(GROUP, "Thing", "things", schema)
}

/// Sends the text of the value: parsers change numbers.
async fn value(cx: &Context, row: &Value) -> Result<ApiResponse, Failure> {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let mut object = cx.object_of(&SAMPLE, "x", json!({"spec": {text("field"): "VALUE"}})).to_string();
    object = object.replace("\"VALUE\"", text("value"));
    cx.call(Method::POST, format!("{}?dryRun=All", cx.all_of(&SAMPLE)))
        .bytes("application/json", object)
        .send()
        .await
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(parsed).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("invariant: recorded files are JSON")
}
