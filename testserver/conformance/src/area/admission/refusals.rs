//! What a response that refuses does to the request.

use serde_json::{Value, json};

use super::webhooks::{Says, create, hook, rule, validating, webhook, with};
use crate::{
    check::{Outcome, equal, holds},
    context::Context,
    kinds::CONFIG_MAP,
};

/// Code, reason and message of the refusal.
pub(super) type Refusal = (u16, &'static str, &'static str);

pub(super) async fn refusal(
    cx: Context,
    change: Value,
    says: Says,
    (code, reason, message): Refusal,
) -> Outcome {
    let hook = hook(vec![("/v", says)]).await?;
    validating(&cx, &hook, change, async {
        let reply = create(&cx, "a").await?;
        reply.is(code)?.eq("/status", "Failure")?.mentions(message)?;
        match reason {
            "" => reply.absent("/reason")?,
            reason => reply.eq("/reason", reason)?,
        };
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(404)?;
        Ok(())
    })
    .await
}

pub(super) async fn ignored(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Raw(500, "oops"))]).await?;
    validating(&cx, &hook, json!({"failurePolicy": "Ignore"}), async {
        create(&cx, "a").await?.is(201)?;
        holds(!hook.requests("/v").is_empty(), "the webhook is called", "no request")
    })
    .await?;
    let untrusted = json!({"failurePolicy": "Ignore", "clientConfig": hook.untrusted("/v")});
    validating(&cx, &hook, untrusted, async {
        create(&cx, "b").await?.is(201)?;
        Ok(())
    })
    .await
}

pub(super) async fn denies_although_ignored(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    validating(&cx, &hook, json!({"failurePolicy": "Ignore"}), async {
        create(&cx, "a").await?.is(400)?;
        Ok(())
    })
    .await
}

pub(super) async fn delete_denied(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let no = json!({"allowed": false, "status": {"message": "keep it"}});
    let hook = hook(vec![("/v", Says::Response(no))]).await?;
    validating(&cx, &hook, json!({"rules": rule("", "configmaps", &["DELETE"])}), async {
        cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?.is(400)?.mentions("denied the request: keep it")?;
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await
}

pub(super) async fn warnings(cx: Context) -> Outcome {
    let yes = Says::Response(json!({"allowed": true, "warnings": ["one", "two \"quoted\""]}));
    let no = Says::Response(json!({"allowed": false, "warnings": ["three"]}));
    let hook = hook(vec![("/v", yes), ("/w", no)]).await?;
    validating(&cx, &hook, json!({}), async {
        let reply = create(&cx, "a").await?;
        equal("warnings", ["one", "two \"quoted\""], reply.is(201)?.warnings())
    })
    .await?;
    with(&cx, &hook, Vec::new(), vec![webhook(&cx, &hook, "/w", json!({}))], async {
        let reply = create(&cx, "b").await?;
        equal("warnings", ["three"], reply.is(400)?.warnings())
    })
    .await
}
