//! The pods of a case, their paths, and methods that are refused.

use http::Method;
use serde_json::json;

use crate::{check::Outcome, context::Context, kinds::POD};

/// Pod `a` with one container, pod `two` with three; neither is scheduled.
pub(super) async fn pods(cx: &Context) -> Outcome {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    let spec = json!({"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
        "initContainers": [{"name": "i", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "two", json!({"spec": spec}))).await?;
    Ok(())
}

pub(super) fn below(cx: &Context, pod: &str, rest: &str) -> String {
    format!("{}/{rest}", cx.one_of(&POD, pod))
}

pub(super) async fn not_allowed(cx: &Context, path: &str, methods: &[Method]) -> Outcome {
    for method in methods {
        let r = cx.call(method.clone(), path).json(&json!({})).send().await?;
        r.fails(405, "MethodNotAllowed")?;
    }
    Ok(())
}
