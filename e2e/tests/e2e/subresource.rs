//! Subresources of built-in kinds, as a server that has them judges.

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

use crate::world::{Need, answer, run, unique};

/// Of a key that nobody has, for the user `jane`.
const JANE: &str = "-----BEGIN CERTIFICATE REQUEST-----\nMIHcMIGDAgEAMCExEDAOBgNVBAoMB3JlYWRlcnMxDTALBgNVBAMMBGphbmUwWTAT\nBgcqhkjOPQIBBggqhkjOPQMBBwNCAASaNn+uQohCBVr/nYc0g7Qz4jyeQXJaC1cx\nhrPyIXp3uVkaK6pAsgmDH5t6sVde87KRn7yqjb/YPhnTHw26YZqEoAAwCgYIKoZI\nzj0EAwIDSAAwRQIgNpi0Ui3rBEFOnYsKECPwqTNdV05j2l1XatzPWmJjnbECIQCA\nE+SPW1gFo4nKSAHhq+urL6GVhUzYbgwjEz/p+ANo1w==\n-----END CERTIFICATE REQUEST-----\n";

#[test]
fn replicas_are_read_and_set_through_the_scale() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let api = world.api::<Deployment>();
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
fn a_pod_is_evicted_and_one_that_is_not_there_is_404() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let pods = world.api::<Pod>();
            pods.create(&PostParams::default(), &pod("leaving")?).await?;
            let status = pods.evict("leaving", &EvictParams::default()).await?;
            assert!(status.is_success(), "{status:?}");
            let left = pods.get_opt("leaving").await?;
            assert!(left.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()));
            assert_eq!(answer(pods.evict("absent", &EvictParams::default()).await)?.code, 404);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_disruption_budget_holds_an_eviction_up() -> anyhow::Result<()> {
    // Of the genuine servers, one has no pods and the other no policy/v1.
    run(Need::Embedded, |world| {
        async move {
            let pods = world.api::<Pod>();
            for name in ["one", "two"] {
                let mut pod = pod(name)?;
                pod.labels_mut().insert("app".into(), "web".into());
                pods.create(&PostParams::default(), &pod).await?;
                let running = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
                pods.patch_status(name, &PatchParams::default(), &Patch::Merge(running)).await?;
            }
            let budgets = world.api::<PodDisruptionBudget>();
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
            let held_up = answer(pods.evict("two", &EvictParams::default()).await)?;
            assert_eq!((held_up.code, held_up.reason.as_str()), (429, "TooManyRequests"), "{held_up:?}");
            assert!(held_up.message.contains("disruption budget"), "{held_up:?}");
            assert!(pods.get("two").await?.metadata.deletion_timestamp.is_none());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn containers_are_resized_and_added_for_debugging_in_place() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let pods = world.api::<Pod>();
            let small = json!({ "requests": { "cpu": "1" } });
            let spec = json!({ "containers": [{ "name": "c", "image": "i", "resources": small }], "automountServiceAccountToken": false });
            let object = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec }))?;
            pods.create(&PostParams::default(), &object).await?;
            let debug = json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "busybox:1", "targetContainerName": "c" }] } });
            let (plain, debug) = (PatchParams::default(), Patch::Strategic(debug));
            let large = json!({ "spec": { "containers": [{ "name": "c", "image": "other", "resources": { "requests": { "cpu": "2" } } }] } });
            let large = Patch::Strategic(large);
            if world.before(33) {
                // Such servers know neither; the first is there from 1.25, the second from 1.33 on.
                assert_eq!(answer(pods.patch_ephemeral_containers("web", &plain, &debug).await)?.code, 404);
                assert_eq!(answer(pods.patch_resize("web", &plain, &large).await)?.code, 404);
                return Ok(());
            }
            let resized = pods.patch_resize("web", &plain, &large).await?;
            let container = &resized.spec.context("a pod has a spec")?.containers[0];
            let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
            assert_eq!(requests.map(|requests| requests["cpu"].0.as_str()), Some("2"));
            // Nothing else is changed on that path.
            assert_eq!(container.image.as_deref(), Some("i"));
            let mut again = pods.get_resize("web").await?;
            again.spec.get_or_insert_default().containers[0].resources = None;
            let refused = answer(pods.replace_resize("web", &PostParams::default(), &again).await)?;
            assert_eq!((refused.code, refused.reason.as_str()), (422, "Invalid"), "{refused:?}");

            pods.patch_ephemeral_containers("web", &plain, &debug).await?;
            let mut pod = pods.get_ephemeral_containers("web").await?;
            let added = pod.spec.get_or_insert_default().ephemeral_containers.get_or_insert_default();
            assert_eq!((added.len(), added[0].target_container_name.as_deref()), (1, Some("c")));
            added.clear();
            let refused = answer(pods.replace_ephemeral_containers("web", &PostParams::default(), &pod).await)?;
            assert!(refused.code == 422 && refused.message.contains("may not be removed"), "{refused:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_deployment_is_restarted_by_a_mark_on_its_pods() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let api = world.api::<Deployment>();
            let labels = json!({ "app": "web" });
            let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
            let spec = json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
            let object = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec }))?;
            api.create(&PostParams::default(), &object).await?;
            let restarted = api.restart("web").await?;
            let marks = restarted.spec.template.metadata.and_then(|meta| meta.annotations);
            assert!(marks.is_some_and(|marks| marks.contains_key("kubectl.kubernetes.io/restartedAt")));
            assert_eq!(restarted.metadata.generation, Some(2));
            api.delete("web", &DeleteParams::background()).await?;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_refused_exec_is_an_answer_of_the_server() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let pods = world.api::<Pod>();
            let missing = answer(pods.exec("absent", ["ls"], &AttachParams::default()).await.map(drop))?;
            assert_eq!((missing.code, missing.reason.as_str()), (404, "NotFound"), "{missing:?}");
            let missing = answer(pods.portforward("absent", &[80]).await.map(drop))?;
            assert_eq!(missing.code, 404, "{missing:?}");
            // No kubelet has taken the pod.
            pods.create(&PostParams::default(), &pod("waiting")?).await?;
            let refused = answer(pods.exec("waiting", ["ls"], &AttachParams::default()).await.map(drop))?;
            assert_eq!((refused.code, refused.reason.as_str()), (400, "BadRequest"), "{refused:?}");
            assert!(refused.message.contains("host"), "{refused:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_node_is_cordoned_and_taken_back() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let nodes: Api<Node> = Api::all(world.client.clone());
            let name = unique("e2e-node");
            let node = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
            nodes.create(&PostParams::default(), &node).await?;
            let cordoned = nodes.cordon(&name).await?;
            assert_eq!(cordoned.spec.and_then(|spec| spec.unschedulable), Some(true));
            let back = nodes.uncordon(&name).await?;
            assert_ne!(back.spec.and_then(|spec| spec.unschedulable), Some(true));
            nodes.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_certificate_request_is_approved() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let api: Api<CertificateSigningRequest> = Api::all(world.client.clone());
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
fn an_entry_is_created_changed_and_left_alone() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let api = world.api::<k8s_openapi::api::core::v1::ConfigMap>();
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
