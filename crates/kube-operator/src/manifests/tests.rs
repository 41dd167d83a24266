//! The objects, the files of each form, and what is refused.

use std::{collections::BTreeSet, fs, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        autoscaling::{v1, v2},
        core::v1::{ConfigMap, Secret},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Client};
use kube_core::{DynamicObject, Resource, admission::AdmissionRequest};
use kube_runtime::{Controller, controller::Action, reflector::ObjectRef, watcher::Config};
use serde_json::{Value, json};

use super::{File, Form, Manifests, ManifestsError, Written, offline_client};
use crate::{
    clusters::{Cluster, ClusterTriggers, OnCluster},
    manager::{Manager, Writes},
    rbac::Permissions,
    webhook::{
        FailurePolicy, Registration, Versions, Webhooks,
        certificates::{CertificateFiles, SelfSigned},
    },
};

const ALL: [Form; 3] = [Form::Yaml, Form::Kustomize, Form::Helm];
const CRD: &str = "horizontalpodautoscalers.autoscaling";

async fn check<K: Resource>(_: AdmissionRequest<K>) -> Result<(), String> {
    Ok(())
}

fn webhooks() -> Webhooks {
    Webhooks::new()
        .validate(check::<v1::HorizontalPodAutoscaler>)
        .validate(check::<v2::HorizontalPodAutoscaler>)
        .convert(Versions::<v2::HorizontalPodAutoscaler>::new().version_with(
            |old: v1::HorizontalPodAutoscaler| {
                Ok::<_, String>(v2::HorizontalPodAutoscaler { metadata: old.metadata, ..Default::default() })
            },
            |new: v2::HorizontalPodAutoscaler| {
                Ok::<_, String>(v1::HorizontalPodAutoscaler { metadata: new.metadata, ..Default::default() })
            },
        ))
}

fn crd() -> CustomResourceDefinition {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object", "description": "{{ .Values.secret }}\n\nmore" } },
        })
    };
    let names = json!({ "kind": "HorizontalPodAutoscaler", "plural": "horizontalpodautoscalers" });
    let spec = json!({
        "group": "autoscaling", "names": names, "scope": "Namespaced",
        "versions": [version("v1", false), version("v2", true)],
    });
    serde_json::from_value(json!({ "metadata": { "name": CRD }, "spec": spec })).unwrap()
}

fn self_signed(client: &Client) -> SelfSigned {
    SelfSigned::new(client.clone(), "tools", "checker").validating("checker").crd(CRD)
}

fn manager(client: Client) -> Manager {
    let maps = Api::<ConfigMap>::all(client.clone());
    let controller = Controller::new(maps.clone(), Config::default())
        .owns(Api::<Secret>::all(client.clone()), Config::default());
    Manager::new(client.clone())
        .version("1.2.3")
        .writes(&maps, Writes::Finalizers)
        .writes(&maps, Writes::OwnerReferences)
        .leader_election("checker", "tools")
        .serve_metrics(([0, 0, 0, 0], 8080))
        .webhooks(([0, 0, 0, 0], 9443), self_signed(&client), webhooks())
        .controller(
            "maps",
            controller,
            |_, _| async { Ok::<_, std::io::Error>(Action::await_change()) },
            Arc::new(()),
        )
}

fn manifests() -> Manifests {
    Manifests::new("checker", &manager(offline_client("tools"))).crd(crd())
}

fn titles(objects: &[Value]) -> Vec<String> {
    objects.iter().map(super::placement::title).collect()
}

fn find<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|it| it["kind"] == *kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn text<'a>(files: &'a [File], path: &str) -> &'a str {
    let found = files.iter().find(|file| file.path == path);
    &found
        .unwrap_or_else(|| {
            panic!("no {path} among {:?}", files.iter().map(|it| &it.path).collect::<Vec<_>>())
        })
        .text
}

fn parsed(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

#[tokio::test]
async fn the_objects_are_in_the_order_in_which_they_can_be_applied() {
    let all = manifests().network_policy(["monitoring"]).service_monitor().dashboard();
    let expected = [
        "Namespace tools",
        "CustomResourceDefinition horizontalpodautoscalers.autoscaling",
        "ServiceAccount tools/checker",
        "ClusterRole checker",
        "ClusterRoleBinding checker",
        "Role tools/checker",
        "RoleBinding tools/checker",
        "ConfigMap tools/checker-dashboard",
        "Service tools/checker",
        "Deployment tools/checker",
        "PodDisruptionBudget tools/checker",
        "NetworkPolicy tools/checker",
        "ServiceMonitor tools/checker",
        "ValidatingWebhookConfiguration checker",
    ];
    assert_eq!(titles(&all.objects().unwrap()), expected);
}

#[tokio::test]
async fn webhooks_and_conversion_are_called_where_the_manager_serves_them() {
    let objects = manifests().objects().unwrap();
    let conversion = &find(&objects, "CustomResourceDefinition")["spec"]["conversion"];
    let service = |path: &str| json!({ "namespace": "tools", "name": "checker", "port": 443, "path": path });
    assert_eq!(
        *conversion,
        json!({
            "strategy": "Webhook",
            "webhook": { "clientConfig": { "service": service("/convert") }, "conversionReviewVersions": ["v1"] },
        })
    );
    let entries = &find(&objects, "ValidatingWebhookConfiguration")["webhooks"];
    let path = "/validate-autoscaling-v1-horizontalpodautoscaler";
    assert_eq!(entries[0]["clientConfig"]["service"], service(path));
    let ports = &find(&objects, "Service")["spec"]["ports"];
    assert_eq!(
        *ports,
        json!([
            { "name": "webhook", "port": 443, "targetPort": "webhook" },
            { "name": "http", "port": 8080, "targetPort": "http" },
        ])
    );
    let container = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let ports = json!([
        { "name": "webhook", "containerPort": 9443 }, { "name": "http", "containerPort": 8080 },
    ]);
    assert_eq!(container["ports"], ports);
    assert_eq!(container["image"], "checker:1.2.3");
}

#[tokio::test]
async fn the_roles_permit_what_the_manager_does_and_no_more() {
    let objects = manifests().objects().unwrap();
    let rule = |group: &str, resources: &[&str], names: Option<&str>, verbs: &[&str]| {
        let mut rule = json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
        if let Some(name) = names {
            rule["resourceNames"] = json!([name]);
        }
        rule
    };
    let inject = ["get", "list", "patch", "watch"];
    let expected = [
        rule("", &["configmaps"], None, &inject),
        rule("", &["configmaps/finalizers"], None, &["update"]),
        rule("", &["secrets"], None, &["list", "watch"]),
        rule("admissionregistration.k8s.io", &["validatingwebhookconfigurations"], Some("checker"), &inject),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], Some(CRD), &inject),
    ];
    assert_eq!(find(&objects, "ClusterRole")["rules"], json!(expected));
    let expected = [
        rule("", &["secrets"], None, &["create"]),
        rule("", &["secrets"], Some("checker-certificate"), &["get", "update"]),
        rule("coordination.k8s.io", &["leases"], None, &["create"]),
        rule("coordination.k8s.io", &["leases"], Some("checker"), &["get", "update"]),
    ];
    assert_eq!(find(&objects, "Role")["rules"], json!(expected));
    let binding = find(&objects, "RoleBinding");
    assert_eq!(binding["roleRef"]["kind"], "Role");
    assert_eq!(
        binding["subjects"],
        json!([{ "kind": "ServiceAccount", "name": "checker", "namespace": "tools" }])
    );
}

#[tokio::test]
async fn every_form_has_the_same_objects_and_the_same_bytes_each_time() {
    let manifests =
        manifests().sample(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
    let (files, objects) = (manifests.files(ALL).unwrap(), manifests.objects().unwrap());
    assert_eq!(files, manifests.files([Form::Helm, Form::Yaml, Form::Kustomize, Form::Helm]).unwrap());
    let header = "# Generated from the code of checker: do not edit.\n";
    assert!(files.iter().all(|file| file.text.starts_with(header)));
    assert_eq!(parsed(text(&files, "install.yaml")), objects);
    let kustomization = &parsed(text(&files, "base/kustomization.yaml"))[0];
    let resources = kustomization["resources"].as_array().unwrap();
    let of_base: Vec<Value> = resources
        .iter()
        .flat_map(|name| parsed(text(&files, &format!("base/{}", name.as_str().unwrap()))))
        .collect();
    assert_eq!(of_base, objects);
    let templates: BTreeSet<_> =
        files.iter().filter_map(|file| file.path.strip_prefix("chart/templates/")).collect();
    let bases: BTreeSet<_> = resources.iter().filter_map(Value::as_str).collect();
    assert_eq!(bases.difference(&templates).copied().collect::<Vec<_>>(), ["namespace-tools.yaml"]);
    assert!(templates.is_subset(&bases));
    assert!(text(&files, "samples/v1-configmap-a.yaml").contains("kind: ConfigMap"));
}

#[tokio::test]
async fn a_chart_has_values_for_what_an_installation_decides() {
    let files = manifests().image("registry:5000/team/checker:2.0.0").files([Form::Helm]).unwrap();
    let values = &parsed(text(&files, "chart/values.yaml"))[0];
    let image = json!({
        "repository": "registry:5000/team/checker", "tag": "2.0.0", "digest": "", "pullPolicy": "IfNotPresent",
    });
    let resources =
        json!({ "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": { "memory": "256Mi" } });
    let expected =
        json!({ "crds": { "enabled": true }, "image": image, "replicas": 2, "resources": resources });
    assert_eq!(*values, expected);
    let deployment = text(&files, "chart/templates/deployment-checker.yaml");
    for line in [
        "  namespace: '{{ $.Release.Namespace }}'\n",
        "  replicas: {{ .Values.replicas }}\n",
        "        imagePullPolicy: {{ .Values.image.pullPolicy }}\n",
        "        resources: {{- toYaml .Values.resources | nindent 10 }}\n",
    ] {
        assert!(deployment.contains(line), "{line}{deployment}");
    }
    let crd =
        text(&files, "chart/templates/customresourcedefinition-horizontalpodautoscalers.autoscaling.yaml");
    assert!(crd.contains("helm.sh/resource-policy: keep\n"), "{crd}");
    assert!(crd.contains(r#"{{ "{{" }} .Values.secret }}"#), "text of a description stays text: {crd}");
    assert!(files.iter().all(|file| !file.text.contains("helm-token")));
    let about = &parsed(text(&files, "chart/Chart.yaml"))[0];
    assert_eq!((&about["version"], &about["apiVersion"]), (&json!("1.2.3"), &json!("v2")));
}

#[tokio::test]
async fn a_template_is_yaml_for_every_name_of_a_namespace() {
    let files = manifests().files([Form::Helm]).unwrap();
    for namespace in ["123", "null", "true", "1e3", "shop"] {
        let role = text(&files, "chart/templates/role-checker.yaml");
        let role = parsed(&role.replace("{{ $.Release.Namespace }}", namespace)).remove(0);
        assert_eq!(role["metadata"]["namespace"], namespace);
    }
}

#[tokio::test]
async fn a_chart_has_a_semantic_version() {
    for version in ["1.2.0", "0.0.0", "10.20.30-rc.1+linux", "1.0.0+a"] {
        manifests().version(version).files([Form::Helm]).unwrap();
    }
    for version in ["", "1", "1.2", "v1.2.0", "1.02.0", "1.2.0-", "1.2.0.1", "abc123", "1.2.x", "1.2.0+a b"] {
        let error = manifests().version(version).files([Form::Helm]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the version {version:?} of the Helm chart: expected")),
            "{error}"
        );
        manifests().version(version).files([Form::Yaml]).unwrap();
    }
}

#[tokio::test]
async fn a_chart_of_a_deployment_without_a_container_is_an_error() {
    let without =
        |edit: fn(&mut Deployment)| manifests().edit(edit).files([Form::Helm]).unwrap_err().to_string();
    let expected = "Deployment tools/checker: expected a container";
    let none = without(|deployment| deployment.spec.template.spec.as_mut().unwrap().containers.clear());
    assert_eq!(none, expected);
    assert_eq!(without(|deployment| deployment.spec.template.spec = None), none);
}

#[tokio::test]
async fn an_image_may_have_a_digest_and_no_tag() {
    let image = |image: &str| {
        let files = manifests().image(image).files([Form::Helm]).unwrap();
        let values = parsed(text(&files, "chart/values.yaml")).remove(0);
        ["repository", "tag", "digest"].map(|key| values["image"][key].as_str().unwrap().to_owned())
    };
    assert_eq!(image("a/b@sha256:00"), ["a/b", "", "sha256:00"]);
    assert_eq!(image("h:1/b:2@sha256:00"), ["h:1/b", "2", "sha256:00"]);
    assert_eq!(image("h:1/b"), ["h:1/b", "", ""]);
}

#[tokio::test]
async fn a_manager_of_some_namespaces_has_a_role_in_each() {
    let client = offline_client("tools");
    let watch = |namespace: &str| {
        Controller::new(Api::<ConfigMap>::namespaced(client.clone(), namespace), Config::default())
    };
    let run = |_, _| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let manager = Manager::new(client.clone())
        .controller("shop", watch("shop"), run, Arc::new(()))
        .controller("web", watch("web"), run, Arc::new(()));
    let manifests = Manifests::new("checker", &manager);
    let objects = manifests.objects().unwrap();
    assert!(titles(&objects).contains(&"Role shop/checker".to_owned()));
    assert!(!objects.iter().any(|object| object["kind"] == "ClusterRole"));
    let deployment = find(&objects, "Deployment");
    assert_eq!(deployment["spec"]["strategy"], json!({ "type": "Recreate" }), "it does not know of others");
    assert_eq!(deployment["spec"]["replicas"], 1);
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env[1], json!({ "name": "WATCH_NAMESPACES", "value": "shop,web" }));

    let files = manifests.files(ALL).unwrap();
    text(&files, "base/role-checker-shop.yaml");
    let values = &parsed(text(&files, "chart/values.yaml"))[0];
    assert_eq!(values["watchNamespaces"], json!(["shop", "web"]));
    let role = text(&files, "chart/templates/role-checker-watched.yaml");
    assert!(role.contains("{{- range .Values.watchNamespaces }}\n---\n"), "{role}");
    assert!(role.contains("namespace: '{{ . }}'\n"), "{role}");
    let deployment = text(&files, "chart/templates/deployment-checker.yaml");
    let list = r#"{{ if .Values.watchNamespaces }}{{ join "," .Values.watchNamespaces | quote }}{{ else }}"#;
    let none = r#"{{ fail "watchNamespaces: expected at least one namespace" }}{{ end }}"#;
    assert!(deployment.contains(&format!("value: {list}{none}\n")), "{deployment}");
}

#[tokio::test]
async fn a_manager_of_its_own_namespace_and_others_is_told_all() {
    let client = offline_client("tools");
    let watch = |namespace: &str| {
        Controller::new(Api::<ConfigMap>::namespaced(client.clone(), namespace), Config::default())
    };
    let run = |_, _| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let manager = Manager::new(client.clone()).controller("web", watch("web"), run, Arc::new(())).controller(
        "own",
        watch("tools"),
        run,
        Arc::new(()),
    );
    let manifests = Manifests::new("checker", &manager);
    let objects = manifests.objects().unwrap();
    let env = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env[1], json!({ "name": "WATCH_NAMESPACES", "value": "tools,web" }));
    let files = manifests.files([Form::Helm]).unwrap();
    assert_eq!(parsed(text(&files, "chart/values.yaml"))[0]["watchNamespaces"], json!(["web"]));
    let deployment = text(&files, "chart/templates/deployment-checker.yaml");
    let expected = r#"value: {{ join "," (prepend .Values.watchNamespaces .Release.Namespace) | quote }}"#;
    assert!(deployment.contains(expected), "{deployment}");
}

#[tokio::test]
async fn a_webhook_does_not_keep_the_manager_from_its_leases() {
    let of = |leases: &str, policy: FailurePolicy| {
        let client = offline_client("tools");
        let reviewed =
            Registration::new().resources("coordination.k8s.io", ["v1"], ["leases"]).failure_policy(policy);
        let hooks =
            Webhooks::new().validate_at("/leases", check::<DynamicObject>).registration("/leases", reviewed);
        let certificate = SelfSigned::new(client.clone(), "tools", "checker").validating("checker");
        let manager = Manager::new(client).leader_election("checker", leases);
        let manager = manager.webhooks(([0, 0, 0, 0], 9443), certificate, hooks);
        Manifests::new("checker", &manager).objects()
    };
    let objects = of("tools", FailurePolicy::Fail).unwrap();
    let selector = &find(&objects, "ValidatingWebhookConfiguration")["webhooks"][0]["namespaceSelector"];
    assert_eq!(selector["matchExpressions"][0]["values"], json!(["tools"]));
    of("elsewhere", FailurePolicy::Ignore).unwrap();
    let error = of("elsewhere", FailurePolicy::Fail).unwrap_err().to_string();
    let expected = "the webhook leases.validate.checker reviews Leases, and those of the manager are in elsewhere: \
                    expected them in tools, which it leaves out, or FailurePolicy::Ignore";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_network_policy_lets_the_program_reach_api_servers() {
    let ports = |manifests: &Manifests| {
        let objects = manifests.objects().unwrap();
        let ports = &find(&objects, "NetworkPolicy")["spec"]["egress"][1]["ports"];
        let ports = ports.as_array().unwrap().iter().map(|port| port["port"].as_u64().unwrap());
        ports.collect::<Vec<_>>()
    };
    let manifests = || manifests().network_policy(["monitoring"]);
    assert_eq!(ports(&manifests()), [443, 6443, 8443, 16443]);
    let own = manifests().api_server_ports([443, 12345]);
    assert_eq!(ports(&own), [443, 12345]);
    let files = own.files([Form::Helm]).unwrap();
    let policy = text(&files, "chart/templates/networkpolicy-checker.yaml");
    let range = "  - ports: {{- range .Values.networkPolicy.apiServerPorts }}\n    - port: {{ . }}\n      protocol: TCP\n    {{- else }}{{ fail ";
    assert!(policy.contains(range), "{policy}");
    let values = parsed(text(&files, "chart/values.yaml")).remove(0);
    assert_eq!(values["networkPolicy"], json!({ "enabled": true, "apiServerPorts": [443, 12345] }));
    for (ports, shown) in [(vec![], "[]"), (vec![443, 0], "[443, 0]")] {
        let error = manifests().api_server_ports(ports).objects().unwrap_err().to_string();
        let expected = "expected at least one, and numbers from 1";
        assert_eq!(error, format!("the ports of API servers are {shown}: {expected}"));
    }
}

#[tokio::test]
async fn a_program_may_write_to_folders_that_begin_empty() {
    let with = |paths: &[&str]| {
        let manager = manager(offline_client("tools")).webhooks(
            ([0, 0, 0, 0], 9443),
            CertificateFiles::new("/certs"),
            webhooks(),
        );
        let manifests = Manifests::new("checker", &manager).crd(crd());
        paths.iter().fold(manifests, |manifests, path| manifests.empty_dir(*path)).objects()
    };
    let objects = with(&["/tmp", "/var/cache/checker"]).unwrap();
    let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][1], json!({ "name": "empty-dir-0", "emptyDir": {} }));
    let mount = json!({ "name": "empty-dir-1", "mountPath": "/var/cache/checker" });
    assert_eq!(pod["containers"][0]["volumeMounts"][2], mount);
    assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
    for (paths, expected) in [
        (&["tmp"][..], "absolute path"),
        (&["/"], "absolute path"),
        (&["/a:b"], "absolute path"),
        (&["/tmp", "/tmp/"], "not mounted yet"),
        (&["/certs/new"], "not mounted yet"),
    ] {
        let error = with(paths).unwrap_err().to_string();
        assert!(error.contains("empty_dir(") && error.contains(expected), "{paths:?}: {error}");
    }
}

#[tokio::test]
async fn a_certificate_in_files_is_one_of_cert_manager() {
    let with = |certificate: CertificateFiles| {
        let manager =
            manager(offline_client("tools")).webhooks(([0, 0, 0, 0], 9443), certificate, webhooks());
        Manifests::new("checker", &manager).crd(crd())
    };
    let objects = with(CertificateFiles::new("/certs")).objects().unwrap();
    let certificate = &find(&objects, "Certificate")["spec"];
    assert_eq!(certificate["secretName"], "checker-certificate");
    assert_eq!(certificate["issuerRef"], json!({ "kind": "Issuer", "name": "checker" }));
    assert_eq!(certificate["dnsNames"][0], "checker.tools.svc");
    find(&objects, "Issuer");
    for kind in ["CustomResourceDefinition", "ValidatingWebhookConfiguration"] {
        let annotations = &find(&objects, kind)["metadata"]["annotations"];
        assert_eq!(annotations["cert-manager.io/inject-ca-from"], "tools/checker");
    }
    let pod = &find(&objects, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], "checker-certificate");
    let mount = json!({ "name": "certificate", "mountPath": "/certs", "readOnly": true });
    assert_eq!(pod["containers"][0]["volumeMounts"][0], mount);
    assert!(
        !find(&objects, "Role")["rules"].to_string().contains("secrets"),
        "cert-manager writes the Secret"
    );

    let objects = with(CertificateFiles::new("/certs")).issuer("ClusterIssuer", "ca").objects().unwrap();
    assert!(!objects.iter().any(|object| object["kind"] == "Issuer"));
    assert_eq!(find(&objects, "Certificate")["spec"]["issuerRef"]["name"], "ca");

    let error = with(CertificateFiles::of("/certs/server.pem", "/certs/tls.key")).objects().unwrap_err();
    assert!(error.to_string().starts_with("the certificate files /certs/server.pem and /certs/tls.key: "));
}

#[tokio::test]
async fn parts_that_do_not_fit_together_are_an_error_that_names_them() {
    let client = || offline_client("tools");
    let of = |manager: &Manager| Manifests::new("checker", manager).crd(crd());
    let error = |manifests: Manifests| manifests.objects().unwrap_err().to_string();
    let served =
        |certificate: SelfSigned| manager(client()).webhooks(([0, 0, 0, 0], 9443), certificate, webhooks());

    let no_crd = Manifests::new("checker", &manager(client()));
    let expected =
        "the manager converts HorizontalPodAutoscaler.autoscaling: expected its CRD, by Manifests::crd";
    assert_eq!(error(no_crd), expected);
    let expected = "the self-signed certificate does not write its CA into ValidatingWebhookConfiguration checker: \
                    expected SelfSigned::validating(\"checker\")";
    assert_eq!(error(of(&served(SelfSigned::new(client(), "tools", "checker").crd(CRD)))), expected);
    let expected = "the self-signed certificate is for the Service tools/other: expected tools/checker";
    assert_eq!(error(of(&served(SelfSigned::new(client(), "tools", "other").crd(CRD)))), expected);
    let alone = Manager::new(client());
    let expected = "2 replicas: expected a manager with leader_election or sharding: all of them would write";
    assert_eq!(error(of(&alone).replicas(2)), expected);
    assert_eq!(error(of(&alone).replicas(-1)), "-1 replicas: expected 0 or more");
    let any_port = Manager::new(client()).serve_metrics(([0, 0, 0, 0], 0));
    assert!(error(of(&any_port)).starts_with("the manager serves http at port 0"));
    let served = || served(SelfSigned::new(client(), "tools", "checker").validating("checker").crd(CRD));
    for port in [9443_u16, 443] {
        let expected =
            format!("the manager serves webhook and http at port {port}: expected different ports");
        let same = error(of(&served().serve_metrics(([0, 0, 0, 0], port))));
        assert!(same.starts_with(&expected), "{same}");
    }
    assert!(error(of(&alone).service_monitor()).starts_with("a ServiceMonitor without metrics"));
    assert!(error(of(&alone).edit(|_: &mut Secret| ())).starts_with("an edit is for Secret of v1"));
    assert!(error(of(&alone).crd(crd())).contains("expected one of this kind and name, found two"));
    assert!(
        error(Manifests::new("My_Operator", &alone))
            .starts_with("the name of the operator is \"My_Operator\"")
    );
    let nowhere = Manager::new(offline_client("A_b"));
    assert!(
        error(Manifests::new("checker", &nowhere))
            .starts_with("the namespace of the manager's client is \"A_b\"")
    );

    let mut third = crd();
    let mut version = third.spec.versions[0].clone();
    version.name = "v3".into();
    third.spec.versions.push(version);
    let manager = manager(client());
    let expected = format!("no validating webhook sees version v3 of {CRD}");
    let unseen = error(Manifests::new("checker", &manager).crd(third.clone()));
    assert!(unseen.starts_with(&expected), "{unseen}");
    third.spec.versions[2].served = false;
    Manifests::new("checker", &manager).crd(third).objects().unwrap();

    let nameless = of(&alone).sample(&json!({ "kind": "A" })).files([]).unwrap_err().to_string();
    assert!(nameless.contains("expected apiVersion, kind and metadata.name"), "{nameless}");
}

/// A manager that works on the ConfigMaps of members, whose Secrets in one namespace have objects of the hub reconciled.
fn manager_of_members() -> Manager {
    let run =
        |_: Arc<ConfigMap>, _: Arc<OnCluster<()>>| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let maps = |cluster: &Cluster| Api::<ConfigMap>::all(cluster.client());
    let secrets =
        |cluster: &Cluster| (Api::<Secret>::default_namespaced(cluster.client()), Config::default());
    let triggers = ClusterTriggers::<ConfigMap>::new();
    let of_secret = |_: &Cluster, _: &Secret| None::<ObjectRef<ConfigMap>>;
    Manager::new(offline_client("tools"))
        .controller_on_each(
            "maps",
            move |cluster| Controller::new(maps(cluster), Config::default()),
            run,
            Arc::new(()),
        )
        .trigger_hub("secrets", secrets, &triggers, of_secret)
        .writes_on_each(maps, Writes::Objects)
}

/// What a member gets, as it is written.
const MEMBER: &str = "\
# Generated from the code of checker: do not edit.
apiVersion: v1
kind: Namespace
metadata:
  name: fleet
---
apiVersion: v1
kind: ServiceAccount
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: checker
  namespace: fleet
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: fleet:checker
rules:
- apiGroups:
  - \"\"
  resources:
  - configmaps
  verbs:
  - create
  - get
  - list
  - patch
  - watch
- apiGroups:
  - \"\"
  resourceNames:
  - kube-system
  resources:
  - namespaces
  verbs:
  - get
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: fleet:checker
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: fleet:checker
subjects:
- kind: ServiceAccount
  name: checker
  namespace: fleet
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: fleet:checker
  namespace: fleet
rules:
- apiGroups:
  - \"\"
  resources:
  - secrets
  verbs:
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: fleet:checker
  namespace: fleet
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: fleet:checker
subjects:
- kind: ServiceAccount
  name: checker
  namespace: fleet
";

#[tokio::test]
async fn members_have_roles_of_their_own() {
    let manager = manager_of_members();
    let of_hub = Manifests::new("checker", &manager);
    assert!(of_hub.files(ALL).unwrap().iter().all(|file| !file.path.starts_with("members/")));
    assert!(of_hub.granted_on_members().unwrap().is_empty());

    let manifests = of_hub.clone().for_members("fleet");
    let files = manifests.files(ALL).unwrap();
    assert_eq!(text(&files, "members/install.yaml"), MEMBER);
    assert_eq!(parsed(text(&files, "members/kustomization.yaml"))[0]["resources"], json!(["install.yaml"]));
    let files = manifests.files([Form::Helm]).unwrap();
    assert_eq!(text(&files, "members/install.yaml"), MEMBER, "in each form");
    assert!(!files.iter().any(|file| file.path == "members/kustomization.yaml"));

    // Nothing of one is for the other.
    assert_eq!(manifests.objects().unwrap(), of_hub.objects().unwrap());
    assert!(manifests.granted().is_empty());
    let further = of_hub.clone().for_members("fleet").permissions_on_members(of_leases());
    assert!(further.granted().is_empty());
    let roles = further.member_objects().unwrap();
    assert!(find(&roles, "Role")["rules"].to_string().contains("leases"), "{roles:?}");
}

/// What a manager with leader election in the namespace `fleet` requests.
fn of_leases() -> Permissions {
    let manager = Manager::new(offline_client("fleet")).leader_election("checker", "fleet");
    Manifests::new("checker", &manager).granted()
}

/// A cluster may be a member of two hubs with one program each, and the hub of a third one.
#[tokio::test]
async fn roles_of_operators_of_one_name_on_one_member_are_apart() {
    let manager =
        manager_of_members().writes(&Api::<ConfigMap>::all(offline_client("tools")), Writes::Objects);
    let manifests = Manifests::new("checker", &manager);
    let roles = |objects: Vec<Value>| -> Vec<String> {
        let is_role = |object: &&Value| object["kind"].as_str().unwrap().contains("Role");
        objects
            .iter()
            .filter(is_role)
            .map(|role| format!("{} {}", role["kind"], role["metadata"]["name"]))
            .collect()
    };
    let of_members =
        |namespace: &str| roles(manifests.clone().for_members(namespace).member_objects().unwrap());
    let all = [roles(manifests.objects().unwrap()), of_members("one"), of_members("two")].concat();
    let apart: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!((apart.len(), all.len()), (10, 10), "{all:?}");
}

#[tokio::test]
async fn manifests_for_members_that_cannot_be_made_are_one_error() {
    let error = |manifests: Manifests| manifests.files([Form::Yaml]).unwrap_err().to_string();
    let alone = Manifests::new("checker", &Manager::new(offline_client("tools")));
    let expected = "there are manifests for members: \
                    expected a manager with controller_on_each, reconciler_on_each, trigger_hub or writes_on_each";
    assert_eq!(error(alone.clone().for_members("fleet")), expected);
    let expected = "there are permissions on members: expected Manifests::for_members";
    assert_eq!(error(alone.permissions_on_members(of_leases())), expected);
    let of_members = || Manifests::new("checker", &manager_of_members());
    let invalid = error(of_members().for_members("Fleet"));
    assert!(invalid.starts_with("the namespace on members is \"Fleet\": expected"), "{invalid}");
    let panics = Manager::new(offline_client("tools")).writes_on_each(
        |cluster| Api::<ConfigMap>::namespaced(cluster.client(), &cluster.labels()["namespace"]),
        Writes::Objects,
    );
    let panicked = error(Manifests::new("checker", &panics).for_members("fleet"));
    assert!(panicked.starts_with("the controllers of members: expected functions that can "), "{panicked}");
}

#[tokio::test]
async fn an_edit_changes_what_has_no_setting() {
    let edited = manifests().edit(|deployment: &mut Deployment| {
        deployment.spec.template.spec.as_mut().unwrap().containers[0].image = Some("other:1".into());
    });
    let objects = edited.objects().unwrap();
    let image = &find(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "other:1");
    let values = &parsed(text(&edited.files([Form::Helm]).unwrap(), "chart/values.yaml"))[0];
    assert_eq!(values["image"]["repository"], "other", "of an edit, too");
}

#[tokio::test]
async fn only_generated_files_are_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let manifests = manifests();
    let all = manifests.write(folder.path(), ALL).unwrap();
    assert_eq!(all.written.len(), manifests.files(ALL).unwrap().len());
    assert_eq!(manifests.write(folder.path(), ALL).unwrap(), Written::default(), "nothing is to be done");
    manifests.check(folder.path(), ALL).unwrap();

    fs::create_dir(path("overlay")).unwrap();
    fs::write(path("overlay/kustomization.yaml"), "resources: [../base]\n").unwrap();
    fs::write(path("base/mine.yaml"), "# Generated from the code of another: do not edit.\n").unwrap();
    fs::write(path("install.yaml"), "# Generated from the code of checker: do not edit.\r\nold\n").unwrap();
    fs::remove_file(path("chart/values.yaml")).unwrap();
    let outdated = manifests.check(folder.path(), [Form::Yaml, Form::Helm]).unwrap_err().to_string();
    for file in [
        "install.yaml (differs)",
        "chart/values.yaml (missing)",
        "base/kustomization.yaml (generated no more)",
    ] {
        assert!(outdated.contains(file), "{outdated}");
    }
    let written = manifests.write(folder.path(), [Form::Yaml, Form::Helm]).unwrap();
    assert_eq!(written.written, ["chart/values.yaml", "install.yaml"]);
    assert!(written.removed.contains(&"base/kustomization.yaml".to_owned()));
    assert!(path("overlay/kustomization.yaml").exists() && path("base/mine.yaml").exists());
    let removed = manifests.write(folder.path(), []).unwrap().removed;
    assert!(removed.contains(&"install.yaml".to_owned()) && !path("chart").exists(), "empty folders go, too");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no temporary file stays: {left:?}");
}

#[tokio::test]
async fn another_file_in_the_way_is_an_error_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("chart")).unwrap();
    let mine = folder.path().join("chart/values.yaml");
    fs::write(&mine, "replicas: 5\n").unwrap();
    let error = manifests().write(folder.path(), ALL).unwrap_err();
    assert!(matches!(&error, ManifestsError::Foreign { path, .. } if *path == mine), "{error}");
    let text = "was not generated, and is not replaced: expected no file, or one whose first line is \
                \"# Generated from the code of checker: do not edit.\"";
    assert!(error.to_string().ends_with(text), "{error}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "replicas: 5\n");
    assert!(!folder.path().join("install.yaml").exists() && !folder.path().join("base").exists());

    // A folder where a file is to be.
    fs::remove_file(&mine).unwrap();
    fs::create_dir(&mine).unwrap();
    let error = manifests().write(folder.path(), ALL).unwrap_err();
    assert!(matches!(&error, ManifestsError::Io { path, .. } if *path == mine), "{error}");
}
