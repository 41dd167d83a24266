//! What a response that refuses does to the request.

use serde_json::{Value, json};

use super::webhooks::{Says, create, hook, rule, validating, webhook, with};
use crate::{
    case::{Case, core},
    check::{Outcome, equal, holds},
    context::Context,
    kinds::CONFIG_MAP,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    let refusals = refusals().into_iter().flat_map(|(id, rule, hook, answer, want)| {
        core(&format!("admission/{id}"), rule, move |cx| refusal(cx, hook.clone(), answer.clone(), want))
    });
    let others = [
        core("admission/delete-denied-400", "a denied deletion leaves the object", delete_denied),
        core("admission/warnings", "warnings of a webhook reach the client, allowed or not", warnings),
        core("admission/ignored-when-failing", "failurePolicy Ignore: a failing webhook is ignored", ignored),
        core("admission/denies-although-ignored-400", "failurePolicy Ignore: a denial is still a denial", denies_although_ignored),
    ];
    refusals.chain(others.into_iter().flatten()).collect()
}

// One row per line.
#[rustfmt::skip]
fn refusals() -> Vec<(&'static str, &'static str, Value, Says, Refusal)> {
    let none = || json!({});
    let failing = "failed calling webhook \"v.conformance.example\"";
    vec![
        ("denied-400", "a denial without more: 400", none(), Says::Response(json!({"allowed": false})), (400, "", "admission webhook \"v.conformance.example\" denied the request without explanation")),
        ("denied-with-message-400", "a denial's message", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way"}})), (400, "", "admission webhook \"v.conformance.example\" denied the request: no way")),
        ("denied-with-status", "a denial's code and reason", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way", "code": 418, "reason": "Teapot"}})), (418, "Teapot", "denied the request: no way")),
        ("denied-with-success-400", "a denial with the code of a success: 400", none(), Says::Response(json!({"allowed": false, "status": {"code": 200, "message": "m"}})), (400, "", "denied the request: m")),
        ("fails-on-500", "a webhook that responds with 500: 500 InternalError", none(), Says::Raw(500, "oops"), (500, "InternalError", failing)),
        ("fails-on-404", "a webhook that responds with 404: 500 InternalError", none(), Says::Raw(404, "nothing"), (500, "InternalError", "the server could not find the requested resource")),
        ("fails-on-other-uid", "a response with another uid: 500 InternalError", none(), Says::Response(json!({"uid": "zz", "allowed": true})), (500, "InternalError", "expected response.uid=")),
        ("fails-without-response", "a review without response: 500 InternalError", none(), Says::Raw(200, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}"), (500, "InternalError", "webhook response was absent")),
        ("fails-on-text", "a response that is no JSON: 500 InternalError", none(), Says::Raw(200, "hello"), (500, "InternalError", "json parse error")),
        ("fails-late", "a response after timeoutSeconds: 500 InternalError", json!({"timeoutSeconds": 1}), Says::Late(4), (500, "InternalError", "context deadline exceeded")),
        ("fails-on-validating-patch", "a validating webhook that patches: 500 InternalError", none(), Says::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": "W10="})), (500, "InternalError", "validating webhook may not return response.patch")),
        ("fails-on-missing-service", "a service that does not exist: 500 InternalError", json!({"clientConfig": {"service": {"namespace": "default", "name": "conformance-nobody", "path": "/x"}}}), Says::Response(json!({"allowed": true})), (500, "InternalError", "service \"conformance-nobody\" not found")),
        ("fails-on-closed-port", "a port without a listener: 500 InternalError", json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}}), Says::Response(json!({"allowed": true})), (500, "InternalError", failing)),
    ]
}

/// Code, reason and message of the refusal.
type Refusal = (u16, &'static str, &'static str);

async fn refusal(cx: Context, change: Value, says: Says, (code, reason, message): Refusal) -> Outcome {
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

async fn ignored(cx: Context) -> Outcome {
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

async fn denies_although_ignored(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    validating(&cx, &hook, json!({"failurePolicy": "Ignore"}), async {
        create(&cx, "a").await?.is(400)?;
        Ok(())
    })
    .await
}

async fn delete_denied(cx: Context) -> Outcome {
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

async fn warnings(cx: Context) -> Outcome {
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
