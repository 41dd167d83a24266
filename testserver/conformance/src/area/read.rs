//! Get and list: shape, order, pages, resource versions.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, each, since},
    check::{Outcome, equal, holds},
    context::Context,
    kinds::COG,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("read/get-returns-the-object", "GET returns 200 with kind, apiVersion and the whole object", get_object),
        each("read/get-resource-version-0", "GET with resourceVersion=0 returns any version", get_rv0),
        each("read/get-invalid-resource-version-400", "GET with a resourceVersion that is no number is refused", get_bad_rv),
        each("read/list-shape", "a list has kind ...List, apiVersion, metadata.resourceVersion and items", list_shape),
        each("read/list-empty-items-array", "an empty list has an empty items array, not null", list_empty),
        each("read/list-sorted-by-name", "a list is in order of namespace and name", list_order),
        each("read/list-only-own-namespace", "a list of a namespace has nothing of another", list_namespace),
        each("read/list-across-namespaces", "a list without namespace has all namespaces", list_everywhere),
        custom("read/list-item-kinds-custom", "items of custom resources carry kind and apiVersion", item_kinds_custom),
        core("read/list-item-kinds-builtin", "items of built-in kinds carry neither kind nor apiVersion", item_kinds_builtin),
        each("read/list-revision-not-older-than-write", "a list after a write has at least the write's resourceVersion", list_revision),
        each("read/limit-and-continue", "limit returns that many items, and continue the next ones until it is empty", pages),
        each("read/pages-are-one-snapshot", "later pages show the state of the first page", snapshot),
        each("read/remaining-item-count", "remainingItemCount is the number of items after the page", remaining),
        each("read/remaining-item-count-omitted-with-selector", "with a selector there is no remainingItemCount", remaining_selector),
        each("read/limit-with-selector", "limit applies to the items that the selector selects", limit_selector),
        each("read/limit-above-size", "a limit above the number of items: no continue", limit_above),
        each("read/limit-exact", "a limit of exactly the number of items: no continue", limit_exact),
        each("read/limit-not-a-number-400", "a limit that is no number is ignored or rejected, never a server error", limit_garbage),
        each("read/continue-garbage-400", "a continue token that the server did not make: 400", continue_garbage),
        each("read/continue-expired-410", "a continue token older than the history: 410 Expired, with a token for the rest; within the history, the list of that version", continue_expired),
        each("read/continue-with-resource-version-400", "continue together with a resourceVersion: 400", continue_with_rv),
        each("read/list-resource-version-0", "resourceVersion=0 lists any version, here with all that was written before", list_rv0),
        each("read/list-not-older-than", "NotOlderThan gives a version not older than requested", not_older),
        each("read/list-exact", "Exact gives the state at that very version", exact),
        each("read/match-without-version-422", "resourceVersionMatch without resourceVersion is refused", match_without),
        each("read/match-unknown-422", "an unknown resourceVersionMatch is refused", match_unknown),
        each("read/exact-with-0-422", "Exact together with resourceVersion=0 is refused", exact_zero),
        each("read/list-future-version-504", "a resourceVersion of the far future: 504 Timeout, cause ResourceVersionTooLarge", future),
        since(25, each("read/list-invalid-version-400", "a list with a resourceVersion that is no number: 400 (500 before 1.25)", list_bad_rv)),
        custom("read/cluster-scoped", "a cluster-scoped kind is got and listed without namespace", cluster_scoped),
        custom("read/cluster-scoped-under-namespace-404", "a cluster-scoped kind under a namespace: 404", cluster_under_namespace),
        since(25, custom("read/pretty@custom", "pretty=true indents the response", pretty)),
        core("read/pretty@builtin", "pretty=true indents the response", pretty),
    ]
    .concat()
}

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

async fn get_object(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(cx.one("a")).await?;
    r.is(200)?.eq("/kind", cx.kind().kind)?.eq("/apiVersion", cx.api_version(cx.kind()))?;
    r.eq("/metadata/name", "a")?.eq("/metadata/namespace", cx.ns.clone())?.eq("/spec/leaseTransitions", 1)?;
    Ok(())
}

async fn get_rv0(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.wait_for_code(&format!("{}?resourceVersion=0", cx.one("a")), 200).await?.eq("/metadata/name", "a")?;
    Ok(())
}

async fn get_bad_rv(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(format!("{}?resourceVersion=abc", cx.one("a"))).await?;
    holds((400..=422).contains(&r.code) || r.code == 500, "a refusal", &r.text)?;
    r.eq("/kind", "Status")?;
    Ok(())
}

async fn list_shape(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(cx.all()).await?;
    r.is(200)?
        .eq("/kind", format!("{}List", cx.kind().kind))?
        .eq("/apiVersion", cx.api_version(cx.kind()))?;
    r.lists(&["a"])?.absent("/metadata/continue").or_else(|_| r.eq("/metadata/continue", ""))?;
    holds(r.revision()?.parse::<u64>().is_ok(), "a number", r.revision()?)
}

async fn list_empty(cx: Context) -> Outcome {
    cx.get(cx.all()).await?.is(200)?.eq("/items", json!([]))?;
    Ok(())
}

async fn list_order(cx: Context) -> Outcome {
    cx.create_all(&["c", "a", "b10", "b", "b2", "a-b", "a.b"]).await?;
    cx.get(cx.all()).await?.lists(&["a", "a-b", "a.b", "b", "b10", "b2", "c"])?;
    Ok(())
}

async fn list_namespace(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(cx.all()).await?;
    for item in r.items()? {
        holds(item["metadata"]["namespace"] == cx.ns, &cx.ns, item)?;
    }
    r.lists(&["a"])?;
    Ok(())
}

async fn list_everywhere(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(cx.everywhere()).await?;
    let mine = r.items()?.iter().filter(|item| item["metadata"]["namespace"] == cx.ns).count();
    equal("items of the case's namespace", 1, mine)
}

async fn item_kinds_custom(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(cx.all())
        .await?
        .eq("/items/0/kind", "Widget")?
        .eq("/items/0/apiVersion", cx.api_version(cx.kind()))?;
    Ok(())
}

async fn item_kinds_builtin(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(cx.all()).await?.absent("/items/0/kind")?.absent("/items/0/apiVersion")?;
    Ok(())
}

async fn list_revision(cx: Context) -> Outcome {
    let written = number(&cx.create("a").await?.revision()?);
    let listed = number(&cx.get(cx.all()).await?.revision()?);
    holds(listed >= written, &format!("at least {written}"), listed)
}

async fn pages(cx: Context) -> Outcome {
    cx.create_all(&FIVE).await?;
    let one = cx.get(format!("{}?limit=2", cx.all())).await?;
    one.lists(&["a", "b"])?;
    let two = cx.get(format!("{}?limit=2&continue={}", cx.all(), one.str("/metadata/continue")?)).await?;
    two.lists(&["c", "d"])?;
    let three = cx.get(format!("{}?limit=2&continue={}", cx.all(), two.str("/metadata/continue")?)).await?;
    three.lists(&["e"])?.absent("/metadata/continue").or_else(|_| three.eq("/metadata/continue", ""))?;
    Ok(())
}

async fn snapshot(cx: Context) -> Outcome {
    cx.create_all(&["a", "b", "d"]).await?;
    let one = cx.get(format!("{}?limit=1", cx.all())).await?;
    cx.create("c").await?;
    cx.delete(cx.one("d")).await?.is(200)?;
    let rest = cx.get(format!("{}?continue={}", cx.all(), one.str("/metadata/continue")?)).await?;
    rest.lists(&["b", "d"])?.eq("/metadata/resourceVersion", one.revision()?)?;
    Ok(())
}

async fn remaining(cx: Context) -> Outcome {
    cx.create_all(&FIVE).await?;
    cx.get(format!("{}?limit=2", cx.all())).await?.is(200)?.eq("/metadata/remainingItemCount", 3)?;
    Ok(())
}

async fn remaining_selector(cx: Context) -> Outcome {
    cx.create_all(&FIVE).await?;
    let r = cx.get(format!("{}?limit=2&labelSelector=!x", cx.all())).await?;
    r.lists(&["a", "b"])?.has("/metadata/continue")?.absent("/metadata/remainingItemCount")?;
    Ok(())
}

async fn limit_selector(cx: Context) -> Outcome {
    for name in FIVE {
        let take = if name == "b" || name == "d" { "yes" } else { "no" };
        cx.create_at(
            cx.all(),
            &cx.object_of(cx.kind(), name, json!({"metadata": {"labels": {"take": take}}})),
        )
        .await?;
    }
    cx.get(format!("{}?limit=2&labelSelector=take%3Dyes", cx.all())).await?.lists(&["b", "d"])?;
    Ok(())
}

async fn limit_above(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let r = cx.get(format!("{}?limit=3", cx.all())).await?;
    r.lists(&["a", "b"])?.absent("/metadata/continue").or_else(|_| r.eq("/metadata/continue", ""))?;
    Ok(())
}

async fn limit_exact(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let r = cx.get(format!("{}?limit=2", cx.all())).await?;
    r.lists(&["a", "b"])?.absent("/metadata/continue").or_else(|_| r.eq("/metadata/continue", ""))?;
    Ok(())
}

async fn limit_garbage(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?limit=abc", cx.all())).await?;
    r.is(400)?;
    Ok(())
}

/// A continue token with another resourceVersion: 1, which is older than most histories.
async fn continue_expired(cx: Context) -> Outcome {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    cx.create_all(&["a", "b", "c"]).await?;
    let first = cx.get(format!("{}?limit=1", cx.all())).await?;
    let token = first.str("/metadata/continue")?.replace('+', "-").replace('/', "_");
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(token.trim_end_matches('='));
    let mut inside: Value =
        decoded.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    holds(inside["rv"].is_number(), "a token with its version", &inside)?;
    inside["rv"] = json!(1);
    let old = BASE64_URL_SAFE_NO_PAD.encode(inside.to_string());
    let r = cx.get(format!("{}?limit=1&continue={old}", cx.all())).await?;
    if r.code == 200 {
        // A server that was started minutes ago still has its history, and nothing existed then.
        return equal("items of then", 0, r.items()?.len());
    }
    r.fails(410, "Expired")?.mentions("The provided continue parameter is too old")?;
    let rest = r.str("/metadata/continue")?;
    let escaped = rest.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    cx.get(format!("{}?continue={escaped}", cx.all())).await?.lists(&["b", "c"])?;
    Ok(())
}

async fn continue_garbage(cx: Context) -> Outcome {
    cx.get(format!("{}?limit=2&continue=nonsense", cx.all()))
        .await?
        .fails(400, "BadRequest")?
        .mentions("continue key is not valid")?;
    Ok(())
}

async fn continue_with_rv(cx: Context) -> Outcome {
    cx.create_all(&FIVE).await?;
    let one = cx.get(format!("{}?limit=2", cx.all())).await?;
    let (token, revision) = (one.str("/metadata/continue")?, one.revision()?);
    let r = cx.get(format!("{}?limit=2&continue={token}&resourceVersion={revision}", cx.all())).await?;
    r.fails(400, "BadRequest")?.mentions("specifying resource version is not allowed when using continue")?;
    Ok(())
}

async fn list_rv0(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let path = format!("{}?resourceVersion=0", cx.all());
    cx.wait_for(&path, "two items", |r| r.names().is_ok_and(|n| n.len() == 2)).await?;
    Ok(())
}

async fn not_older(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    let r =
        cx.get(format!("{}?resourceVersion={revision}&resourceVersionMatch=NotOlderThan", cx.all())).await?;
    r.lists(&["a"])?;
    holds(number(&r.revision()?) >= number(&revision), &format!("at least {revision}"), r.revision()?)
}

async fn exact(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    cx.create("b").await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let r = cx
        .get(format!("{}?limit=10&resourceVersion={revision}&resourceVersionMatch=Exact", cx.all()))
        .await?;
    r.lists(&["a"])?.eq("/metadata/resourceVersion", revision)?;
    Ok(())
}

async fn match_without(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?resourceVersionMatch=Exact", cx.all())).await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "resourceVersionMatch")?;
    Ok(())
}

async fn match_unknown(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?resourceVersion=1&resourceVersionMatch=Nearly", cx.all())).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "resourceVersionMatch")?;
    Ok(())
}

async fn exact_zero(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?resourceVersion=0&resourceVersionMatch=Exact", cx.all())).await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "resourceVersionMatch")?;
    Ok(())
}

async fn future(cx: Context) -> Outcome {
    let r =
        cx.get(format!("{}?resourceVersion=9000000000&resourceVersionMatch=NotOlderThan", cx.all())).await?;
    r.fails(504, "Timeout")?.mentions("Timeout: Too large resource version: 9000000000, current: ")?;
    r.eq("/details/causes/0/reason", "ResourceVersionTooLarge")?.eq("/details/retryAfterSeconds", 1)?;
    let r = cx.get(format!("{}?resourceVersion=9000000000", cx.one("a"))).await?;
    r.fails(504, "Timeout")?.mentions("Timeout: Too large resource version: 9000000000, current: ")?;
    Ok(())
}

async fn list_bad_rv(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?resourceVersion=abc", cx.all())).await?;
    r.is(400)?.eq("/kind", "Status")?.mentions("Invalid value")?;
    Ok(())
}

async fn cluster_scoped(cx: Context) -> Outcome {
    let name = cx.ns.clone();
    cx.create_at(cx.all_of(&COG), &cx.cog(&name, json!({"free": {"form": 1}})))
        .await?
        .absent("/metadata/namespace")?;
    cx.get(cx.one_of(&COG, &name)).await?.is(200)?.eq("/free/form", 1)?;
    let listed = cx.get(cx.all_of(&COG)).await?;
    holds(listed.names()?.contains(&name), &name, &listed.text)
}

async fn cluster_under_namespace(cx: Context) -> Outcome {
    cx.get(format!("/apis/{}/v1/namespaces/{}/cogs", cx.group(), cx.ns)).await?.is(404)?;
    Ok(())
}

async fn pretty(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.get(format!("{}?pretty=true", cx.one("a"))).await?;
    holds(r.text.contains("\n  \"metadata\": {\n"), "indented by two", &r.text)
}

fn number(revision: &str) -> u64 {
    revision.parse().unwrap_or(0)
}
