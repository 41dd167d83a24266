//! Requests out of bytes: what a fuzzer varies, and what a test rolls. Also compiled into `fuzz/fuzz_targets/request.rs`.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

/// The requests that these bytes stand for, at most 16. The same bytes always stand for the same requests.
pub(crate) fn requests(bytes: &[u8]) -> Vec<Request<Full<Bytes>>> {
    let mut tape = Tape(bytes);
    let mut requests = Vec::new();
    while !tape.0.is_empty() && requests.len() < 16 {
        requests.extend(tape.request());
    }
    requests
}

const METHODS: [&str; 10] =
    ["GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"];

const PATHS: [&str; 40] = [
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps/v1",
    "/version",
    "/healthz",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/apis/fuzz.io/v1",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/api/v1/namespaces/n",
    "/api/v1/namespaces/n/finalize",
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/a",
    "/api/v1/namespaces/default/pods/a/status",
    "/api/v1/namespaces/default/pods/a/log",
    "/api/v1/namespaces/default/pods/a/exec",
    "/api/v1/namespaces/default/pods/a/binding",
    "/api/v1/namespaces/default/pods/a/eviction",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/configmaps/a",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/default/secrets/a",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/a",
    "/apis/apps/v1/namespaces/default/deployments/a/scale",
    "/apis/apps/v1/namespaces/default/deployments/a/status",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.fuzz.io",
    "/apis/fuzz.io/v1/namespaces/default/things",
    "/apis/fuzz.io/v1/namespaces/default/things/a",
    "/apis/fuzz.io/v1/namespaces/default/things/a/status",
    "/apis/fuzz.io/v1/namespaces/default/things/a/scale",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/batch/v1/namespaces/default/jobs",
];

const KEYS: [&str; 26] = [
    "watch",
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "dryRun",
    "fieldManager",
    "force",
    "fieldValidation",
    "pretty",
    "propagationPolicy",
    "gracePeriodSeconds",
    "orphanDependents",
    "container",
    "follow",
    "tailLines",
    "limitBytes",
    "command",
    "stdin",
    "tty",
    "includeObject",
];

const VALUES: [&str; 34] = [
    "",
    "1",
    "0",
    "true",
    "false",
    "-1",
    "18446744073709551616",
    "9223372036854775807",
    "a",
    "a=b",
    "a!=b",
    "a in (b,c)",
    "!a",
    "a notin (",
    "metadata.name=a",
    "spec.nodeName!=x",
    "metadata.name=a,metadata.namespace=default",
    "Exact",
    "NotOlderThan",
    "All",
    "Strict",
    "Ignore",
    "Warn",
    "Foreground",
    "Orphan",
    "Background",
    "eyJydiI6LTF9",
    "%00",
    "%ff",
    "%zz",
    "a%2Cb",
    "None",
    "Metadata",
    "%F0%9F%A6%80",
];

const TYPES: [&str; 12] = [
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
    "application/json; charset=utf-8",
    ";;;",
];

const ACCEPTS: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "*/*",
    "text/html",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;as=;v=",
];

const HEADERS: [(&str, &str); 10] = [
    ("authorization", "Bearer x"),
    ("authorization", "Basic"),
    ("impersonate-user", "system:serviceaccount:a"),
    ("impersonate-group", "g"),
    ("impersonate-extra-%zz", "v"),
    ("content-length", "99999999999"),
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-protocol", "v5.channel.k8s.io"),
    ("user-agent", "curl/8"),
];

const FIELDS: [&str; 58] = [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
    "data",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "generateName",
    "deletionTimestamp",
    "creationTimestamp",
    "containers",
    "image",
    "ports",
    "containerPort",
    "protocol",
    "replicas",
    "selector",
    "matchLabels",
    "template",
    "group",
    "names",
    "plural",
    "scope",
    "versions",
    "served",
    "storage",
    "schema",
    "openAPIV3Schema",
    "type",
    "properties",
    "items",
    "required",
    "default",
    "pattern",
    "enum",
    "x-kubernetes-validations",
    "rule",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "subresources",
    "scale",
    "op",
    "path",
    "from",
    "value",
    "rules",
    "$patch",
    "target",
    "additionalProperties",
];

const TEXTS: [&str; 40] = [
    "",
    "a",
    "default",
    "v1",
    "apps/v1",
    "fuzz.io/v1",
    "Pod",
    "ConfigMap",
    "Deployment",
    "Thing",
    "things",
    "fuzz.io",
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "things.fuzz.io",
    "Namespaced",
    "Cluster",
    "object",
    "string",
    "integer",
    "array",
    "map",
    "set",
    "self.a > 1",
    "self.",
    "^(a+)+$",
    "(",
    "add",
    "remove",
    "replace",
    "test",
    "move",
    "/metadata/name",
    "/spec/-",
    "/a~1b~0",
    "delete",
    "merge",
    "2026-01-01T00:00:00Z",
    "\u{1f980}",
    "a\u{0}b",
];

/// Bytes that are read once; at their end only zeros come.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() % list.len()]
    }

    /// `None` when the bytes make no request that could be sent.
    fn request(&mut self) -> Option<Request<Full<Bytes>>> {
        let method = self.pick(&METHODS);
        let mut uri = if self.next().is_multiple_of(8) {
            format!("/{}", self.raw())
        } else {
            self.pick(&PATHS).to_string()
        };
        for i in 0..self.next() % 5 {
            let glue = if i == 0 { '?' } else { '&' };
            uri.push_str(&format!("{glue}{}={}", self.pick(&KEYS), self.pick(&VALUES).replace(' ', "+")));
        }
        let mut request = Request::builder().method(method).uri(uri);
        request = request.header("content-type", self.pick(&TYPES)).header("accept", self.pick(&ACCEPTS));
        for _ in 0..(self.next() % 4).saturating_sub(1) {
            let (name, value) = self.pick(&HEADERS);
            request = request.header(name, value);
        }
        let body = self.body();
        request.body(Full::new(body)).ok()
    }

    /// Some of the bytes as they are.
    fn raw(&mut self) -> String {
        let length = (self.next() % 40).min(self.0.len());
        let (raw, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(raw).chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect()
    }

    fn body(&mut self) -> Bytes {
        match self.next() % 10 {
            0 => Bytes::new(),
            1 => self.raw().into(),
            2 => "[".repeat(self.next() * 40).into(),
            3 => "a: &a [*a, *a]\n".repeat(self.next() % 9).into(),
            4 => format!("{{\"a\":{}", self.value(0)).into(),
            5 => ["{\"metadata\":", &"{\"a\":".repeat(self.next() * 20)].concat().into(),
            _ => self.object().into(),
        }
    }

    /// An object as most clients would send it, with some of it gone wrong.
    fn object(&mut self) -> String {
        let kinds = [
            ("v1", "Pod"),
            ("v1", "ConfigMap"),
            ("apps/v1", "Deployment"),
            ("fuzz.io/v1", "Thing"),
            ("v1", "Namespace"),
        ];
        if self.next().is_multiple_of(6) {
            return self.definition();
        }
        if self.next().is_multiple_of(4) {
            return self.value(0);
        }
        let (api_version, kind) = self.pick(&kinds);
        let (metadata, spec) = (self.value(2), self.value(0));
        let name = self.pick(&["a", "b", "A", "things.fuzz.io", ""]);
        let metadata = if self.next().is_multiple_of(3) {
            metadata
        } else {
            format!("{{\"name\":\"{name}\",\"labels\":{{\"a\":\"b\"}}}}")
        };
        format!(
            "{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",\"metadata\":{metadata},\"spec\":{spec},\"status\":{}}}",
            self.value(2)
        )
    }

    fn definition(&mut self) -> String {
        let (schema, extra) = (self.value(0), self.value(2));
        let schema = if self.next().is_multiple_of(2) {
            schema
        } else {
            format!(
                "{{\"type\":\"object\",\"properties\":{{\"spec\":{schema}}},\"x-kubernetes-preserve-unknown-fields\":true}}"
            )
        };
        format!(
            "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{{\"name\":\"things.fuzz.io\"}},\
             \"spec\":{{\"group\":\"fuzz.io\",\"scope\":\"Namespaced\",\"names\":{{\"plural\":\"things\",\"kind\":\"Thing\"}},\"versions\":[\
             {{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{{\"openAPIV3Schema\":{schema}}},\"subresources\":{extra}}}]}}}}"
        )
    }

    fn value(&mut self, depth: usize) -> String {
        match self.next() % if depth > 5 { 6 } else { 10 } {
            0 => "null".into(),
            1 => "true".into(),
            2 => self.pick(&["0", "1", "-1", "1e99", "1.5", "9223372036854775808", "65536"]).into(),
            3..=5 => serde_json::to_string(self.pick(&TEXTS)).unwrap_or_default(),
            6 => {
                let items: Vec<String> = (0..self.next() % 4).map(|_| self.value(depth + 1)).collect();
                format!("[{}]", items.join(","))
            }
            _ => {
                let members: Vec<String> = (0..self.next() % 6)
                    .map(|_| format!("\"{}\":{}", self.pick(&FIELDS), self.value(depth + 1)))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}
