//! The kinds of requests: their paths and a valid object of each.

/// A resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The path of its objects in the namespace `default`, or cluster-scoped.
    pub(crate) collection: &'static str,
    pub(crate) below: &'static [&'static str],
    pub(crate) object: &'static str,
}

const fn kind(collection: &'static str, below: &'static [&'static str], object: &'static str) -> Kind {
    Kind { collection, below, object }
}

/// The resource that [`DEFINITION`] defines.
pub(crate) const THINGS: Kind = kind(
    "/apis/fuzz.io/v1/namespaces/default/things",
    &["status", "scale"],
    r#"{"apiVersion":"fuzz.io/v1","kind":"Thing","metadata":{"name":"a","labels":{"a":"b"},"finalizers":["fuzz.io/x"]},"spec":{"size":3,"text":"abc","when":"2026-01-01T00:00:00Z","tags":["x","y"],"ports":[{"name":"p","port":80}],"free":{"any":[1,{}]},"either":"5%"},"status":{"size":3,"phase":"Done"}}"#,
);

/// A CRD that uses most features of CRDs.
pub(crate) const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.fuzz.io"},"spec":{"group":"fuzz.io","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList","shortNames":["th"],"categories":["all"]},"conversion":{"strategy":"None"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size","labelSelectorPath":".status.phase"}},"selectableFields":[{"jsonPath":".spec.text"}],"additionalPrinterColumns":[{"name":"Text","type":"string","jsonPath":".spec.text"},{"name":"Port","type":"integer","jsonPath":".spec.ports[0].port","priority":1}],"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["text"],"x-kubernetes-validations":[{"rule":"self.size <= 9 || self.text == 'big'","message":"too big"},{"rule":"self.size >= oldSelf.size","reason":"FieldValueForbidden","fieldPath":".size"}],"properties":{"size":{"type":"integer","default":1,"minimum":0},"text":{"type":"string","maxLength":40,"pattern":"^[a-z]*$"},"when":{"type":"string","format":"date-time","nullable":true},"tags":{"type":"array","maxItems":20,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":20}},"ports":{"type":"array","maxItems":20,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],"items":{"type":"object","required":["port"],"properties":{"name":{"type":"string","default":"x"},"port":{"type":"integer","maximum":65535}}}},"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"either":{"x-kubernetes-int-or-string":true},"map":{"type":"object","additionalProperties":{"type":"number"}},"inner":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},"status":{"type":"object","properties":{"size":{"type":"integer"},"phase":{"type":"string","enum":["Done","Open"]}}}}}}},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

pub(crate) const KINDS: [Kind; 30] = [
    THINGS,
    THINGS,
    kind("/apis/fuzz.io/v2/namespaces/default/things", &[], THINGS.object),
    kind("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &["status"], DEFINITION),
    kind(
        "/api/v1/namespaces",
        &["status", "finalize"],
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]}}"#,
    ),
    kind(
        "/api/v1/namespaces/default/pods",
        &[
            "status",
            "log",
            "exec",
            "attach",
            "portforward",
            "binding",
            "eviction",
            "proxy",
            "ephemeralcontainers",
            "resize",
        ],
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a","command":["sh","-c","echo hi"],"ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"100m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":"http"}}}],"volumes":[{"name":"v","configMap":{"name":"a"}}],"restartPolicy":"Never","tolerations":[{"key":"a","operator":"Exists"}]}}"#,
    ),
    kind(
        "/api/v1/namespaces/default/configmaps",
        &[],
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"u","blockOwnerDeletion":true,"controller":true}]},"data":{"k":"v"},"binaryData":{"b":"AAE="},"immutable":false}"#,
    ),
    kind(
        "/api/v1/namespaces/default/secrets",
        &[],
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"generateName":"a-"},"type":"Opaque","data":{"k":"dg=="},"stringData":{"s":"t"}}"#,
    ),
    kind(
        "/api/v1/namespaces/default/services",
        &["status", "proxy"],
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"NodePort","selector":{"app":"a"},"ports":[{"name":"http","port":80,"targetPort":"http","nodePort":30080}],"clusterIP":"None"}}"#,
    ),
    kind(
        "/api/v1/namespaces/default/serviceaccounts",
        &["token"],
        r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"},"automountServiceAccountToken":false}"#,
    ),
    kind(
        "/api/v1/namespaces/default/events",
        &[],
        r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a","namespace":"default"},"involvedObject":{"kind":"Pod","name":"a","namespace":"default"},"reason":"R","message":"m","type":"Normal","count":1,"firstTimestamp":"2026-01-01T00:00:00Z"}"#,
    ),
    kind(
        "/apis/events.k8s.io/v1/namespaces/default/events",
        &[],
        r#"{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"b","namespace":"default"},"regarding":{"kind":"Pod","name":"a","namespace":"default"},"reason":"R","note":"m","action":"A","type":"Warning","eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"fuzz.io/c","reportingInstance":"i","series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}}"#,
    ),
    kind(
        "/api/v1/nodes",
        &["status", "proxy"],
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#,
    ),
    kind(
        "/api/v1/namespaces/default/persistentvolumeclaims",
        &["status"],
        r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}"#,
    ),
    kind(
        "/apis/apps/v1/namespaces/default/deployments",
        &["status", "scale"],
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"a"}},"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#,
    ),
    kind(
        "/apis/apps/v1/namespaces/default/replicasets",
        &["status", "scale"],
        r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"a"},"spec":{"replicas":1,"selector":{"matchExpressions":[{"key":"app","operator":"In","values":["a"]}]},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#,
    ),
    kind(
        "/apis/apps/v1/namespaces/default/statefulsets",
        &["status", "scale"],
        r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"serviceName":"a","selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#,
    ),
    kind(
        "/apis/apps/v1/namespaces/default/daemonsets",
        &["status"],
        r#"{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}"#,
    ),
    kind(
        "/apis/batch/v1/namespaces/default/jobs",
        &["status"],
        r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"completions":2,"parallelism":1,"backoffLimit":1,"activeDeadlineSeconds":5,"ttlSecondsAfterFinished":1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a","command":["sh","-c","exit 1"]}]}}}}"#,
    ),
    kind(
        "/apis/batch/v1/namespaces/default/cronjobs",
        &["status"],
        r#"{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}}}"#,
    ),
    kind(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        &["status"],
        r#"{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"a"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"app":"a"}}}}"#,
    ),
    kind(
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        &["status"],
        r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a"},"spec":{"rules":[{"host":"a","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}"#,
    ),
    kind(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        &[],
        r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}}"#,
    ),
    kind(
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        &["status"],
        r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}}"#,
    ),
    kind(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        &[],
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a","labels":{"agg":"a"}},"rules":[{"apiGroups":["*"],"resources":["pods/*"],"verbs":["get","*"],"resourceNames":["a"]},{"nonResourceURLs":["/healthz*"],"verbs":["get"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"agg":"a"}}]}}"#,
    ),
    kind(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        &[],
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"a"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a"},"subjects":[{"kind":"User","name":"x"},{"kind":"ServiceAccount","name":"a","namespace":"default"}]}"#,
    ),
    kind(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        &[],
        r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"a"},"webhooks":[{"name":"a.fuzz.io","admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore","timeoutSeconds":1,"clientConfig":{"service":{"namespace":"default","name":"none","port":443,"path":"/x"}},"rules":[{"apiGroups":["fuzz.io"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]}],"matchConditions":[{"name":"c","expression":"object.metadata.name != 'a'"}],"namespaceSelector":{"matchLabels":{"a":"b"}}}]}"#,
    ),
    kind(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        &[],
        r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"x","groups":["g"],"resourceAttributes":{"namespace":"default","verb":"get","group":"","resource":"pods","subresource":"log","name":"a"}}}"#,
    ),
    kind(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        &[],
        r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}"#,
    ),
    kind(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        &[],
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x","audiences":["a"]}}"#,
    ),
];

/// Non-resource paths.
pub(crate) const DOCUMENTS: [&str; 16] = [
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/fuzz.io/v1",
    "/version",
    "/healthz",
    "/livez",
    "/readyz",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/apis/fuzz.io/v1",
    "/openapi/v3/api/v1",
    "/metrics",
];

/// Bodies for subresources.
pub(crate) const BELOW: [(&str, &str); 5] = [
    (
        "scale",
        r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":2}}"#,
    ),
    (
        "eviction",
        r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"},"deleteOptions":{"dryRun":["All"],"gracePeriodSeconds":0}}"#,
    ),
    (
        "binding",
        r#"{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"a"}}"#,
    ),
    (
        "token",
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["a"],"expirationSeconds":600,"boundObjectRef":{"kind":"Pod","name":"a"}}}"#,
    ),
    (
        "delete",
        r#"{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"propagationPolicy":"Foreground","preconditions":{"uid":"u","resourceVersion":"1"},"dryRun":["All"],"orphanDependents":true}"#,
    ),
];
