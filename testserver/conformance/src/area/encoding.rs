//! Negotiation by quality, and compression of large responses.

use serde_json::json;

use crate::{
    case::{Case, custom, each, since},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::WIDGET,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let accepted = ACCEPTED.iter().flat_map(|(id, rule, accept, media)| {
        each(&format!("encoding/accept-{id}"), rule, move |cx| negotiated(cx, accept, media))
    });
    let others = [
        each("encoding/accept-table-quality", "a Table of lower quality than the object is not chosen", table),
        custom("encoding/gzip-large", "a list of 128 KiB and more is compressed for a client that accepts gzip", gzip_large),
        custom("encoding/gzip-small", "smaller responses are not compressed", gzip_small),
        custom("encoding/gzip-asked-for", "only the coding gzip itself asks for compression: neither *, nor a quality, nor upper case", gzip_named),
        custom("encoding/gzip-watch", "a watch is not compressed", gzip_watch),
        since(37, custom("encoding/gzip-initial-events", "a watch with sendInitialEvents and bookmarks is compressed, as short as it may be", gzip_initial)),
        each("encoding/accept-drop", "unknown parameters of a media type are ignored: drop=metadata.managedFields drops nothing", dropped),
    ];
    accepted.chain(others.into_iter().flatten()).collect()
}

/// Id, rule, Accept and the media type of the response.
const ACCEPTED: [(&str, &str, &str, &str); 7] = [
    (
        "quality",
        "the media type of the highest quality is chosen",
        "application/json;q=0.1, application/yaml;q=0.9",
        "application/yaml",
    ),
    (
        "quality-default",
        "a media type without a quality has 1",
        "application/json;q=0.9, application/yaml",
        "application/yaml",
    ),
    (
        "quality-equal",
        "of equal quality, the first is chosen",
        "application/json;q=0.5, application/yaml;q=0.5",
        "application/json",
    ),
    (
        "quality-zero",
        "a single media type is chosen, even with quality 0",
        "application/json;q=0",
        "application/json",
    ),
    (
        "quality-garbage",
        "a quality that is no number is the lowest",
        "application/yaml;q=abc, application/json;q=0.1",
        "application/json",
    ),
    (
        "wildcard-last",
        "a wildcard gives way to a media type",
        "*/*;q=0.1, application/yaml",
        "application/yaml",
    ),
    (
        "unknown-first",
        "an unknown media type is skipped",
        "application/xml, application/yaml;q=0.5, application/json;q=0.2",
        "application/yaml",
    ),
];

async fn negotiated(cx: Context, accept: &str, media: &str) -> Outcome {
    let reply = cx.call(http::Method::GET, cx.all()).accept(accept).send().await?;
    reply.is(200)?;
    equal("content-type", media, reply.header("content-type"))
}

async fn table(cx: Context) -> Outcome {
    cx.create("a").await?;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1, application/json;q=0.9";
    let reply = cx.call(http::Method::GET, cx.one("a")).accept(accept).send().await?;
    reply.is(200)?.eq("/kind", cx.kind().kind)?;
    Ok(())
}

/// Objects with this many bytes together.
async fn filled(cx: &Context, bytes: usize) -> Outcome {
    for name in ["a", "b"] {
        let fields = json!({"spec": {"holderIdentity": "x".repeat(bytes / 2)}});
        cx.create_at(cx.all(), &cx.object_of(&WIDGET, name, fields)).await?;
    }
    Ok(())
}

async fn encoded(cx: &Context, accepted: &str) -> Result<ApiResponse, Failure> {
    let call = cx.call(http::Method::GET, cx.all()).accept("application/json");
    let reply = call.header("accept-encoding", accepted).send().await?;
    reply.is(200)?;
    Ok(reply)
}

async fn gzip_large(cx: Context) -> Outcome {
    filled(&cx, 140_000).await?;
    for accepted in ["gzip", "br, gzip"] {
        let reply = encoded(&cx, accepted).await?;
        equal("content-encoding", "gzip", reply.header("content-encoding"))?;
        equal("vary", "Accept-Encoding", reply.header("vary"))?;
        holds(reply.text.len() < 20_000, "a compressed body", reply.text.len())?;
    }
    Ok(())
}

async fn gzip_small(cx: Context) -> Outcome {
    filled(&cx, 100_000).await?;
    let reply = encoded(&cx, "gzip").await?;
    equal("content-encoding", "", reply.header("content-encoding"))?;
    reply.lists(&["a", "b"])?;
    Ok(())
}

async fn gzip_named(cx: Context) -> Outcome {
    filled(&cx, 140_000).await?;
    for accepted in ["*", "gzip;q=0.5", "GZIP", "identity", "deflate"] {
        let reply = encoded(&cx, accepted).await?;
        equal(accepted, "", reply.header("content-encoding"))?;
        reply.lists(&["a", "b"])?;
    }
    Ok(())
}

async fn gzip_watch(cx: Context) -> Outcome {
    filled(&cx, 140_000).await?;
    let call = cx.call(http::Method::GET, format!("{}?watch=1&timeoutSeconds=5", cx.all()));
    let mut watch = call.header("accept-encoding", "gzip").watch().await?;
    equal(
        "content-encoding",
        None::<&str>,
        watch.headers.get("content-encoding").and_then(|v| v.to_str().ok()),
    )?;
    // Servers do not sort the events of objects that exist already.
    let event = watch.next().await?.unwrap_or_default();
    equal("event", json!("ADDED"), event["type"].clone())
}

async fn gzip_initial(cx: Context) -> Outcome {
    cx.create("a").await?;
    let initial = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    for (query, wanted) in [(format!("{initial}&allowWatchBookmarks=true"), "gzip"), (initial.to_owned(), "")]
    {
        let call = cx.call(http::Method::GET, format!("{}?{query}", cx.all()));
        let reply = call.header("accept-encoding", "gzip").send().await?;
        reply.is(200)?;
        equal("content-encoding", wanted, reply.header("content-encoding"))?;
        holds(reply.text.starts_with("{\"type\"") == wanted.is_empty(), "a body as it says", &reply.text)?;
    }
    Ok(())
}

async fn dropped(cx: Context) -> Outcome {
    cx.create("a").await?;
    for form in ["", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"] {
        let accept = format!("application/json{form};drop=metadata.managedFields");
        let reply = cx.call(http::Method::GET, cx.one("a")).accept(&accept).send().await?;
        reply.is(200)?.has("/metadata/managedFields")?;
    }
    Ok(())
}
