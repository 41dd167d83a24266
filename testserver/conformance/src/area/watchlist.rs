//! Bookmarks and streaming lists (`sendInitialEvents`).

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    case::{Case, each, since},
    check::{Failure, Outcome, at, holds},
    client::Watch,
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("watchlist/bookmark-before-timeout", "with allowWatchBookmarks a bookmark comes before the stream ends", before_timeout),
        each("watchlist/bookmark-shape", "a bookmark has kind, apiVersion and a resourceVersion, and nothing else of an object", shape),
        each("watchlist/no-bookmark-unasked", "without allowWatchBookmarks there is none", unasked),
        each("watchlist/bookmark-version-resumes", "a watch resumes from a bookmark's version without a gap", resumes),
        since(SINCE, each("watchlist/initial-events-then-bookmark", "sendInitialEvents sends ADDED of what exists, then a marked bookmark (since 1.32)", initial)),
        since(SINCE, each("watchlist/bookmark-after-existing", "without sendInitialEvents too, the marked bookmark ends what exists: of a watch from 0 and from nothing, not from a version", from_any)),
        since(SINCE, each("watchlist/empty-collection", "sendInitialEvents of an empty collection sends the marked bookmark at once", empty)),
        since(SINCE, each("watchlist/no-surplus-bookmark", "after the marked bookmark, none comes that says nothing new (since 1.32)", no_surplus)),
        since(SINCE, each("watchlist/future-version-error", "sendInitialEvents from a resourceVersion of the far future: a stream with the error 504 (since 1.32)", future_error)),
        since(SINCE, each("watchlist/later-events-follow", "later changes follow the marked bookmark", later)),
        since(SINCE, each("watchlist/with-label-selector", "sendInitialEvents respects the labelSelector", selector)),
        since(SINCE, each("watchlist/includes-last-write", "the initial events have everything written before the request", last_write)),
        since(SINCE, each("watchlist/bookmark-version-covers", "the marked bookmark's version is not older than any initial event", covers)),
        since(SINCE, each("watchlist/match-required", "sendInitialEvents without resourceVersionMatch: 422", match_required)),
        since(SINCE, each("watchlist/match-must-be-not-older-than", "sendInitialEvents with another resourceVersionMatch: 422", match_exact)),
        since(SINCE, each("watchlist/refused-on-list", "sendInitialEvents on a list: 422", on_list)),
        each("watchlist/match-needs-initial-events", "resourceVersionMatch on a watch without sendInitialEvents: 422", match_alone),
        since(SINCE, each("watchlist/false-from-version", "sendInitialEvents=false starts with later changes only", none_wanted)),
    ]
    .concat()
}

const STREAM: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/// The minor version since which servers support `sendInitialEvents`.
const SINCE: u32 = 32;

async fn stream(cx: &Context, more: &str) -> Result<Watch, Failure> {
    cx.watch(format!("{}?{STREAM}{more}", cx.all())).await
}

fn is_end(bookmark: &Value) -> bool {
    bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
}

async fn end(watch: &mut Watch) -> Result<Value, Failure> {
    let bookmark = watch.bookmark().await?;
    holds(is_end(&bookmark), "the annotation k8s.io/initial-events-end", &bookmark)?;
    Ok(bookmark)
}

/// The bookmark of a watch that ends soon, after a write that the selector excludes.
async fn some_bookmark(cx: &Context) -> Result<Value, Failure> {
    let revision = cx.create("a").await?.revision()?;
    let path = format!(
        "{}?watch=1&resourceVersion={revision}&allowWatchBookmarks=true&timeoutSeconds=5&labelSelector=none",
        cx.all()
    );
    let mut watch = cx.watch(path).await?;
    cx.create("moves-the-version-on").await?;
    watch.bookmark().await
}

async fn before_timeout(cx: Context) -> Outcome {
    some_bookmark(&cx).await?;
    Ok(())
}

async fn shape(cx: Context) -> Outcome {
    let bookmark = some_bookmark(&cx).await?;
    at(&bookmark, "/kind", cx.kind().kind)?;
    at(&bookmark, "/apiVersion", cx.api_version(cx.kind()))?;
    holds(number(&bookmark) > 0, "a resourceVersion", &bookmark)?;
    holds(
        bookmark["metadata"]["name"].is_null() && bookmark["metadata"]["uid"].is_null(),
        "no name, no uid",
        &bookmark,
    )
}

async fn unasked(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    let mut watch =
        cx.watch(format!("{}?watch=1&resourceVersion={revision}&timeoutSeconds=4", cx.all())).await?;
    let event = watch.next().await?;
    holds(event.is_none(), "nothing until the end", format!("{event:?}"))
}

async fn resumes(cx: Context) -> Outcome {
    let bookmark = number(&some_bookmark(&cx).await?);
    cx.create("b").await?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={bookmark}", cx.all())).await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn initial(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let mut watch = stream(&cx, "").await?;
    watch.expect("ADDED", "a").await?;
    watch.expect("ADDED", "b").await?;
    end(&mut watch).await?;
    Ok(())
}

async fn from_any(cx: Context) -> Outcome {
    let before = cx.get(cx.all()).await?.revision()?;
    cx.create("a").await?;
    for (version, marked) in [("", true), ("0", true), (&*before, false)] {
        let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={version}");
        let mut watch = cx.watch(format!("{}?{query}", cx.all())).await?;
        watch.expect("ADDED", "a").await?;
        let next = watch.next().await?.unwrap_or_default();
        holds(is_end(&next["object"]) == marked, &format!("from {version:?}: marked is {marked}"), next)?;
    }
    Ok(())
}

async fn empty(cx: Context) -> Outcome {
    end(&mut stream(&cx, "").await?).await?;
    Ok(())
}

async fn later(cx: Context) -> Outcome {
    cx.create("a").await?;
    let mut watch = stream(&cx, "").await?;
    watch.expect("ADDED", "a").await?;
    end(&mut watch).await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn selector(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "b", json!({"metadata": {"labels": {"x": "1"}}})))
        .await?;
    let mut watch = stream(&cx, "&labelSelector=x").await?;
    let first = watch.next().await?.unwrap_or_default();
    at(&first, "/object/metadata/name", "b")?;
    end(&mut watch).await?;
    Ok(())
}

async fn last_write(cx: Context) -> Outcome {
    cx.create("a").await?;
    for n in 2..6 {
        cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": n}})).await?.is(200)?;
        let object = stream(&cx, "").await?.expect("ADDED", "a").await?;
        at(&object, "/spec/leaseTransitions", n)?;
    }
    Ok(())
}

async fn covers(cx: Context) -> Outcome {
    let made = number(&cx.create("a").await?.body);
    let mut watch = stream(&cx, "").await?;
    watch.expect("ADDED", "a").await?;
    let bookmark = end(&mut watch).await?;
    holds(number(&bookmark) >= made, &format!("at least {made}"), &bookmark)
}

async fn match_required(cx: Context) -> Outcome {
    let r = cx
        .get(format!("{}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1", cx.all()))
        .await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "resourceVersionMatch")?;
    Ok(())
}

async fn match_exact(cx: Context) -> Outcome {
    let query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=1&resourceVersionMatch=Exact&timeoutSeconds=1";
    let r = cx.get(format!("{}?{query}", cx.all())).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "resourceVersionMatch")?;
    Ok(())
}

async fn on_list(cx: Context) -> Outcome {
    let r = cx
        .get(format!(
            "{}?sendInitialEvents=true&resourceVersion=0&resourceVersionMatch=NotOlderThan",
            cx.all()
        ))
        .await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "sendInitialEvents")?;
    Ok(())
}

async fn match_alone(cx: Context) -> Outcome {
    let r = cx
        .get(format!(
            "{}?watch=1&resourceVersion=0&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
            cx.all()
        ))
        .await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "resourceVersionMatch")?;
    Ok(())
}

async fn none_wanted(cx: Context) -> Outcome {
    cx.create("a").await?;
    let query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = cx.watch(format!("{}?{query}", cx.all())).await?;
    watch.expect_idle(Duration::from_millis(300)).await?;
    cx.create("b").await?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

fn number(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|s| s.parse().ok()).unwrap_or(0)
}

async fn no_surplus(cx: Context) -> Outcome {
    cx.create("a").await?;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=4&fieldSelector=metadata.name%3Da";
    let mut watch = cx.watch(format!("{}?{query}", cx.all())).await?;
    watch.expect("ADDED", "a").await?;
    let marked = number(&end(&mut watch).await?);
    while let Some(event) = watch.next().await? {
        // Other cases write objects of the kind meanwhile.
        holds(
            event["type"] == "BOOKMARK" && number(&event["object"]) > marked,
            "a newer bookmark or none",
            &event,
        )?;
    }
    Ok(())
}

async fn future_error(cx: Context) -> Outcome {
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=9&resourceVersion=9000000000";
    let mut watch = cx.watch(format!("{}?{query}", cx.all())).await?;
    let event = watch.next().await?.unwrap_or_default();
    at(&event, "/type", "ERROR")?;
    at(&event, "/object/code", 504)?;
    at(&event, "/object/reason", "Timeout")?;
    let message = event["object"]["message"].as_str().unwrap_or_default();
    holds(
        message.starts_with("Timeout: Too large resource version: 9000000000, current: "),
        "its message",
        message,
    )?;
    holds(watch.next().await?.is_none(), "the end", "another event")
}
