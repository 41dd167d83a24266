//! A self-signed certificate on an API server: issued, injected, rotated, and shared by replicas.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;
use kube_testserver::{ApiServer, Fault, Match};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::webhook::server::tests::connects;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A clock that follows tokio's. TLS verifies certificates against the real time, which this clock reaches after 61 days.
fn clock() -> Clock {
    let real = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let begun = Instant::now();
    Arc::new(move || real - 61 * DAY.as_secs() + begun.elapsed().as_secs())
}

fn configuration(name: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [{
            "name": "check.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"namespace": "default", "name": "hooks", "path": "/x"}}}]})
}

struct Cluster {
    server: ApiServer,
    client: Client,
    configurations: Api<ValidatingWebhookConfiguration>,
    secrets: Api<Secret>,
    clock: Clock,
}

impl Cluster {
    async fn new() -> Self {
        let server = ApiServer::new();
        let client = Client::new(server.clone(), "default");
        let configurations = Api::all(client.clone());
        let object = serde_json::from_value(configuration("hooks")).unwrap();
        configurations.create(&PostParams::default(), &object).await.unwrap();
        let secrets = Api::namespaced(client.clone(), "default");
        Self { server, client, configurations, secrets, clock: clock() }
    }

    fn replica(&self) -> SelfSigned {
        let mut replica = SelfSigned::new(self.client.clone(), "default", "hooks")
            .validating("hooks")
            .crd("later.example.com");
        replica.clock = self.clock.clone();
        replica
    }

    /// The injected CAs.
    async fn bundle(&self) -> String {
        let configuration = self.configurations.get("hooks").await.unwrap();
        let webhooks: Vec<ValidatingWebhook> = configuration.webhooks.unwrap();
        let bundle = webhooks[0].client_config.ca_bundle.clone().unwrap_or_default();
        String::from_utf8(bundle.0).unwrap()
    }

    async fn data(&self, key: &str) -> String {
        let secret = self.secrets.get("hooks-certificate").await.unwrap();
        String::from_utf8(secret.data.unwrap()[key].0.clone()).unwrap()
    }
}

fn count(bundle: &str) -> usize {
    CertificateDer::pem_slice_iter(bundle.as_bytes()).map(Result::unwrap).count()
}

#[tokio::test]
async fn replicas_that_start_together_share_one_certificate_that_clients_trust() {
    let cluster = Cluster::new().await;
    let starts = (0..5).map(|_| cluster.replica().start());
    let running: Vec<Serving> = futures::future::try_join_all(starts).await.unwrap();
    let bundle = cluster.bundle().await;
    assert_eq!(count(&bundle), 1);
    assert_eq!(cluster.data("ca.crt").await, bundle);
    for serving in &running {
        assert!(connects(&serving.tls, &bundle, "hooks.default.svc").await);
        assert!(!connects(&serving.tls, &bundle, "other.default.svc").await);
    }
    let secret = cluster.secrets.get("hooks-certificate").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    assert!(cluster.data("tls.key").await.contains("PRIVATE KEY"));
    let debug = format!("{:?}", cluster.replica().settle().await.unwrap());
    assert!(!debug.contains("PRIVATE KEY"), "{debug}");
}

#[tokio::test(start_paused = true)]
async fn a_rotation_never_breaks_a_replica_whichever_certificate_it_serves() {
    let cluster = Cluster::new().await;
    // A day has 8 steps instead of 1440.
    let mut first = cluster.replica().interval(DAY / 8);
    first.watches = false; // a watch is begun anew thousands of times in these days
    let first = first.start().await.unwrap();
    // This one stops reading the Secret: it serves the old certificate all along.
    let stuck = cluster.replica().start().await.unwrap();
    let old = cluster.bundle().await;
    let mut keeper = first.keeper;
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(59 * DAY) => {} }
    assert_eq!(cluster.bundle().await, old, "not due yet");
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(2 * DAY) => {} }
    tokio::time::resume();
    let both = cluster.bundle().await;
    assert!(both.contains(&old) && count(&both) == 2, "{both}");
    assert!(
        !connects(&first.tls, &old, "hooks.default.svc").await,
        "the first replica serves the new certificate"
    );
    for tls in [&first.tls, &stuck.tls] {
        assert!(connects(tls, &both, "hooks.default.svc").await, "each is trusted");
    }
    tokio::time::pause();
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(30 * DAY) => {} }
    let new = cluster.bundle().await;
    assert!(!new.contains(&old) && count(&new) == 1, "the old CA is gone when its certificate has expired");
    tokio::time::resume();
    assert!(connects(&first.tls, &new, "hooks.default.svc").await);
    assert!(!connects(&stuck.tls, &new, "hooks.default.svc").await);
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_was_lost_and_a_configuration_that_comes_late_are_injected() {
    let cluster = Cluster::new().await;
    cluster.configurations.delete("hooks", &kube_client::api::DeleteParams::default()).await.unwrap();
    let Serving { mut keeper, .. } = cluster.replica().start().await.unwrap();
    for _ in 0..2 {
        let object = serde_json::from_value(configuration("hooks")).unwrap();
        cluster.configurations.create(&PostParams::default(), &object).await.unwrap();
        tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(Duration::from_secs(61)) => {} }
        assert_eq!(cluster.bundle().await, cluster.data("ca.crt").await);
        cluster.configurations.delete("hooks", &kube_client::api::DeleteParams::default()).await.unwrap();
    }
    cluster.secrets.delete("hooks-certificate", &kube_client::api::DeleteParams::default()).await.unwrap();
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(Duration::from_secs(61)) => {} }
    assert!(!cluster.data("tls.crt").await.is_empty(), "a deleted Secret is created again");
}

#[tokio::test(start_paused = true)]
async fn one_configuration_that_is_forbidden_stops_neither_the_others_nor_the_renewal() {
    let cluster = Cluster::new().await;
    let _unreadable =
        cluster.server.fault(Match::get::<MutatingWebhookConfiguration>(), Fault::status(403, "Forbidden"));
    let other: ValidatingWebhookConfiguration = serde_json::from_value(configuration("fixed")).unwrap();
    cluster.configurations.create(&PostParams::default(), &other).await.unwrap();
    let fixed = Match::patch::<ValidatingWebhookConfiguration>().name("fixed");
    let _unwritable = cluster.server.fault(fixed, Fault::status(403, "Forbidden"));
    let replica = || {
        let mut replica = SelfSigned::new(cluster.client.clone(), "default", "hooks").interval(DAY / 8);
        (replica.clock, replica.watches) = (cluster.clock.clone(), false);
        replica.mutating("hooks").validating("fixed").validating("hooks")
    };
    let Serving { mut keeper, .. } = replica().start().await.unwrap();
    let old = cluster.bundle().await;
    assert_eq!(count(&old), 1, "injected where it can be");
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(76 * DAY) => {} }
    let both = cluster.bundle().await;
    assert!(both.contains(&old) && count(&both) == 2 && !both.starts_with(&old), "renewed: {both}");
}

#[tokio::test(start_paused = true)]
async fn a_configuration_is_injected_when_it_is_registered() {
    let cluster = Cluster::new().await;
    cluster.configurations.delete("hooks", &kube_client::api::DeleteParams::default()).await.unwrap();
    let Serving { mut keeper, .. } = cluster.replica().start().await.unwrap();
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(Duration::from_secs(5)) => {} }
    let object = serde_json::from_value(configuration("hooks")).unwrap();
    cluster.configurations.create(&PostParams::default(), &object).await.unwrap();
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(Duration::from_secs(3)) => {} }
    assert_eq!(cluster.bundle().await, cluster.data("ca.crt").await);
}

#[tokio::test(start_paused = true)]
async fn a_replica_is_trusted_while_the_secret_is_lost() {
    let cluster = Cluster::new().await;
    let first = cluster.replica().start().await.unwrap();
    let second = cluster.replica().start().await.unwrap();
    cluster.secrets.delete("hooks-certificate", &kube_client::api::DeleteParams::default()).await.unwrap();
    let (mut keeper, tls) = (first.keeper, first.tls);
    tokio::select! { () = &mut keeper => unreachable!(), () = tokio::time::sleep(Duration::from_secs(61)) => {} }
    tokio::time::resume();
    let bundle = cluster.bundle().await;
    assert_eq!(count(&bundle), 2);
    for tls in [&tls, &second.tls] {
        assert!(connects(tls, &bundle, "hooks.default.svc").await);
    }
}

#[tokio::test]
async fn a_secret_with_other_data_is_not_overwritten_and_an_empty_one_is_filled() {
    let cluster = Cluster::new().await;
    let secret = |data: Value| {
        serde_json::from_value::<Secret>(json!({"metadata": {"name": "hooks-certificate"}, "data": data}))
            .unwrap()
    };
    cluster
        .secrets
        .create(&PostParams::default(), &secret(json!({"tls.crt": "eA==", "password": "eA=="})))
        .await
        .unwrap();
    let error = cluster.replica().start().await.unwrap_err().to_string();
    let expected = "Secret default/hooks-certificate: expected an empty Secret or one with the key generations.json, found password, tls.crt";
    assert_eq!(error, expected);
    cluster
        .secrets
        .replace("hooks-certificate", &PostParams::default(), &secret(json!({"generations.json": "eA=="})))
        .await
        .unwrap();
    let error = cluster.replica().start().await.unwrap_err().to_string();
    assert!(
        error.starts_with("Secret default/hooks-certificate, key generations.json: expected value"),
        "{error}"
    );
    cluster
        .secrets
        .replace("hooks-certificate", &PostParams::default(), &secret(json!({"tls.crt": ""})))
        .await
        .unwrap();
    cluster.replica().start().await.unwrap();
    assert_eq!(count(&cluster.bundle().await), 1);
}

#[tokio::test]
async fn an_error_names_the_object() {
    let cluster = Cluster::new().await;
    let elsewhere = SelfSigned::new(cluster.client.clone(), "no-such-namespace", "hooks");
    let error = elsewhere.start().await.unwrap_err().to_string();
    assert!(
        error.starts_with("Secret no-such-namespace/hooks-certificate: ") && error.contains("not found"),
        "{error}"
    );
    let invalid = cluster.replica().name("ü x").start().await.unwrap_err().to_string();
    assert!(invalid.starts_with("certificate for hooks.default.svc, "), "{invalid}");
}

#[tokio::test]
async fn changed_names_are_served_after_both_authorities_were_injected() {
    let cluster = Cluster::new().await;
    cluster.replica().start().await.unwrap();
    let Serving { tls, .. } = cluster.replica().name("hooks.test").start().await.unwrap();
    let both = cluster.bundle().await;
    assert_eq!(count(&both), 2);
    assert!(connects(&tls, &both, "hooks.default.svc").await, "still the old certificate");
}
