//! A Helm chart: the same objects, with values in place of what an installation decides.
//!
//! The objects are made with tokens where a value belongs, written as YAML, and the tokens are replaced by expressions of Go's templates.
//! So a template differs from the plain manifest in nothing else, and text of the objects that looks like an expression is escaped before.

use serde_json::{Map, Value, json};

use super::{
    error::ManifestsError,
    file::{File, file, file_name},
    objects::objects,
    placement::{Placement, title},
    settings::Manifests,
    text::yaml,
};

/// Tokens are valid wherever they stand: names of namespaces above all. No object has them otherwise.
const NAMESPACE: &str = "helm-token-release-namespace";
const WATCHED: &str = "helm-token-watched-namespace";
const WATCHED_TEXT: &str = "helm-token-watched-namespaces";
const OWN_AND_WATCHED_TEXT: &str = "helm-token-own-and-watched-namespaces";
const IMAGE: &str = "helm-token-image";
const PULL_POLICY: &str = "helm-token-pull-policy";
const REPLICAS: &str = "helm-token-replicas";
const RESOURCES: &str = "helm-token-resources";
const API_SERVERS: &str = "helm-token-api-servers";

/// Longer tokens come before those that are their beginning.
const EXPRESSIONS: [(&str, &str); 9] = [
    (OWN_AND_WATCHED_TEXT, r#"{{ join "," (prepend .Values.watchNamespaces .Release.Namespace) | quote }}"#),
    // What an empty list would mean is said instead: a program that watches everything, or nothing, and below one that reaches everything.
    (
        WATCHED_TEXT,
        r#"{{ if .Values.watchNamespaces }}{{ join "," .Values.watchNamespaces | quote }}{{ else }}{{ fail "watchNamespaces: expected at least one namespace" }}{{ end }}"#,
    ),
    (WATCHED, "{{ . }}"),
    (NAMESPACE, "{{ $.Release.Namespace }}"),
    (
        IMAGE,
        r#"{{ with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}"#,
    ),
    (PULL_POLICY, "{{ .Values.image.pullPolicy }}"),
    (REPLICAS, "{{ .Values.replicas }}"),
    (RESOURCES, "{{- toYaml .Values.resources | nindent 10 }}"),
    (
        API_SERVERS,
        "{{- range .Values.networkPolicy.apiServerPorts }}\n    - port: {{ . }}\n      protocol: TCP\n    {{- else }}{{ fail \"networkPolicy.apiServerPorts: expected at least one port\" }}{{ end }}",
    ),
];

pub(super) fn chart(manifests: &Manifests) -> Result<Vec<File>, ManifestsError> {
    if !is_semantic(&manifests.version) {
        let what = format!("the version {:?} of the Helm chart", manifests.version);
        return Err(ManifestsError::inconsistent(
            what,
            "expected a semantic version such as 1.2.0, by Manifests::version",
        ));
    }
    let watched = &manifests.facts.watched_namespaces;
    let placement = Placement {
        namespace: NAMESPACE.into(),
        watched: watched.iter().map(|it| (it.clone(), WATCHED.into())).collect(),
        watched_text: match manifests.facts.watches_own_namespace {
            true => OWN_AND_WATCHED_TEXT.into(),
            false => WATCHED_TEXT.into(),
        },
    };
    let mut values = Map::new();
    let mut files = Vec::new();
    for mut object in objects(manifests, &placement)? {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        // Helm has its own option for it.
        if kind == "Namespace" {
            continue;
        }
        if kind == "Deployment" && object["metadata"]["name"] == *manifests.name {
            deployment(&mut object, &manifests.facts.namespace, &mut values)?;
        }
        if kind == "NetworkPolicy" && object["metadata"]["name"] == *manifests.name {
            network_policy(&mut object, manifests);
        }
        if kind == "CustomResourceDefinition" {
            // Uninstalling a release would delete every object of the kind.
            object["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep".into();
        }
        let name = file_name(&object, NAMESPACE).replace(WATCHED, "watched");
        let mut text = template(&yaml(&object)?);
        if object["metadata"]["namespace"] == WATCHED {
            text = format!("{{{{- range .Values.watchNamespaces }}}}\n---\n{text}{{{{- end }}}}\n");
        }
        if let Some(value) = switch(&kind) {
            let ports =
                text.contains(".Values.networkPolicy.apiServerPorts").then_some(&manifests.api_server_ports);
            values.insert(value.into(), enabled(ports));
            text = format!("{{{{- if .Values.{value}.enabled }}}}\n{text}{{{{- end }}}}\n");
        }
        files.push(file(manifests, format!("chart/templates/{name}"), &text));
    }
    if !watched.is_empty() {
        values.insert("watchNamespaces".into(), json!(watched));
    }
    let about = json!({
        "apiVersion": "v2",
        "name": manifests.name,
        "description": format!("Installs {}", manifests.name),
        "type": "application",
        "version": manifests.version,
        "appVersion": manifests.version,
    });
    files.push(file(manifests, "chart/Chart.yaml", &yaml(&about)?));
    files.push(file(manifests, "chart/values.yaml", &yaml(&Value::Object(values))?));
    Ok(files)
}

/// The value that decides whether objects of this kind are installed.
fn switch(kind: &str) -> Option<&'static str> {
    match kind {
        "CustomResourceDefinition" => Some("crds"),
        "NetworkPolicy" => Some("networkPolicy"),
        "ServiceMonitor" => Some("serviceMonitor"),
        "ConfigMap" => Some("dashboard"),
        _ => None,
    }
}

/// The defaults of objects that can be left out: with these ports of API servers, if they have some.
fn enabled(api_server_ports: Option<&Vec<u16>>) -> Value {
    match api_server_ports {
        Some(ports) => json!({ "enabled": true, "apiServerPorts": ports }),
        None => json!({ "enabled": true }),
    }
}

/// Replaces what is a value by its token, and takes the value as default.
fn deployment(
    object: &mut Value,
    own_namespace: &str,
    values: &mut Map<String, Value>,
) -> Result<(), ManifestsError> {
    let replicas = std::mem::replace(&mut object["spec"]["replicas"], REPLICAS.into());
    let title = title(object).replace(NAMESPACE, own_namespace);
    let container = object.pointer_mut("/spec/template/spec/containers/0");
    let container = container.ok_or_else(|| ManifestsError::inconsistent(title, "expected a container"))?;
    let image = std::mem::replace(&mut container["image"], IMAGE.into());
    let resources = std::mem::replace(&mut container["resources"], RESOURCES.into());
    container["imagePullPolicy"] = PULL_POLICY.into();
    let image = image.as_str().unwrap_or_default();
    let (image, digest) = image.split_once('@').unwrap_or((image, ""));
    // A colon before the last slash is that of a port.
    let tag = image.rfind(':').filter(|at| !image[*at..].contains('/'));
    let (repository, tag) = tag.map_or((image, ""), |at| (&image[..at], &image[at + 1..]));
    values.insert(
        "image".into(),
        json!({ "repository": repository, "tag": tag, "digest": digest, "pullPolicy": "IfNotPresent" }),
    );
    values.insert("replicas".into(), replicas);
    values.insert("resources".into(), resources);
    Ok(())
}

/// Replaces the ports of API servers by their token, where an edit has left them.
fn network_policy(object: &mut Value, manifests: &Manifests) {
    let rules = object["spec"]["egress"].as_array_mut().into_iter().flatten();
    for rule in rules.filter(|rule| rule.get("to").is_none()) {
        let ports = rule["ports"].as_array().into_iter().flatten();
        if ports
            .map(|port| port["port"].as_u64())
            .eq(manifests.api_server_ports.iter().map(|port| Some((*port).into())))
        {
            rule["ports"] = API_SERVERS.into();
        }
    }
}

/// Escapes what looks like an expression, and replaces the tokens.
fn template(yaml: &str) -> String {
    let escaped = yaml.replace("{{", r#"{{ "{{" }}"#);
    // A namespace may be called `123` or `null`, which are no strings of YAML without quotes.
    let quoted = [NAMESPACE, WATCHED].into_iter().fold(escaped, |text, token| {
        let whole = |start: &str, token: &str| format!("{start}{token}\n");
        [": ", "- "].iter().fold(text, |text, start| {
            text.replace(&whole(start, token), &whole(start, &format!("'{token}'")))
        })
    });
    EXPRESSIONS.iter().fold(quoted, |text, (token, expression)| text.replace(token, expression))
}

/// As Helm requires of the version of a chart: `1.2.0`, `1.2.0-rc.1+linux`.
fn is_semantic(version: &str) -> bool {
    let (core, rest) = version.split_at(version.find(['-', '+']).unwrap_or(version.len()));
    let number = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            && !part.is_empty()
            && (part == "0" || !part.starts_with('0'))
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.+".contains(&byte);
    core.split('.').count() == 3 && core.split('.').all(number) && rest.len() != 1 && rest.bytes().all(plain)
}
