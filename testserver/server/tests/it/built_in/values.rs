//! Odd and wrong values in every field of the built-in kinds: status, causes and stored object are those of `v1.37`, except for the rows in
//! `recorded/gaps.txt`.
//!
//! `testserver/generators/record_values.py` writes the rows. With `GAPS_FOLDER` set, the test writes what differs to `gaps-N.jsonl` there:
//! [row, recorded code and result, ours].

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt::Write as _,
};

use serde_json::{Value, json};

use crate::client::*;

/// The groups of rows run in parallel.
const GROUPS: usize = 4;

macro_rules! groups {
    ($($name:ident: $group:literal),*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            compare($group).await;
        }
    )*};
}
groups!(values_are_judged_as_recorded_0: 0, values_are_judged_as_recorded_1: 1, values_are_judged_as_recorded_2: 2, values_are_judged_as_recorded_3: 3);

async fn compare(group: usize) {
    let base = lines(include_str!("recorded/base.jsonl"));
    let rows = lines(include_str!("recorded/values.jsonl"));
    assert!(rows.len() > 4000);
    let client = TestClient::new();
    let (mut judged, mut found, mut details) = (BTreeSet::new(), BTreeSet::new(), String::new());
    let mut plain: BTreeMap<u64, Value> = BTreeMap::new();
    for row in rows.iter().skip(group).step_by(GROUPS) {
        let number = row[0].as_u64().unwrap();
        let base = &base[usize::try_from(number).unwrap()];
        let path = format!("{}?dryRun=All", base["path"].as_str().unwrap());
        if let Entry::Vacant(entry) = plain.entry(number) {
            entry.insert(client.post(&path, base["object"].clone()).await.ok());
        }
        let reply = client.post(&path, placed(&base["object"], row[1].as_str().unwrap(), &row[2])).await;
        let code = i64::from(reply.code.as_u16());
        let result = match code {
            201 => difference(&plain[&number], &reply.body),
            422 => causes(&reply.body),
            _ => json!([]),
        };
        let id = id(base, row);
        if row[3] != code || sorted(&row[4]) != sorted(&result) {
            writeln!(details, "{}", json!([id, row[3], row[4], code, result])).unwrap();
            found.insert(id.clone());
        }
        judged.insert(id);
    }
    if let Ok(folder) = std::env::var("GAPS_FOLDER") {
        std::fs::write(format!("{folder}/gaps-{group}.jsonl"), details).unwrap();
    }
    let gaps = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/built_in/recorded/gaps.txt");
    let known: BTreeSet<String> = std::fs::read_to_string(gaps).unwrap().lines().map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&known).take(20).collect();
    let gone: Vec<_> = judged.difference(&found).filter(|id| known.contains(*id)).take(20).collect();
    assert!(new.is_empty(), "these differ from the genuine server: {new:#?}");
    assert!(gone.is_empty(), "these do not differ any more, take them out of gaps.txt: {gone:#?}");
}

fn name(base: &Value) -> String {
    let object = &base["object"];
    let version = object["apiVersion"].as_str().unwrap();
    format!("{version}/{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

fn id(base: &Value, row: &Value) -> String {
    let text = row[2].to_string();
    let shown =
        if text.len() > 60 { format!("{}…", text.chars().take(40).collect::<String>()) } else { text };
    format!("{} {} {shown}", name(base), row[1].as_str().unwrap())
}

/// The object with another value.
fn placed(object: &Value, pointer: &str, value: &Value) -> Value {
    let mut object = object.clone();
    let mut at = &mut object;
    for part in pointer.split('/').skip(1) {
        at = match part.parse::<usize>() {
            Ok(index) if at.is_array() => &mut at[index],
            _ => &mut at[part],
        };
    }
    *at = value.clone();
    object
}

/// What differs between two responses, as the generator writes it.
pub(super) fn difference(base: &Value, other: &Value) -> Value {
    let mut out = Vec::new();
    collect(base, other, "", &mut out);
    out.into()
}

fn collect(base: &Value, other: &Value, at: &str, out: &mut Vec<Value>) {
    if is_allocated(at) {
        return;
    }
    let (Value::Object(base), Value::Object(other)) = (base, other) else {
        if base != other {
            out.push(json!([at, other]));
        }
        return;
    };
    let keys: BTreeSet<&String> = base.keys().chain(other.keys()).collect();
    for key in keys {
        let inner = format!("{at}/{key}");
        match (base.get(key), other.get(key)) {
            (Some(base), Some(other)) => collect(base, other, &inner, out),
            (_, Some(other)) if !is_allocated(&inner) => out.push(json!([inner, other])),
            (_, None) if !is_allocated(&inner) => out.push(json!([inner])),
            _ => {}
        }
    }
}

/// Values that every response has its own of.
fn is_allocated(at: &str) -> bool {
    let metadata = ["uid", "creationTimestamp", "managedFields", "resourceVersion"];
    at.strip_prefix("/metadata/")
        .is_some_and(|rest| metadata.contains(&rest.split('/').next().unwrap_or_default()))
        || at.ends_with("controller-uid")
        || at.ends_with("odePort")
        || at.ends_with("TransitionTime")
        || at == "/status/conditions"
        || ["/spec/clusterIP", "/spec/clusterIPs", "/spec/clusterIPs/0"].contains(&at)
}

pub(super) fn causes(status: &Value) -> Value {
    let cause = |cause: &Value| json!([cause["field"].as_str().unwrap_or_default(), cause["reason"]]);
    status["details"]["causes"].as_array().into_iter().flatten().map(cause).collect()
}

/// Genuine servers report some fields twice, by rules of both kinds.
pub(super) fn sorted(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(Value::to_string).collect()
}

pub(super) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
