//! Objects of built-in kinds that a genuine server refuses. Some of them the embedded server accepts: its known limits, which the
//! documentation lists.

use std::sync::LazyLock;

use serde_json::Value;

use crate::{
    case::{Case, core, since},
    check::{Outcome, equal},
    context::Context,
};

static UNCHECKED: LazyLock<Vec<Value>> =
    LazyLock::new(|| rows(include_str!("../../recorded/unchecked.jsonl")));
static CHECKED: LazyLock<Vec<Value>> = LazyLock::new(|| rows(include_str!("../../recorded/refused.jsonl")));

fn rows(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|line| serde_json::from_str(line).expect("invariant: recorded files are JSON")).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    let unchecked = UNCHECKED.iter().enumerate().flat_map(|(number, row)| {
        let mut cases = case("unchecked/", number, row);
        for case in &mut cases {
            case.unchecked =
                Some([text(&row["object"]["kind"]), first(row, 0), first(row, 1)].map(str::to_owned));
        }
        cases
    });
    let checked = CHECKED.iter().enumerate().flat_map(|(number, row)| case("defaults/refused-", number, row));
    checked.chain(unchecked).collect()
}

fn case(prefix: &str, number: usize, row: &'static Value) -> Vec<Case> {
    let (kind, field, reason) = (text(&row["object"]["kind"]), first(row, 0), first(row, 1));
    let id = format!("{prefix}{}-{number}", kind.to_lowercase());
    let rule = format!("{kind} with an invalid {field}: 422, {reason}");
    since(37, core(&id, &rule, move |cx| refused(cx, row)))
}

async fn refused(cx: Context, row: &Value) -> Outcome {
    let reply = cx.post(format!("{}?dryRun=All", text(&row["path"])), &row["object"]).await?;
    reply.fails(422, "Invalid")?;
    let cause = |cause: &Value| [text(&cause["field"]).to_owned(), text(&cause["reason"]).to_owned()];
    let all = reply.body["details"]["causes"].as_array();
    let mut found: Vec<_> = all.into_iter().flatten().map(cause).collect();
    found.sort();
    let recorded = row["answer"]["causes"].as_array().into_iter().flatten();
    let wanted: Vec<_> =
        recorded.map(|cause| [text(&cause[0]).to_owned(), text(&cause[1]).to_owned()]).collect();
    equal(&format!("causes for {}", row["object"]), wanted, found)
}

/// Field or reason of the first cause.
fn first(row: &Value, part: usize) -> &str {
    text(&row["answer"]["causes"][0][part])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
