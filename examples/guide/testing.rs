//! Chapter "Testing". The unit tests and the mock server test also run.

use super::prelude::*;

mod unit {
    use super::*;
    // Separate the logic only
    fn desired_configmap(obj: &MyResource) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(format!("{}-config", obj.name_any())),
                namespace: obj.namespace(),
                owner_references: Some(vec![obj.controller_owner_ref(&()).unwrap()]),
                ..Default::default()
            },
            data: Some(BTreeMap::from([
                ("key".into(), obj.spec.value.clone()),
            ])),
            ..Default::default()
        }
    }

    #[test]
    fn test_desired_configmap_name() {
        let mut obj = MyResource::new("test", MySpec { value: "hello".into() });
        obj.metadata.uid = Some("1".into());
        let cm = desired_configmap(&obj);
        assert_eq!(cm.metadata.name.unwrap(), "test-config");
    }

    #[test]
    fn test_desired_configmap_owner_ref() {
        let mut obj = MyResource::new("test", MySpec { value: "hello".into() });
        obj.metadata.uid = Some("1".into());
        let cm = desired_configmap(&obj);
        let refs = cm.metadata.owner_references.unwrap();
        assert_eq!(refs.len(), 1);
        assert_eq!(refs[0].kind, "MyResource");
    }
}

fn test_resource() -> MyResource {
    let mut resource = MyResource::new("test", MySpec { value: "expected-value".into() });
    resource.metadata.namespace = Some("default".into());
    resource
}

mod mocked {
    use super::*;

    fn not_found_status() -> kube::core::Status {
        kube::core::Status::failure("configmaps \"test-config\" not found", "NotFound").with_code(404)
    }

    fn configmap() -> ConfigMap {
        ConfigMap { metadata: ObjectMeta { name: Some("test-config".into()), ..ObjectMeta::default() }, ..ConfigMap::default() }
    }

    use tower_test::mock;
    use kube::Client;
    use http::{Request, Response};
    use kube::client::Body;

    #[tokio::test]
    async fn test_reconcile_creates_configmap() {
        let (mock_service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let mock_client = Client::new(mock_service, "default");

        // Task acting as the API server
        let api_server = tokio::spawn(async move {
            // First request: GET ConfigMap (404 — does not exist, so it needs to be created)
            let (request, send_response) = handle.next_request().await.unwrap();
            assert!(request.uri().path().contains("/configmaps/test-config"));
            send_response.send_response(
                Response::builder()
                    .status(404)
                    .body(Body::from(serde_json::to_vec(
                        &not_found_status() // test helper — creates a 404 Status object
                    ).unwrap()))
                    .unwrap()
            );

            // Second request: PATCH ConfigMap (creation)
            let (request, send_response) = handle.next_request().await.unwrap();
            assert_eq!(request.method(), http::Method::PATCH);
            send_response.send_response(
                Response::new(Body::from(serde_json::to_vec(
                    &configmap() // test helper — creates the expected ConfigMap object
                ).unwrap()))
            );
        });

        let ctx = Arc::new(Context { client: mock_client });
        let obj = Arc::new(test_resource()); // test helper — creates a MyResource test object
        let result = reconcile(obj, ctx).await;
        assert!(result.is_ok());

        api_server.await.unwrap();
    }
}

mod integration {
    use super::*;
    use kube::runtime::wait::await_condition;

    async fn test_reconcile_creates_resources() {
        let client = Client::try_default().await.unwrap();
        let api = Api::<MyResource>::namespaced(client.clone(), "default");

        // Create the resource
        api.create(&PostParams::default(), &test_resource()).await.unwrap();

        // Wait for state convergence
        let cond = await_condition(api.clone(), "test", |obj: Option<&MyResource>| {
            obj.and_then(|o| o.status.as_ref())
               .map(|s| s.phase == "Ready")
               .unwrap_or(false)
        });
        tokio::time::timeout(Duration::from_secs(30), cond)
            .await
            .expect("timeout waiting for Ready")
            .expect("watch error");

        // Verify child resources
        let cm_api = Api::<ConfigMap>::namespaced(client, "default");
        let cm = cm_api.get("test-config").await.expect("ConfigMap not found");
        assert_eq!(cm.data.unwrap()["key"], "expected-value");

        // Cleanup
        api.delete("test", &DeleteParams::default()).await.unwrap();
    }
}
