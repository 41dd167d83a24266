//! Subresources of built-in kinds.

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{AttachParams, DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::test_env::{Requires, rejection, run, unique};

/// A certificate signing request for the user `jane`; its private key was discarded.
const JANE: &str = "-----BEGIN CERTIFICATE REQUEST-----\nMIHcMIGDAgEAMCExEDAOBgNVBAoMB3JlYWRlcnMxDTALBgNVBAMMBGphbmUwWTAT\nBgcqhkjOPQIBBggqhkjOPQMBBwNCAASaNn+uQohCBVr/nYc0g7Qz4jyeQXJaC1cx\nhrPyIXp3uVkaK6pAsgmDH5t6sVde87KRn7yqjb/YPhnTHw26YZqEoAAwCgYIKoZI\nzj0EAwIDSAAwRQIgNpi0Ui3rBEFOnYsKECPwqTNdV05j2l1XatzPWmJjnbECIQCA\nE+SPW1gFo4nKSAHhq+urL6GVhUzYbgwjEz/p+ANo1w==\n-----END CERTIFICATE REQUEST-----\n";

#[test]
fn replicas_are_read_and_set_through_the_scale_subresource() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api = env.api::<Deployment>();
            let labels = json!({ "app": "web" });
            let deployment = serde_json::from_value(json!({
                "metadata": { "name": "web" },
                "spec": {
                    "replicas": 0, "selector": { "matchLabels": labels },
                    "template": {
                        "metadata": { "labels": labels },
                        "spec": { "containers": [{ "name": "c", "image": "i" }] },
                    },
                },
            }))?;
            api.create(&PostParams::default(), &deployment).await?;
            let mut scale = api.get_scale("web").await?;
            assert_eq!(scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default(), 0);
            let patch = Patch::Merge(json!({ "spec": { "replicas": 2 } }));
            scale = api.patch_scale("web", &PatchParams::default(), &patch).await?;
            scale.spec.get_or_insert_default().replicas = Some(3);
            scale.metadata.resource_version = None;
            api.replace_scale("web", &PostParams::default(), &scale).await?;
            assert_eq!(api.get("web").await?.spec.replicas, Some(3));
            api.delete("web", &DeleteParams::background()).await?;
            Ok(())
        }
        .boxed()
    })
}

fn pod(name: &str) -> anyhow::Result<Pod> {
    let spec =
        json!({ "containers": [{ "name": "c", "image": "i" }], "automountServiceAccountToken": false });
    Ok(serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec }))?)
}

#[test]
fn evicting_a_pod_deletes_it_and_a_missing_pod_is_404() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let pods = env.api::<Pod>();
            pods.create(&PostParams::default(), &pod("leaving")?).await?;
            let status = pods.evict("leaving", &EvictParams::default()).await?;
            assert!(status.is_success(), "{status:?}");
            let left = pods.get_opt("leaving").await?;
            assert!(left.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()));
            assert_eq!(rejection(pods.evict("absent", &EvictParams::default()).await)?.code, 404);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn containers_are_resized_and_ephemeral_containers_added_in_place() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let pods = env.api::<Pod>();
            let small = json!({ "requests": { "cpu": "1" } });
            let spec = json!({ "containers": [{ "name": "c", "image": "i", "resources": small }], "automountServiceAccountToken": false });
            let object = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec }))?;
            pods.create(&PostParams::default(), &object).await?;
            let debug = json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "busybox:1", "targetContainerName": "c" }] } });
            let (plain, debug) = (PatchParams::default(), Patch::Strategic(debug));
            let large = json!({ "spec": { "containers": [{ "name": "c", "image": "other", "resources": { "requests": { "cpu": "2" } } }] } });
            let large = Patch::Strategic(large);
            if env.older_than(33) {
                // Servers have ephemeral containers from 1.25 and resize from 1.33 on.
                assert_eq!(rejection(pods.patch_ephemeral_containers("web", &plain, &debug).await)?.code, 404);
                assert_eq!(rejection(pods.patch_resize("web", &plain, &large).await)?.code, 404);
                return Ok(());
            }
            let resized = pods.patch_resize("web", &plain, &large).await?;
            let container = &resized.spec.context("a pod has a spec")?.containers[0];
            let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
            assert_eq!(requests.map(|requests| requests["cpu"].0.as_str()), Some("2"));
            // The resize subresource ignores all other changes.
            assert_eq!(container.image.as_deref(), Some("i"));
            let mut again = pods.get_resize("web").await?;
            again.spec.get_or_insert_default().containers[0].resources = None;
            let rejected = rejection(pods.replace_resize("web", &PostParams::default(), &again).await)?;
            assert_eq!((rejected.code, rejected.reason.as_str()), (422, "Invalid"), "{rejected:?}");

            pods.patch_ephemeral_containers("web", &plain, &debug).await?;
            let mut pod = pods.get_ephemeral_containers("web").await?;
            let added = pod.spec.get_or_insert_default().ephemeral_containers.get_or_insert_default();
            assert_eq!((added.len(), added[0].target_container_name.as_deref()), (1, Some("c")));
            added.clear();
            let rejected = rejection(pods.replace_ephemeral_containers("web", &PostParams::default(), &pod).await)?;
            assert!(rejected.code == 422 && rejected.message.contains("may not be removed"), "{rejected:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_rejected_exec_returns_the_status_of_the_server() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let pods = env.api::<Pod>();
            let missing = rejection(pods.exec("absent", ["ls"], &AttachParams::default()).await.map(drop))?;
            assert_eq!((missing.code, missing.reason.as_str()), (404, "NotFound"), "{missing:?}");
            let missing = rejection(pods.portforward("absent", &[80]).await.map(drop))?;
            assert_eq!(missing.code, 404, "{missing:?}");
            // No kubelet runs the pod.
            pods.create(&PostParams::default(), &pod("waiting")?).await?;
            let rejected = rejection(pods.exec("waiting", ["ls"], &AttachParams::default()).await.map(drop))?;
            assert_eq!((rejected.code, rejected.reason.as_str()), (400, "BadRequest"), "{rejected:?}");
            assert!(rejected.message.contains("host"), "{rejected:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_certificate_request_is_approved() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api: Api<CertificateSigningRequest> = Api::all(env.client.clone());
            let name = unique("e2e-jane");
            let mut request = CertificateSigningRequest::default();
            request.metadata.name = Some(name.clone());
            request.spec.request = ByteString(JANE.as_bytes().to_vec());
            request.spec.signer_name = "kubernetes.io/kube-apiserver-client".into();
            request.spec.usages = Some(vec!["client auth".into()]);
            api.create(&PostParams::default(), &request).await?;
            assert!(api.get_approval(&name).await?.status.is_none_or(|status| status.conditions.is_none()));
            let approval = json!({ "status": { "conditions": [
                { "type": "Approved", "status": "True", "reason": "Test", "message": "known to us" },
            ] } });
            let approved =
                api.patch_approval(&name, &PatchParams::default(), &Patch::Merge(approval)).await?;
            let conditions = approved.status.and_then(|status| status.conditions).unwrap_or_default();
            assert_eq!(conditions[0].type_, "Approved");
            api.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}
