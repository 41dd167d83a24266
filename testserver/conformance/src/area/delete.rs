//! Delete: responses, preconditions, finalizers, collections.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, each, since},
    check::{Outcome, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::{CONFIG_MAP, POD},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("delete/answers-status-success", "a DELETE that removes the object returns 200 with a Status Success and details", success),
        each("delete/object-is-gone", "a deleted object is not found, and its name is free", gone),
        each("delete/options-in-body", "DeleteOptions in the body are accepted", options_body),
        each("delete/precondition-uid", "another uid in preconditions: 409 Conflict; the right one deletes", precondition_uid),
        each("delete/precondition-resource-version", "another resourceVersion in preconditions: 409 Conflict", precondition_version),
        each("delete/finalizer-delays", "with a finalizer the object stays with deletionTimestamp, and DELETE returns it", finalizer_delays),
        each("delete/last-finalizer-removes", "removing the last finalizer removes the object", last_finalizer),
        each("delete/one-of-two-finalizers", "removing one of two finalizers keeps the object", one_of_two),
        each("delete/no-new-finalizers", "a new finalizer on an object being deleted: 422", no_new_finalizers),
        each("delete/again-is-harmless", "a second DELETE of an object being deleted changes nothing", again),
        each("delete/update-while-deleting", "an object being deleted can still be updated", update_while_deleting),
        each("delete/deletion-timestamp-sticks", "deletionTimestamp cannot be removed", timestamp_sticks),
        custom("delete/generation-on-deletion", "setting deletionTimestamp adds 1 to generation", generation),
        each("delete/dry-run-keeps", "dryRun=All deletes nothing", dry_run),
        each("delete/policy-unknown-422", "an unknown propagationPolicy: 422", policy_unknown),
        each("delete/policy-and-orphan-dependents-422", "propagationPolicy together with orphanDependents: 422", policy_both),
        each("delete/policy-and-orphan-dependents-in-query-422", "the same in the query: 422", policy_both_query),
        each("delete/orphan-dependents-false-202", "orphanDependents=false of an object that a finalizer holds: 202", orphan_false),
        core("delete/grace-of-collection", "DELETE of a collection of Pods takes a grace period", collection_grace),
        each("delete/policy-in-query", "propagationPolicy may be in the query", policy_query),
        each("delete/collection", "DELETE of a collection removes every object of the namespace", collection),
        each("delete/collection-by-label", "DELETE of a collection with a labelSelector removes those only", collection_label),
        each("delete/collection-by-field", "DELETE of a collection with a fieldSelector removes those only", collection_field),
        each("delete/collection-empty", "DELETE of an empty collection returns 200", collection_empty),
        each("delete/collection-finalizers", "DELETE of a collection leaves objects with finalizers, marked", collection_finalizers),
        each("delete/recreate-has-new-uid", "a recreated object has another uid", recreate),
        core("delete/core-kind-answer", "DELETE of a ConfigMap returns a Status without group", core_answer),
        core("delete/grace-of-pod", "a pod on a node gets its grace period: it is marked, and stays", grace),
        core("delete/grace-shortened", "a second DELETE can shorten the grace period, not extend it", grace_shortened),
        core("delete/grace-0", "grace period 0: the pod is removed immediately", grace_none),
        core("delete/grace-without-node", "a pod without node is removed immediately, with any grace period", grace_unplaced),
        since(25, each("delete/malformed-body-400", "a DELETE with a body that is no DeleteOptions: 400 (500 before 1.25)", malformed)),
        each("delete/finalizer-removed-before-delete", "after the finalizer is removed, DELETE removes the object immediately", finalizer_before),
    ]
    .concat()
}

/// Runs `body` with pod `a` on an existing node.
async fn placed<F: Future<Output = Outcome>>(cx: &Context, body: F) -> Outcome {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": cx.ns}});
    cx.create_at("/api/v1/nodes", &node).await?;
    let spec = json!({"nodeName": cx.ns, "terminationGracePeriodSeconds": 40, "containers": [{"name": "c", "image": "i"}]});
    let made = cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await.map(drop);
    let outcome = match made {
        Ok(()) => body.await,
        Err(failure) => Err(failure),
    };
    cx.delete(format!("/api/v1/nodes/{}", cx.ns)).await?;
    outcome
}

async fn end(cx: &Context, grace: i64) -> Result<ApiResponse, crate::check::Failure> {
    cx.delete_with(cx.one_of(&POD, "a"), &json!({"gracePeriodSeconds": grace})).await
}

async fn grace(cx: Context) -> Outcome {
    placed(&cx, async {
        let r = cx.delete(cx.one_of(&POD, "a")).await?;
        r.is(200)?
            .eq("/kind", "Pod")?
            .eq("/metadata/deletionGracePeriodSeconds", 40)?
            .has("/metadata/deletionTimestamp")?;
        cx.get(cx.one_of(&POD, "a")).await?.is(200)?.has("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await
}

async fn grace_shortened(cx: Context) -> Outcome {
    placed(&cx, async {
        end(&cx, 20).await?.is(200)?.eq("/metadata/deletionGracePeriodSeconds", 20)?;
        end(&cx, 30).await?.is(200)?.eq("/metadata/deletionGracePeriodSeconds", 20)?;
        end(&cx, 10).await?.is(200)?.eq("/metadata/deletionGracePeriodSeconds", 10)?;
        Ok(())
    })
    .await
}

async fn grace_none(cx: Context) -> Outcome {
    placed(&cx, async {
        end(&cx, 0).await?.is(200)?;
        cx.get(cx.one_of(&POD, "a")).await?.is(404)?;
        Ok(())
    })
    .await
}

async fn grace_unplaced(cx: Context) -> Outcome {
    let spec = json!({"terminationGracePeriodSeconds": 40, "containers": [{"name": "c", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    cx.delete(cx.one_of(&POD, "a")).await?.is(200)?;
    cx.get(cx.one_of(&POD, "a")).await?.is(404)?;
    Ok(())
}

const FINALIZER: &str = "conformance.example/hold";

async fn held(cx: &Context, finalizers: Value) -> Result<ApiResponse, crate::check::Failure> {
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "a", json!({"metadata": {"finalizers": finalizers}})))
        .await
}

async fn success(cx: Context) -> Outcome {
    let uid = cx.create("a").await?.str("/metadata/uid")?;
    let r = cx.delete(cx.one("a")).await?;
    r.is(200)?.eq("/kind", "Status")?.eq("/apiVersion", "v1")?.eq("/status", "Success")?;
    r.eq("/details", json!({"name": "a", "group": cx.group(), "kind": cx.kind().plural, "uid": uid}))?;
    Ok(())
}

async fn gone(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    cx.get(cx.one("a")).await?.fails(404, "NotFound")?;
    cx.get(cx.all()).await?.lists(&[])?;
    cx.create("a").await?;
    Ok(())
}

async fn options_body(cx: Context) -> Outcome {
    cx.create("a").await?;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    cx.delete_with(cx.one("a"), &options).await?.is(200)?.eq("/status", "Success")?;
    Ok(())
}

async fn precondition_uid(cx: Context) -> Outcome {
    let uid = cx.create("a").await?.str("/metadata/uid")?;
    let wrong = json!({"preconditions": {"uid": "11111111-1111-4111-8111-111111111111"}});
    cx.delete_with(cx.one("a"), &wrong).await?.fails(409, "Conflict")?.mentions("UID in the precondition")?;
    cx.delete_with(cx.one("a"), &json!({"preconditions": {"uid": uid}})).await?.is(200)?;
    Ok(())
}

async fn precondition_version(cx: Context) -> Outcome {
    let old = cx.create("a").await?.revision()?;
    let now = cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.revision()?;
    let r = cx.delete_with(cx.one("a"), &json!({"preconditions": {"resourceVersion": old}})).await?;
    r.fails(409, "Conflict")?.mentions("ResourceVersion in the precondition")?;
    cx.delete_with(cx.one("a"), &json!({"preconditions": {"resourceVersion": now}})).await?.is(200)?;
    Ok(())
}

async fn finalizer_delays(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    let r = cx.delete(cx.one("a")).await?;
    r.is(200)?
        .eq("/kind", cx.kind().kind)?
        .has("/metadata/deletionTimestamp")?
        .eq("/metadata/deletionGracePeriodSeconds", 0)?;
    cx.get(cx.one("a")).await?.is(200)?.has("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn last_finalizer(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .is(200)?
        .eq("/metadata/name", "a")?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn one_of_two(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER, "conformance.example/other"])).await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": [FINALIZER]}})).await?.is(200)?;
    cx.get(cx.one("a")).await?.is(200)?.eq("/metadata/finalizers", json!([FINALIZER]))?;
    Ok(())
}

async fn no_new_finalizers(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let r = cx
        .merge(cx.one("a"), &json!({"metadata": {"finalizers": [FINALIZER, "conformance.example/new"]}}))
        .await?;
    r.fails(422, "Invalid")?
        .cause("FieldValueForbidden", "metadata.finalizers")?
        .mentions("no new finalizers can be added if the object is being deleted")?;
    Ok(())
}

async fn again(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    let one = cx.delete(cx.one("a")).await?;
    let two = cx.delete(cx.one("a")).await?;
    two.is(200)?.eq("/metadata/deletionTimestamp", one.str("/metadata/deletionTimestamp")?)?;
    two.eq("/metadata/resourceVersion", one.revision()?)?;
    Ok(())
}

async fn update_while_deleting(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let r = cx.merge(cx.one("a"), &json!({"spec": {"holderIdentity": "late"}})).await?;
    r.is(200)?.eq("/spec/holderIdentity", "late")?.has("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn timestamp_sticks(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    let time = cx.delete(cx.one("a")).await?.str("/metadata/deletionTimestamp")?;
    let r = cx
        .merge(cx.one("a"), &json!({"metadata": {"deletionTimestamp": null, "labels": {"x": "1"}}}))
        .await?;
    r.is(200)?.eq("/metadata/deletionTimestamp", time)?;
    Ok(())
}

async fn generation(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?.eq("/metadata/generation", 1)?;
    cx.delete(cx.one("a")).await?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn dry_run(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.delete(format!("{}?dryRun=All", cx.one("a"))).await?.is(200)?;
    cx.delete_with(cx.one("a"), &json!({"dryRun": ["All"]})).await?.is(200)?;
    cx.get(cx.one("a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn policy_unknown(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.delete_with(cx.one("a"), &json!({"propagationPolicy": "Nonsense"})).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "propagationPolicy")?;
    Ok(())
}

async fn policy_both(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx
        .delete_with(cx.one("a"), &json!({"propagationPolicy": "Orphan", "orphanDependents": true}))
        .await?;
    r.fails(422, "Invalid")?;
    Ok(())
}

async fn policy_query(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.delete(format!("{}?propagationPolicy=Background", cx.one("a"))).await?.is(200)?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn collection(cx: Context) -> Outcome {
    cx.create_all(&["a", "b", "c"]).await?;
    cx.delete(cx.all()).await?.is(200)?;
    cx.get(cx.all()).await?.lists(&[])?;
    Ok(())
}

async fn collection_label(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "c", json!({"metadata": {"labels": {"x": "1"}}})))
        .await?;
    cx.delete(format!("{}?labelSelector=x%3D1", cx.all())).await?.is(200)?;
    cx.get(cx.all()).await?.lists(&["a", "b"])?;
    Ok(())
}

async fn collection_field(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    cx.delete(format!("{}?fieldSelector=metadata.name%3Da", cx.all())).await?.is(200)?;
    cx.get(cx.all()).await?.lists(&["b"])?;
    Ok(())
}

async fn collection_empty(cx: Context) -> Outcome {
    cx.delete(cx.all()).await?.is(200)?;
    Ok(())
}

async fn collection_finalizers(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    cx.create("b").await?;
    cx.delete(cx.all()).await?.is(200)?;
    cx.get(cx.all()).await?.lists(&["a"])?.has("/items/0/metadata/deletionTimestamp")?;
    Ok(())
}

async fn recreate(cx: Context) -> Outcome {
    let one = cx.create("a").await?.str("/metadata/uid")?;
    cx.delete(cx.one("a")).await?.is(200)?;
    let two = cx.create("a").await?.str("/metadata/uid")?;
    holds(one != two, "another uid", two)
}

async fn core_answer(cx: Context) -> Outcome {
    let uid = cx
        .create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", json!({})))
        .await?
        .str("/metadata/uid")?;
    let r = cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?;
    equal("details", json!({"name": "a", "kind": "configmaps", "uid": uid}), r.body["details"].clone())
}

async fn malformed(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r =
        cx.call(http::Method::DELETE, cx.one("a")).bytes("application/json", "{\"kind\": ").send().await?;
    r.is(400)?.eq("/status", "Failure")?;
    Ok(())
}

async fn finalizer_before(cx: Context) -> Outcome {
    held(&cx, json!([FINALIZER])).await?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": []}})).await?.is(200)?;
    cx.delete(cx.one("a")).await?.is(200)?.eq("/status", "Success")?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn policy_both_query(cx: Context) -> Outcome {
    cx.create("a").await?;
    let query = "orphanDependents=true&propagationPolicy=Orphan";
    for path in [cx.one("a"), cx.all()] {
        let reply = cx.delete(format!("{path}?{query}")).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "propagationPolicy")?;
        reply.mentions("orphanDependents and deletionPropagation cannot be both set")?;
    }
    cx.get(cx.one("a")).await?.is(200)?;
    Ok(())
}

async fn orphan_false(cx: Context) -> Outcome {
    let fields = json!({"metadata": {"finalizers": ["conformance.example/f"]}});
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "a", fields)).await?;
    cx.delete(format!("{}?orphanDependents=false", cx.one("a"))).await?.is(202)?.eq("/metadata/name", "a")?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    cx.create("a").await?;
    cx.delete(format!("{}?orphanDependents=false", cx.one("a"))).await?.is(200)?;
    Ok(())
}

async fn collection_grace(cx: Context) -> Outcome {
    placed(&cx, async {
        let all = cx.all_of(&POD);
        cx.delete(format!("{all}?gracePeriodSeconds=20")).await?.is(200)?;
        cx.get(format!("{all}/a")).await?.is(200)?.eq("/metadata/deletionGracePeriodSeconds", 20)?;
        cx.delete_with(&all, &json!({"gracePeriodSeconds": 0})).await?.is(200)?;
        cx.get(&all).await?.lists(&[])?;
        Ok(())
    })
    .await
}
