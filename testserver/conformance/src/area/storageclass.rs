//! Admission by the plugin DefaultStorageClass.

use serde_json::{Value, json};

use crate::{
    case::{Case, core},
    check::Outcome,
    context::Context,
};

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    // One case, because every claim of the server gets the default class.
    core("storageclass/default", "a claim without a class gets the default class; an empty class and another one stay", default)
}

async fn default(cx: Context) -> Outcome {
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": cx.ns, "annotations": annotations}, "provisioner": "x/y"});
    cx.create_at(CLASSES, &class).await?;
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims?dryRun=All", cx.ns);
    let claim = |more: Value| {
        let mut spec =
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        json!({"metadata": {"name": "a"}, "spec": spec})
    };
    let without = claim(json!({}));
    let wanted = |name: &Value| name.as_str() == Some(cx.ns.as_str());
    let made = cx
        .eventually(
            "the default class",
            || cx.post(&claims, &without),
            |reply| wanted(&reply.body["spec"]["storageClassName"]),
        )
        .await;
    let empty = cx.post(&claims, &claim(json!({"storageClassName": ""}))).await;
    let other = cx.post(&claims, &claim(json!({"storageClassName": "other"}))).await;
    cx.delete(format!("{CLASSES}/{}", cx.ns)).await?.is(200)?;
    made?;
    empty?.is(201)?.eq("/spec/storageClassName", "")?;
    other?.is(201)?.eq("/spec/storageClassName", "other")?;
    Ok(())
}
