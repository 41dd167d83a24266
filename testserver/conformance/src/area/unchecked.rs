//! Objects of built-in kinds that genuine servers refuse and the embedded server accepts: its known limits, which the documentation lists.

use std::sync::LazyLock;

use serde_json::Value;

use crate::{
    case::{Case, core},
    check::{Outcome, equal},
    context::Context,
};

static ROWS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let lines = include_str!("../../recorded/unchecked.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("invariant: recorded files are JSON")).collect()
});

pub(crate) fn cases() -> Vec<Case> {
    let case = |(number, row): (usize, &'static Value)| {
        let (kind, field, reason) = (text(&row["object"]["kind"]), first(row, 0), first(row, 1));
        let id = format!("unchecked/{}-{number}", kind.to_lowercase());
        let rule = format!("{kind} with an invalid {field}: 422, {reason}");
        let mut cases = core(&id, &rule, move |cx| refused(cx, row));
        for case in &mut cases {
            case.unchecked = Some([kind, field, reason].map(str::to_owned));
        }
        cases
    };
    ROWS.iter().enumerate().flat_map(case).collect()
}

async fn refused(cx: Context, row: &Value) -> Outcome {
    let reply = cx.post(format!("{}?dryRun=All", text(&row["path"])), &row["object"]).await?;
    reply.fails(422, "Invalid")?;
    // Other versions were not asked for all causes.
    if cx.server.capabilities.version != (1, 20) {
        return reply.cause(first(row, 1), first(row, 0)).map(drop);
    }
    let cause = |cause: &Value| [text(&cause["field"]).to_owned(), text(&cause["reason"]).to_owned()];
    let all = reply.body["details"]["causes"].as_array();
    let mut found: Vec<_> = all.into_iter().flatten().map(cause).collect();
    found.sort();
    let recorded = row["core"]["causes"].as_array().into_iter().flatten();
    let wanted: Vec<_> =
        recorded.map(|cause| [text(&cause[0]).to_owned(), text(&cause[1]).to_owned()]).collect();
    equal(&format!("causes for {}", row["object"]), wanted, found)
}

/// Field or reason of the first cause.
fn first(row: &Value, part: usize) -> &str {
    text(&row["core"]["causes"][0][part])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
