//! Unknown and duplicate fields: what is reported, and in which order. The expected texts are those of Kubernetes 1.37.

use crate::client::*;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const TYPED: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","first":1,"metadata":{"name":"a","name":"b","zz":1},
    "spec":{"unknownField":{"x":1,"x":2},"unknownField":"v","replicas":1,"replicas":2,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b","a":"b"}},"spec":{"xx":1,"containers":[{"name":"c","image":"i","yy":1,"image":"j"}]}}},
    "first":2,"kind":"Deployment"}"#;
const TYPED_PROBLEMS: [&str; 10] = [
    r#"unknown field "first""#,
    r#"duplicate field "metadata.name""#,
    r#"unknown field "metadata.zz""#,
    r#"unknown field "spec.unknownField""#,
    r#"duplicate field "spec.replicas""#,
    r#"duplicate field "spec.template.metadata.labels.a""#,
    r#"unknown field "spec.template.spec.xx""#,
    r#"unknown field "spec.template.spec.containers[0].yy""#,
    r#"duplicate field "spec.template.spec.containers[0].image""#,
    r#"duplicate field "kind""#,
];

/// The warnings as texts.
fn warnings(reply: &Reply) -> Vec<String> {
    let text = |value: &str| {
        let quoted = value.strip_prefix("299 - \"").and_then(|rest| rest.strip_suffix('"'));
        quoted.unwrap().replace("\\\"", "\"")
    };
    reply.warnings().into_iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn typed_objects_report_in_the_order_of_the_text() {
    let client = TestClient::new();
    let json = [("content-type", "application/json")];
    let strict = client.send("POST", &format!("{DEPLOYMENTS}?fieldValidation=Strict"), &json, TYPED).await;
    let message = strict.refused(400, "BadRequest");
    let problems = TYPED_PROBLEMS.join(", ");
    assert_eq!(
        message,
        format!(
            "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: {problems}"
        )
    );
    let lenient = client.send("POST", DEPLOYMENTS, &json, TYPED).await;
    assert_eq!((lenient.code.as_u16(), warnings(&lenient)), (201, TYPED_PROBLEMS.map(String::from).to_vec()));
}

#[tokio::test(start_paused = true)]
async fn custom_resources_report_duplicates_then_metadata_then_the_rest() {
    let client = with_widgets().await;
    let body = r#"{"apiVersion":"rig.test/v1","kind":"Widget","zz":1,"metadata":{"name":"a","name":"b","yy":1},
        "spec":{"q":1,"color":"a","color":"b","q":3,"c":1},"aa":1}"#;
    let json = [("content-type", "application/json")];
    let message = client
        .send("POST", &format!("{WIDGETS}?fieldValidation=Strict"), &json, body)
        .await
        .refused(400, "BadRequest");
    let wanted = r#"duplicate field "metadata.name", duplicate field "spec.color", duplicate field "spec.q", unknown field "metadata.yy", unknown field "aa", unknown field "spec.c", unknown field "spec.q", unknown field "zz""#;
    assert_eq!(message.split_once("strict decoding error: ").unwrap().1, wanted);
}

#[tokio::test(start_paused = true)]
async fn patches_report_duplicates_of_the_patch_and_unknown_fields_of_the_result() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("strict")).await.ok();
    let path = format!("{CONFIG_MAPS}/strict?dryRun=All&fieldValidation");
    let merge =
        r#"{"zz":1,"data":{"a":"1","a":"2"},"metadata":{"yy":1,"labels":{"a":"b","a":"c"}},"zz":2,"bb":1}"#;
    let merged = r#"duplicate field "data.a", duplicate field "metadata.labels.a", duplicate field "zz", unknown field "bb", unknown field "metadata.yy", unknown field "zz""#;
    let operations = r#"[{"op":"add","path":"/zz","value":1,"value":2,"foo":1},{"op":"add","path":"/aa","value":{"x":1,"x":2}}]"#;
    let patched = r#"json patch duplicate field "[0].value", json patch unknown field "[0].foo", json patch duplicate field "[1].value.x", unknown field "aa", unknown field "zz""#;
    for (kind, patch, wanted) in [
        (MERGE, merge, merged),
        ("application/strategic-merge-patch+json", merge, merged),
        (JSON, operations, patched),
    ] {
        let media = [("content-type", kind)];
        let message =
            client.send("PATCH", &format!("{path}=Strict"), &media, patch).await.refused(422, "Invalid");
        assert_eq!(message.split_once("strict decoding error: ").unwrap().1, wanted, "{kind}");
        let lenient = client.send("PATCH", &format!("{path}=Warn"), &media, patch).await;
        assert_eq!(
            (lenient.code.as_u16(), warnings(&lenient).join(", ")),
            (200, wanted.to_owned()),
            "{kind}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn yaml_reports_repeated_keys_by_line() {
    let client = TestClient::new();
    let text = "apiVersion: v1\nkind: ConfigMap\nzz: 1\nmetadata: {name: yy, labels: {a: b, a: c, a: d}}\ndata:\n  a: \"1\"\n  a: \"2\"\n";
    let (labels, data) = ("line 4: key \"a\" already set in map", "line 7: key \"a\" already set in map");
    let errors = format!("yaml: unmarshal errors:\n  {labels}\n  {labels}\n  {data}");
    let unknown = "unknown field \"zz\"";
    let yaml = [("content-type", "application/yaml")];
    let strict = client.send("POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict"), &yaml, text).await;
    let message = strict.refused(400, "BadRequest");
    assert_eq!(message.split_once("strict decoding error: ").unwrap().1, format!("{errors}, {unknown}"));
    let lenient = client.send("POST", &format!("{CONFIG_MAPS}?dryRun=All"), &yaml, text).await;
    assert_eq!(
        (lenient.code.as_u16(), warnings(&lenient)),
        (201, [labels, data, unknown].map(String::from).to_vec())
    );
    assert_eq!(
        (&lenient.body["data"]["a"], &lenient.body["metadata"]["labels"]["a"]),
        (&"2".into(), &"d".into())
    );

    let known = text.replace("zz: 1", "# zz");
    let apply = async |validation: &str| {
        let path = format!("{CONFIG_MAPS}/yy?fieldManager=m&dryRun=All&fieldValidation={validation}");
        client.send("PATCH", &path, &[("content-type", APPLY)], known.clone()).await
    };
    let message = apply("Strict").await.refused(400, "BadRequest");
    assert_eq!(message, format!("error strict decoding patch: error converting YAML to JSON: {errors}"));
    assert_eq!(warnings(&apply("Warn").await), [labels, data]);
    assert!(apply("Ignore").await.warnings().is_empty());
}
