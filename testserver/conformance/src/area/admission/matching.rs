//! Which requests call a webhook.

use http::Method;
use serde_json::{Value, json};

use super::webhooks::{CASE, GROUP, Says, config_map, create, hook, mutating, only, patch, rule, validating};
use crate::area::conversion;
use crate::{
    case::{Case, core, since},
    check::{Outcome, at, equal, holds},
    context::{Context, MERGE},
    kinds::{CONFIG_MAP, DEPLOYMENT},
    webhook::{TestWebhook, WebhookResponse},
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("admission/other-operation-not-asked", "an operation without a matching rule: the webhook is not called", other_operation),
        core("admission/other-resource-not-asked", "a resource without a matching rule: the webhook is not called", other_resource),
        core("admission/namespace-selector", "a namespace that the selector excludes: the webhook is not called", namespace_selector),
        core("admission/object-selector", "an object that the selector excludes: the webhook is not called", object_selector),
        core("admission/object-selector-old", "an update whose old object is selected: the webhook is called", object_selector_old),
        core("admission/subresource-apart", "a rule for a resource does not match its subresources", subresource_apart),
        core("admission/scale-review", "webhooks receive the Scale of a scale request", scale_review),
        core("admission/configurations-not-asked", "webhook configurations: no webhook is called", not_called_for_configurations),
        since(28, core("admission/match-conditions", "a match condition that is false: the webhook is not called (since 1.28)", match_conditions)),
        core("admission/equivalent-versions-convert", "an object is converted to the version of the rule by the conversion webhook, and a patch of it back", equivalent_converts),
        core("admission/equivalent-versions", "a rule for one version matches requests in other versions, converted to that version", equivalent),
        core("admission/exact-version", "with matchPolicy Exact a rule matches its own version only", exact),
    ]
    .concat()
}

async fn other_operation(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "configmaps", &["UPDATE"])}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn other_resource(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "limitranges", &["*"])}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn namespace_selector(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let selector = json!({"namespaceSelector": {"matchExpressions": [{"key": CASE, "operator": "NotIn", "values": [cx.ns]},
        {"key": "conformance.example/run", "operator": "In", "values": [cx.server.run]}]},
        "objectSelector": {"matchLabels": {"of": cx.ns}}});
    validating(&cx, &hook, selector, async {
        let object = config_map(&cx, "a", json!({"metadata": {"labels": {"of": cx.ns}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn object_selector(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"objectSelector": {"matchLabels": {"of": "mine"}}}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())?;
        let object = config_map(&cx, "b", json!({"metadata": {"labels": {"of": "mine"}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        only(&hook, "/v").map(drop)
    })
    .await
}

async fn object_selector_old(cx: Context) -> Outcome {
    let object = config_map(&cx, "a", json!({"metadata": {"labels": {"of": "mine"}}}));
    cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"objectSelector": {"matchLabels": {"of": "mine"}}}), async {
        let without = json!({"metadata": {"labels": {"of": null}}});
        cx.merge(cx.one_of(&CONFIG_MAP, "a"), &without).await?.is(200)?;
        only(&hook, "/v").map(drop)
    })
    .await
}

fn deployment(cx: &Context) -> Value {
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    cx.object_of(&DEPLOYMENT, "a", json!({"spec": spec}))
}

async fn subresource_apart(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?;
    let hook = hook(Vec::new()).await?;
    let rules = json!([{"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]);
    validating(&cx, &hook, json!({"rules": rules}), async {
        let path = format!("{}/scale", cx.one_of(&DEPLOYMENT, "a"));
        cx.merge(path, &json!({"spec": {"replicas": 0}})).await?.is(200)?;
        let scales =
            hook.requests("/v").into_iter().filter(|request| request.get("subResource").is_some()).count();
        equal("requests about subresources", 0, scales)
    })
    .await
}

async fn scale_review(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?;
    let hook = hook(Vec::new()).await?;
    let rules = json!([{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"]}]);
    validating(&cx, &hook, json!({"rules": rules}), async {
        let path = format!("{}/scale", cx.one_of(&DEPLOYMENT, "a"));
        cx.call(Method::PATCH, path).typed(MERGE, &json!({"spec": {"replicas": 2}})).send().await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/kind", json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}))?;
        at(&request, "/resource/resource", "deployments")?;
        at(&request, "/subResource", "scale")?;
        at(&request, "/object/kind", "Scale")?;
        at(&request, "/object/spec/replicas", 2)
    })
    .await
}

async fn not_called_for_configurations(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    let everything =
        json!({"rules": rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", &["*"])});
    let itself = format!("{GROUP}/validatingwebhookconfigurations/conformance-{}", cx.ns);
    validating(&cx, &hook, everything, async {
        cx.merge(itself, &json!({"metadata": {"labels": {"a": "b"}}})).await?.is(200)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn match_conditions(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let conditions = json!([
        {"name": "mine", "expression": "object.metadata.name.startsWith('mine') && request.operation == 'CREATE'"},
        {"name": "data", "expression": "has(object.data) && oldObject == null"},
    ]);
    validating(&cx, &hook, json!({"matchConditions": conditions}), async {
        create(&cx, "other").await?.is(201)?;
        let spared = hook.requests("/v").is_empty();
        holds(spared, "no request", spared)?;
        hook.clear();
        create(&cx, "mine").await?.is(201)?;
        only(&hook, "/v").map(drop)
    })
    .await
}

/// A CRD with two versions, `v1` stored.
pub(super) async fn two_versions(cx: &Context) -> Outcome {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}});
    let mut crd = crate::kinds::plain_crd(&cx.own_group(), "Thing", "things", schema);
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    crd["spec"]["versions"] = json!([crd["spec"]["versions"][0], second]);
    cx.establish(&crd).await?;
    Ok(())
}

pub(super) fn thing(cx: &Context, version: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Thing", "metadata": {"name": name}, "spec": {"n": 1}})
}

fn version_rule(cx: &Context, policy: &str) -> Value {
    let rules = json!([{"operations": ["*"], "apiGroups": [cx.own_group()], "apiVersions": ["v1"], "resources": ["things"]}]);
    json!({"matchPolicy": policy, "rules": rules})
}

async fn equivalent(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, version_rule(&cx, "Equivalent"), async {
        cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a")).await?;
        let request = only(&hook, "/v")?;
        at(&request, "/resource/version", "v1")?;
        at(&request, "/requestResource/version", "v2")?;
        at(&request, "/object/apiVersion", format!("{}/v1", cx.own_group()))
    })
    .await
}

async fn equivalent_converts(cx: Context) -> Outcome {
    let hook = TestWebhook::start(|path, request| match path {
        "/convert" => conversion::well(request),
        "/m" => {
            WebhookResponse::Response(patch(json!([{"op": "replace", "path": "/spec/size", "value": "7"}])))
        }
        _ => WebhookResponse::Response(json!({"allowed": true})),
    })
    .await?;
    cx.establish(&conversion::convertible(&cx, &hook)).await?;
    mutating(&cx, &hook, version_rule(&cx, "Equivalent"), async {
        let mut object = thing(&cx, "v2", "a");
        object["spec"] = json!({"width": "5"});
        let made = cx.create_at(cx.own("v2", "things"), &object).await?;
        let request = only(&hook, "/m")?;
        at(&request, "/object/apiVersion", format!("{}/v1", cx.own_group()))?;
        at(&request, "/object/spec", json!({"size": "5"}))?;
        made.eq("/spec", json!({"width": "7"}))?.eq("/apiVersion", format!("{}/v2", cx.own_group()))?;
        Ok(())
    })
    .await
}

async fn exact(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, version_rule(&cx, "Exact"), async {
        cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a")).await?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}
