//! Writes objects for server-side apply with `apply!`.

use kube_testserver::TestServer;

// ANCHOR: all
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Probe};
use kube::api::PatchParams;
use kube::prelude::*;
use kube::{Api, Client, Sparse, apply};

struct Site {
    name: String,
    image: String,
    replicas: Option<i32>,
    debug: bool,
    env: Vec<(String, String)>,
}

fn deployment(site: &Site) -> Sparse<Deployment> {
    let name = &site.name;
    apply!(Deployment {
        metadata: { name, labels: { "app": name } },
        spec: {
            replicas: site.replicas, // `None` leaves the field out
            selector: { match_labels: { "app": name } },
            template: {
                metadata: { labels: { "app": name } },
                spec: { containers: [{
                    name: "web",
                    image: &site.image,
                    if site.debug { args: ["--verbose"] }
                    env: [{ name: "RUST_LOG", value: "info" }, for (name, value) in &site.env { name, value }],
                    readiness_probe: probe("/healthz"),
                }] },
            },
        },
    })
}

fn probe(path: &str) -> Sparse<Probe> {
    apply!(Probe { http_get: { path, port: 8080 }, period_seconds: 5 })
}

async fn publish(client: Client, site: &Site) -> kube::Result<Deployment> {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    deployments.apply(&PatchParams::apply("sites"), &deployment(site)).await
}
// ANCHOR_END: all

#[tokio::test]
async fn only_fields_that_are_written_are_owned() {
    let client = Client::new(TestServer::service(), "default");
    let mut site = Site {
        name: "shop".into(),
        image: "shop:1".into(),
        replicas: None,
        debug: true,
        env: vec![("A".into(), "1".into())],
    };
    let live = publish(client.clone(), &site).await.unwrap();
    let owned = &live.metadata.managed_fields.unwrap()[0];
    let fields = &owned.fields_v1.as_ref().unwrap().0["f:spec"];
    assert!(fields.get("f:selector").is_some() && fields.get("f:replicas").is_none(), "{fields}");

    site.debug = false;
    site.env.clear();
    let container = publish(client, &site).await.unwrap().spec.template.spec.unwrap().containers.remove(0);
    assert_eq!((container.args, container.env.unwrap().len()), (None, 1));
    assert_eq!(container.readiness_probe.unwrap().period_seconds, Some(5));
}
