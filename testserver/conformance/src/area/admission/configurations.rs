//! Webhook configurations: validation, defaults, removal.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::webhooks::{GROUP, Says, create, hook, rule, validating, webhook};
use crate::{
    case::{Case, core},
    check::{Outcome, at, holds},
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    let configurations = configurations().into_iter().flat_map(|(id, rule, change, field, message)| {
        core(&format!("admission/refuses-{id}-422"), rule, move |cx| configuration(cx, change.clone(), field, message))
    });
    let others = [
        core("admission/defaults", "a webhook's defaults", defaults),
        core("admission/names-unique-422", "two webhooks of one name in a configuration: 422", unique),
        core("admission/gone-with-configuration", "a webhook is not called after its configuration is deleted", gone),
    ];
    configurations.chain(others.into_iter().flatten()).collect()
}

// One row per line.
#[rustfmt::skip]
fn configurations() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("side-effects-missing", "sideEffects is required", json!({"sideEffects": null}), "sideEffects", "must specify one of None, NoneOnDryRun"),
        ("side-effects-some", "sideEffects other than None and NoneOnDryRun", json!({"sideEffects": "Some"}), "sideEffects", "Unsupported value: \"Some\""),
        ("review-versions", "no version of reviews", json!({"admissionReviewVersions": []}), "admissionReviewVersions", "must specify one of v1, v1beta1"),
        ("plain-http", "a URL without TLS", json!({"clientConfig": {"url": "http://x/y"}}), "clientConfig.url", "'https' is the only allowed URL scheme"),
        ("no-client", "neither URL nor service", json!({"clientConfig": {}}), "clientConfig", "exactly one of url or service is required"),
        ("short-name", "a name of less than three parts", json!({"name": "x"}), "name", "should be a domain with at least three segments separated by dots"),
        ("long-timeout", "a timeout above 30 s", json!({"timeoutSeconds": 40}), "timeoutSeconds", "the timeout value must be between 1 and 30 seconds"),
        ("failure-policy", "a failurePolicy that is none", json!({"failurePolicy": "Nope"}), "failurePolicy", "supported values: \"Fail\", \"Ignore\""),
        ("operation", "an operation that is none", json!({"rules": [{"operations": ["X"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}]}), "rules[0].operations[0]", "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""),
        ("empty-rule", "a rule without resources", json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": []}]}), "rules[0].resources", "Required value"),
    ]
}

async fn configuration(cx: Context, change: Value, field: &str, message: &str) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [webhook(&cx, &hook, "/v", change)]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("webhooks[0].{field}: "))?.mentions(message)?;
    Ok(())
}

async fn defaults(cx: Context) -> Outcome {
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

async fn unique(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let one = webhook(&cx, &hook, "/v", json!({}));
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [one, one]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions("webhooks[1].name: Duplicate value")?;
    Ok(())
}

async fn gone(cx: Context) -> Outcome {
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
