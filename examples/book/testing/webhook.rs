//! A webhook: the server calls it over HTTPS, as a cluster does.

// ANCHOR: all
use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration,
    core::v1::{ConfigMap, Endpoints, Service},
};
use kube::operator::webhook::{Denial, WebhookServer, Webhooks, certificates::SelfSigned, validate_path};
use kube::{Api, Client, Error, api::PostParams, core::admission::AdmissionRequest};
use kube_testserver::TestServer;
use serde_json::json;

/// The rule under test: the size of a ConfigMap is a number.
async fn validate(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
    let size = request.object.and_then(|map| map.data?.remove("size"));
    match size.map(|size| size.parse::<u32>()) {
        Some(Err(_)) => Err(Denial::invalid("data.size", "must be a number")),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn a_size_that_is_no_number_is_refused() {
    let client = Client::new(TestServer::service(), "default");
    let params = PostParams::default();
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}]);
    let service = json!({"namespace": "default", "name": "sizes", "path": validate_path::<ConfigMap>()});
    let configuration = json!({"metadata": {"name": "sizes"}, "webhooks": [{"name": "sizes.example.com", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "rules": rules, "clientConfig": {"service": service}}]});
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(configuration).unwrap();
    Api::all(client.clone()).create(&params, &configuration).await.unwrap();

    // Writes its CA to the configuration.
    let certificate = SelfSigned::new(client.clone(), "default", "sizes").validating("sizes");
    let webhooks = Webhooks::new().validate(validate);
    let server = WebhookServer::bind(([127, 0, 0, 1], 0).into(), webhooks, certificate).await.unwrap();
    let port = server.local_addr().port();
    let serving = tokio::spawn(server.serve(std::future::pending()));

    // On a cluster, the Service selects the pods of the operator.
    let service: Service = serde_json::from_value(
        json!({"metadata": {"name": "sizes"}, "spec": {"ports": [{"port": 443, "targetPort": port}]}}),
    )
    .unwrap();
    let subset = json!({"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]});
    let endpoints: Endpoints =
        serde_json::from_value(json!({"metadata": {"name": "sizes"}, "subsets": [subset]})).unwrap();
    Api::default_namespaced(client.clone()).create(&params, &service).await.unwrap();
    Api::default_namespaced(client.clone()).create(&params, &endpoints).await.unwrap();

    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = |size: &str| {
        serde_json::from_value(json!({"metadata": {"name": "box"}, "data": {"size": size}})).unwrap()
    };
    match maps.create(&params, &map("large")).await {
        Err(Error::Api(status)) => {
            assert_eq!(
                status.message,
                "admission webhook \"sizes.example.com\" denied the request: ConfigMap \"box\" is invalid: data.size: must be a number"
            );
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    maps.create(&params, &map("5")).await.unwrap();
    serving.abort();
}
// ANCHOR_END: all
