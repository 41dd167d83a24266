//! Chapter "Server-side apply".

use super::prelude::*;

async fn basic(api: Api<ConfigMap>) -> anyhow::Result<()> {
    use kube::api::{Patch, PatchParams};

    let patch = Patch::Apply(serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "my-cm" },
        "data": { "key": "value" }
    }));
    let pp = PatchParams::apply("my-controller"); // field manager name
    api.patch("my-cm", &pp, &patch).await?;
    Ok(())
}

fn api_version_and_kind_are_required() -> Patch<serde_json::Value> {
    // ✗ 400 Bad Request
    let patch = Patch::Apply(serde_json::json!({
        "data": { "key": "value" }
    }));

    // ✓ apiVersion and kind are required
    let patch = Patch::Apply(serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "my-cm" },
        "data": { "key": "value" }
    }));
    patch
}

fn field_manager_is_required() -> PatchParams {
    // ✗ field_manager is None → API server rejects the request
    let pp = PatchParams::default();

    // ✓ Explicit field manager
    let pp = PatchParams::apply("my-controller");
    pp
}

fn forced() -> PatchParams {
    // Caution: forcefully takes over fields owned by other field managers
    let pp = PatchParams::apply("my-controller").force();
    pp
}

async fn status(api: Api<MyResource>) -> anyhow::Result<()> {
    let status_patch = serde_json::json!({
        "apiVersion": "example.com/v1",
        "kind": "MyResource",
        "status": {
            "phase": "Ready",
            "conditions": [{
                "type": "Available",
                "status": "True",
                "lastTransitionTime": "2024-01-01T00:00:00Z",
            }]
        }
    });
    let pp = PatchParams::apply("my-controller");
    api.patch_status("name", &pp, &Patch::Apply(status_patch)).await?;
    Ok(())
}

fn status_only() -> serde_json::Value {
    // ✗ Don't send just the status
    serde_json::json!({ "phase": "Ready" })
}

fn status_with_types() -> serde_json::Value {
    // ✓ Must be wrapped with apiVersion, kind, and status structure
    serde_json::json!({
        "apiVersion": "example.com/v1",
        "kind": "MyResource",
        "status": { "phase": "Ready" }
    })
}

async fn typed(api: Api<ConfigMap>) -> anyhow::Result<()> {
    let cm = ConfigMap {
        metadata: ObjectMeta {
            name: Some("my-cm".into()),
            ..Default::default()
        },
        data: Some(BTreeMap::from([("key".into(), "value".into())])),
        ..Default::default()
    };
    let pp = PatchParams::apply("my-controller");
    api.patch("my-cm", &pp, &Patch::Apply(cm)).await?;
    Ok(())
}

mod optional_fields {
    use super::*;
    #[derive(Serialize)]
    struct MyStatus {
        phase: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
}
