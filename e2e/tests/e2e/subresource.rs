//! Subresources of built-in kinds.

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{AttachParams, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
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
fn a_disruption_budget_blocks_an_eviction() -> anyhow::Result<()> {
    // Neither genuine server qualifies: one has no pods, the other no policy/v1.
    run(Requires::EmbeddedServer, |env| {
        async move {
            let pods = env.api::<Pod>();
            for name in ["one", "two"] {
                let mut pod = pod(name)?;
                pod.labels_mut().insert("app".into(), "web".into());
                pods.create(&PostParams::default(), &pod).await?;
                let running = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
                pods.patch_status(name, &PatchParams::default(), &Patch::Merge(running)).await?;
            }
            let budgets = env.api::<PodDisruptionBudget>();
            let budget = json!({
                "metadata": { "name": "web" },
                "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "web" } } },
                "status": { "observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 1 },
            });
            budgets.create(&PostParams::default(), &serde_json::from_value(budget.clone())?).await?;
            budgets.patch_status("web", &PatchParams::default(), &Patch::Merge(budget)).await?;
            let dry = EvictParams { post_options: PostParams { dry_run: true, ..PostParams::default() }, ..EvictParams::default() };
            assert!(pods.evict("one", &dry).await?.is_success());
            assert!(pods.evict("one", &EvictParams::default()).await?.is_success());
            let blocked = rejection(pods.evict("two", &EvictParams::default()).await)?;
            assert_eq!((blocked.code, blocked.reason.as_str()), (429, "TooManyRequests"), "{blocked:?}");
            assert!(blocked.message.contains("disruption budget"), "{blocked:?}");
            assert!(pods.get("two").await?.metadata.deletion_timestamp.is_none());
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
fn restarting_a_deployment_annotates_its_pod_template() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api = env.api::<Deployment>();
            let labels = json!({ "app": "web" });
            let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
            let spec = json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
            let object = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec }))?;
            api.create(&PostParams::default(), &object).await?;
            let restarted = api.restart("web").await?;
            let annotations = restarted.spec.template.metadata.and_then(|meta| meta.annotations);
            assert!(annotations.is_some_and(|annotations| annotations.contains_key("kubectl.kubernetes.io/restartedAt")));
            assert_eq!(restarted.metadata.generation, Some(2));
            api.delete("web", &DeleteParams::background()).await?;
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
fn a_node_is_cordoned_and_uncordoned() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let nodes: Api<Node> = Api::all(env.client.clone());
            let name = unique("e2e-node");
            let node = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
            nodes.create(&PostParams::default(), &node).await?;
            let cordoned = nodes.cordon(&name).await?;
            assert_eq!(cordoned.spec.and_then(|spec| spec.unschedulable), Some(true));
            let uncordoned = nodes.uncordon(&name).await?;
            assert_ne!(uncordoned.spec.and_then(|spec| spec.unschedulable), Some(true));
            nodes.delete(&name, &DeleteParams::default()).await?;
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

#[test]
fn an_entry_is_created_changed_and_not_written_when_unchanged() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let api = env.api::<k8s_openapi::api::core::v1::ConfigMap>();
            let mut entry = api.entry("settings").await?.or_insert(Default::default);
            entry.commit(&PostParams::default()).await?;
            let created = entry.get().resource_version();
            entry.commit(&PostParams::default()).await?;
            assert_eq!(entry.get().resource_version(), created);
            entry.get_mut().data = Some([("a".to_owned(), "b".to_owned())].into());
            entry.commit(&PostParams::default()).await?;
            assert_ne!(entry.get().resource_version(), created);
            let listed = api.list(&ListParams::default().fields("metadata.name=settings")).await?;
            assert_eq!(listed.items[0].data, entry.get().data);
            Ok(())
        }
        .boxed()
    })
}
