//! What patches of webhooks do to the object.

use serde_json::json;

use super::{
    matching::{thing, two_versions},
    webhooks::{Says, create, hook, mutating, only, patch, rule, webhook, with},
};
use crate::{
    case::{Case, core},
    check::{Outcome, at, equal},
    context::Context,
    kinds::CONFIG_MAP,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("admission/mutates", "a JSON patch changes what is written", mutates),
        core("admission/mutates-update", "a JSON patch changes an update", mutates_update),
        core("admission/mutates-before-validating", "validating webhooks receive the mutated object", mutates_first),
        core("admission/mutated-is-validated-422", "the mutated object is validated", mutated_invalid),
        core("admission/mutates-in-order", "mutating webhooks are called one after the other", in_order),
        core("admission/reinvocation", "reinvocationPolicy IfNeeded: called again if a later webhook changed the object", reinvoked),
        core("admission/no-reinvocation", "without reinvocationPolicy: called once", not_reinvoked),
        core("admission/mutates-custom", "custom resources are mutated and then validated by their schema", custom_resource),
    ]
    .concat()
}

fn adds(key: &str) -> Says {
    Says::Response(patch(json!([{"op": "add", "path": format!("/data/{key}"), "value": "1"}])))
}

async fn mutates(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("y"))]).await?;
    mutating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(201)?.eq("/data", json!({"x": "1", "y": "1"}))?;
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.eq("/data/y", "1")?;
        Ok(())
    })
    .await
}

async fn mutates_update(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(vec![("/m", adds("y"))]).await?;
    mutating(&cx, &hook, json!({"rules": rule("", "configmaps", &["UPDATE"])}), async {
        let patched = cx.merge(cx.one_of(&CONFIG_MAP, "a"), &json!({"data": {"z": "1"}})).await?;
        patched.is(200)?.eq("/data", json!({"x": "1", "y": "1", "z": "1"}))?;
        Ok(())
    })
    .await
}

async fn mutates_first(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("y"))]).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        create(&cx, "a").await?.is(201)?;
        at(&only(&hook, "/v")?, "/object/data", json!({"x": "1", "y": "1"}))
    })
    .await
}

async fn mutated_invalid(cx: Context) -> Outcome {
    let bad = patch(json!([{"op": "add", "path": "/metadata/labels", "value": {"a b": "c"}}]));
    let hook = hook(vec![("/m", Says::Response(bad))]).await?;
    mutating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.labels")?;
        Ok(())
    })
    .await?;
    for (response, message) in [
        (patch(json!([{"op": "replace", "path": "/nope/y", "value": "2"}])), "Internal error occurred"),
        (
            json!({"allowed": true, "patch": "W10="}),
            "webhook returned response.patch but not response.patchType",
        ),
        (json!({"allowed": true, "patchType": "JSONPatch", "patch": "enp6"}), "Internal error occurred"),
        (patch(json!([{"op": "add", "path": "/data/y", "value": 2}])), "Internal error occurred"),
    ] {
        let hook = self::hook(vec![("/m", Says::Response(response))]).await?;
        mutating(&cx, &hook, json!({}), async {
            create(&cx, "a").await?.fails(500, "InternalError")?.mentions(message)?;
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn in_order(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("first")), ("/n", adds("second"))]).await?;
    let hooks = vec![webhook(&cx, &hook, "/m", json!({})), webhook(&cx, &hook, "/n", json!({}))];
    with(&cx, &hook, hooks, Vec::new(), async {
        create(&cx, "a").await?.is(201)?.eq("/data", json!({"x": "1", "first": "1", "second": "1"}))?;
        at(&only(&hook, "/n")?, "/object/data", json!({"x": "1", "first": "1"}))
    })
    .await
}

async fn reinvocation(cx: &Context, policies: [&str; 2], want: &[&str]) -> Outcome {
    // `add` of an existing value changes nothing.
    let hook = hook(vec![("/m", adds("first")), ("/n", adds("second"))]).await?;
    let hooks = vec![
        webhook(cx, &hook, "/m", json!({"reinvocationPolicy": policies[0]})),
        webhook(cx, &hook, "/n", json!({"reinvocationPolicy": policies[1]})),
    ];
    // A name for each pair: a server may still call the closed webhook for a while, and refuse to delete the object.
    let name = policies.join("-").to_lowercase();
    with(cx, &hook, hooks, Vec::new(), async {
        create(cx, &name).await?.is(201)?;
        equal("asked", want, hook.paths())
    })
    .await
}

async fn reinvoked(cx: Context) -> Outcome {
    reinvocation(&cx, ["IfNeeded", "Never"], &["/m", "/n", "/m"]).await?;
    reinvocation(&cx, ["IfNeeded", "IfNeeded"], &["/m", "/n", "/m"]).await
}

async fn not_reinvoked(cx: Context) -> Outcome {
    reinvocation(&cx, ["Never", "Never"], &["/m", "/n"]).await?;
    // No later webhook was called.
    reinvocation(&cx, ["Never", "IfNeeded"], &["/m", "/n"]).await
}

async fn custom_resource(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let sets = |n: u32| Says::Response(patch(json!([{"op": "replace", "path": "/spec/n", "value": n}])));
    let rules = json!({"rules": [{"operations": ["CREATE"], "apiGroups": [cx.own_group()], "apiVersions": ["*"], "resources": ["things"]}]});
    let fine = hook(vec![("/m", sets(5))]).await?;
    mutating(&cx, &fine, rules.clone(), async {
        cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a")).await?.eq("/spec/n", 5)?;
        Ok(())
    })
    .await?;
    let wrong = hook(vec![("/m", sets(50))]).await?;
    mutating(&cx, &wrong, rules, async {
        let reply = cx.post(cx.own("v1", "things"), &thing(&cx, "v1", "b")).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.n")?;
        Ok(())
    })
    .await
}
