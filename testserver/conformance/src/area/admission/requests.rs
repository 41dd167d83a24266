//! What webhooks receive.

use serde_json::{Value, json};

use super::webhooks::{config_map, create, hook, only, validating, webhook, with};
use crate::{
    case::{Case, core},
    check::{Outcome, at, equal, holds},
    context::Context,
    kinds::CONFIG_MAP,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("admission/create-review", "the review of a create", create_review),
        core("admission/user-review", "a review names the user: the administrator is in system:masters and system:authenticated", user_review),
        core("admission/impersonated-review", "a review names the impersonated user", impersonated_review),
        core("admission/update-review", "the review of an update: object and oldObject", update_review),
        core("admission/patch-is-update", "a patch is an UPDATE with the patched object", patch_review),
        core("admission/apply-is-create-or-update", "an apply is a CREATE, or an UPDATE", apply_review),
        core("admission/delete-review", "a DELETE has an oldObject only", delete_review),
        core("admission/deletecollection-review", "the webhook is called for each object of a collection", collection_review),
        core("admission/dry-run-review", "the webhook is called for a dry run, with dryRun set", dry_review),
        core("admission/generated-name", "mutating webhooks receive no generated name, validating webhooks do", generated),
    ]
    .concat()
}

async fn create_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let made = create(&cx, "a").await?;
        made.is(201)?;
        let request = only(&hook, "/v")?;
        let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
        let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
        for (pointer, want) in [
            ("/kind", kind.clone()),
            ("/requestKind", kind),
            ("/resource", resource.clone()),
            ("/requestResource", resource),
            ("/name", json!("a")),
            ("/namespace", json!(cx.ns)),
            ("/operation", json!("CREATE")),
            ("/oldObject", Value::Null),
            ("/dryRun", json!(false)),
            ("/object/kind", json!("ConfigMap")),
            ("/object/apiVersion", json!("v1")),
            ("/object/data", json!({"x": "1"})),
            ("/object/metadata/uid", made.body["metadata"]["uid"].clone()),
            ("/options/kind", json!("CreateOptions")),
            ("/options/apiVersion", json!("meta.k8s.io/v1")),
        ] {
            at(&request, pointer, want)?;
        }
        holds(request["userInfo"]["username"].is_string(), "a user", &request["userInfo"])?;
        holds(request.get("subResource").is_none(), "no subResource", &request)?;
        holds(request["uid"].as_str().is_some_and(|uid| uid.len() == 36), "a uid", &request["uid"])
    })
    .await
}

async fn user_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(201)?;
        let user = only(&hook, "/v")?["userInfo"].clone();
        let groups = user["groups"].as_array().cloned().unwrap_or_default();
        for group in ["system:masters", "system:authenticated"] {
            holds(groups.contains(&json!(group)), group, &user)?;
        }
        Ok(())
    })
    .await
}

async fn impersonated_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let call = cx.call(http::Method::POST, cx.all_of(&CONFIG_MAP));
        let call = call.header("impersonate-user", "ann").header("impersonate-group", "system:masters");
        call.json(&config_map(&cx, "a", json!({}))).send().await?.is(201)?;
        let user = only(&hook, "/v")?["userInfo"].clone();
        at(&user, "/username", "ann")?;
        at(&user, "/groups", json!(["system:masters", "system:authenticated"]))
    })
    .await
}

async fn update_review(cx: Context) -> Outcome {
    let mut object = create(&cx, "a").await?.body;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        object["data"]["x"] = json!("2");
        cx.put(cx.one_of(&CONFIG_MAP, "a"), &object).await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/operation", "UPDATE")?;
        at(&request, "/object/data/x", "2")?;
        at(&request, "/oldObject/data/x", "1")?;
        at(&request, "/options/kind", "UpdateOptions")
    })
    .await
}

async fn patch_review(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        cx.merge(cx.one_of(&CONFIG_MAP, "a"), &json!({"data": {"y": "2"}})).await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/operation", "UPDATE")?;
        at(&request, "/object/data", json!({"x": "1", "y": "2"}))?;
        at(&request, "/oldObject/data", json!({"x": "1"}))
    })
    .await
}

async fn apply_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let path = cx.one_of(&CONFIG_MAP, "a");
        cx.apply(&path, "me", &config_map(&cx, "a", json!({}))).await?.is(201)?;
        let object = config_map(&cx, "a", json!({"data": {"x": "2"}}));
        cx.apply(&path, "me", &object).await?.is(200)?;
        let operations: Vec<Value> =
            hook.requests("/v").iter().map(|request| request["operation"].clone()).collect();
        equal("operations", [json!("CREATE"), json!("UPDATE")], operations)
    })
    .await
}

async fn delete_review(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(Vec::new()).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?;
        for path in ["/m", "/v"] {
            let request = only(&hook, path)?;
            at(&request, "/operation", "DELETE")?;
            at(&request, "/object", Value::Null)?;
            at(&request, "/oldObject/metadata/name", "a")?;
            at(&request, "/options/kind", "DeleteOptions")?;
        }
        Ok(())
    })
    .await
}

async fn collection_review(cx: Context) -> Outcome {
    for name in ["a", "b"] {
        let object = config_map(&cx, name, json!({"metadata": {"labels": {"mine": "yes"}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
    }
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        cx.delete(format!("{}?labelSelector=mine", cx.all_of(&CONFIG_MAP))).await?.is(200)?;
        let mut names: Vec<String> = hook
            .requests("/v")
            .iter()
            .map(|request| request["oldObject"]["metadata"]["name"].to_string())
            .collect();
        names.sort();
        equal("objects asked about", ["\"a\"", "\"b\""], names)
    })
    .await
}

async fn dry_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"sideEffects": "NoneOnDryRun"}), async {
        let object = config_map(&cx, "a", json!({}));
        cx.post(format!("{}?dryRun=All", cx.all_of(&CONFIG_MAP)), &object).await?.is(201)?;
        let request = only(&hook, "/v")?;
        at(&request, "/dryRun", true)?;
        at(&request, "/options/dryRun", json!(["All"]))
    })
    .await
}

async fn generated(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}});
        let made = cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        let name = made.body["metadata"]["name"].clone();
        let (first, second) = (only(&hook, "/m")?, only(&hook, "/v")?);
        holds(first.get("name").is_none(), "no name for the mutating one", &first)?;
        at(&second, "/name", name.clone())?;
        at(&second, "/object/metadata/name", name)
    })
    .await
}
