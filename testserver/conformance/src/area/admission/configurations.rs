//! Webhook configurations: validation, defaults, removal.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::webhooks::{GROUP, Says, create, hook, rule, validating, webhook};
use crate::{
    check::{Outcome, at, holds},
    context::Context,
};

pub(super) async fn configuration(cx: Context, change: Value, field: &str, message: &str) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [webhook(&cx, &hook, "/v", change)]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("webhooks[0].{field}: "))?.mentions(message)?;
    Ok(())
}

pub(super) async fn defaults(cx: Context) -> Outcome {
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [{
            "name": "t.conformance.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"name": "n", "namespace": "m"}}, "rules": rule("", "configmaps", &["*"])}]});
    let reply = cx.create_at(format!("{GROUP}/mutatingwebhookconfigurations?dryRun=All"), &body).await?;
    for (pointer, want) in [
        ("/failurePolicy", json!("Fail")),
        ("/matchPolicy", json!("Equivalent")),
        ("/namespaceSelector", json!({})),
        ("/objectSelector", json!({})),
        ("/timeoutSeconds", json!(10)),
        ("/reinvocationPolicy", json!("Never")),
        ("/rules/0/scope", json!("*")),
        ("/clientConfig/service/port", json!(443)),
    ] {
        at(&reply.body["webhooks"][0], pointer, want)?;
    }
    reply.eq("/metadata/generation", 1)?;
    Ok(())
}

pub(super) async fn unique(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let one = webhook(&cx, &hook, "/v", json!({}));
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [one, one]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions("webhooks[1].name: Duplicate value")?;
    Ok(())
}

pub(super) async fn gone(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    validating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(400)?;
        Ok(())
    })
    .await?;
    let until = Instant::now() + cx.server.wait;
    while create(&cx, "a").await?.code != 201 {
        holds(Instant::now() < until, "created once no webhook denies it", "still denied")?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
