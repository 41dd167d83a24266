//! The complete request of every verb and subresource, for all sorts of kinds.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Node, Pod},
    rbac::v1::ClusterRole,
};
use serde_json::json;

#[cfg(feature = "ws")]
use kube_core::subresource::AttachParams;

use super::show;
use kube_core::{
    ApiResource, DynamicObject, GroupVersionKind, NotUsed, Object, PartialObjectMeta, Request, Resource,
    params::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
    request::Error,
    subresource::{EvictParams, LogParams},
};

type Built = Result<http::Request<Vec<u8>>, Error>;
type Named = (&'static str, Built);

fn post() -> PostParams {
    PostParams { dry_run: true, field_manager: Some("me".into()) }
}

fn body() -> Vec<u8> {
    b"{}".into()
}

/// Every verb on a collection.
pub(super) fn on_collection(r: &Request) -> Vec<Named> {
    let (lp, wp) = (ListParams::default().labels("a=b"), WatchParams::default().fields("c=d"));
    vec![
        ("list", r.list(&lp)),
        ("list_metadata", r.list_metadata(&lp)),
        ("watch", r.watch(&wp, "7")),
        ("watch_metadata", r.watch_metadata(&wp, "7")),
        ("create", r.create(&post(), body())),
        ("delete_collection", r.delete_collection(&DeleteParams::orphan(), &lp)),
    ]
}

/// Every verb on one object, and on its subresources.
pub(super) fn on_object(r: &Request, name: &str) -> Vec<Named> {
    let (gp, pp, me) = (GetParams::any(), PatchParams::default().dry_run(), PatchParams::apply("me"));
    let (merge, strategic) = (Patch::Merge(json!({})), Patch::Strategic(json!({})));
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "K"}));
    Vec::from([
        ("get", r.get(name, &gp)),
        ("get_metadata", r.get_metadata(name, &gp)),
        ("replace", r.replace(name, &post(), body())),
        ("patch/merge", r.patch(name, &pp, &merge)),
        ("patch/strategic", r.patch(name, &pp, &strategic)),
        ("patch/apply", r.patch(name, &me, &apply)),
        ("patch_metadata", r.patch_metadata(name, &me, &apply)),
        ("delete", r.delete(name, &DeleteParams::default())),
        ("get_subresource", r.get_subresource("status", name)),
        ("create_subresource", r.create_subresource("token", name, &post(), body())),
        ("replace_subresource", r.replace_subresource("scale", name, &post(), body())),
        ("patch_subresource", r.patch_subresource("status", name, &me, &apply)),
        ("logs", r.logs(name, &LogParams { tail_lines: Some(3), ..LogParams::default() })),
        ("evict", r.evict(name, &EvictParams { post_options: post(), ..EvictParams::default() })),
        ("cordon", r.cordon(name)),
        ("uncordon", r.uncordon(name)),
        ("restart", r.restart(name)),
        #[cfg(feature = "jsonpatch")]
        ("patch/json", r.patch(name, &pp, &Patch::<()>::Json(json_patch::Patch::default()))),
        #[cfg(feature = "jsonpatch")]
        (
            "patch_subresource/json",
            r.patch_subresource("status", name, &pp, &Patch::<()>::Json(json_patch::Patch::default())),
        ),
        #[cfg(feature = "ws")]
        ("attach", r.attach(name, &AttachParams::default().container("c"))),
        #[cfg(feature = "ws")]
        ("exec", r.exec(name, ["ls", "-l"], &AttachParams::default().container("c"))),
        #[cfg(feature = "ws")]
        ("portforward", r.portforward(name, &[80, 443])),
    ])
}

/// The expected requests of [`on_collection`] and [`on_object`]: `{c}` is the path of the collection, `{o}` that of the
/// object, `{n}` the unencoded name.
fn expected(verb: &str) -> &'static str {
    match verb {
        "list" => "GET {c}?&labelSelector=a%3Db\n{json}",
        "list_metadata" => "GET {c}?&labelSelector=a%3Db\n{metas}",
        "watch" => {
            "GET {c}?&watch=true&timeoutSeconds=290&fieldSelector=c%3Dd&allowWatchBookmarks=true&resourceVersion=7\n{json}"
        }
        "watch_metadata" => {
            "GET {c}?&watch=true&timeoutSeconds=290&fieldSelector=c%3Dd&allowWatchBookmarks=true&resourceVersion=7\n{meta}"
        }
        "create" => "POST {c}?&dryRun=All&fieldManager=me\n{json}\n{type}json\n{}",
        "delete_collection" => {
            "DELETE {c}?&labelSelector=a%3Db\n{json}\n{type}json\n{\"propagationPolicy\":\"Orphan\"}"
        }
        "get" => "GET {o}?&resourceVersion=0\n{json}",
        "get_metadata" => "GET {o}?&resourceVersion=0\n{meta}",
        "replace" => "PUT {o}?&dryRun=All&fieldManager=me\n{json}\n{type}json\n{}",
        "patch/merge" => "PATCH {o}?&dryRun=All\n{json}\n{type}merge-patch+json\n{}",
        "patch/strategic" => "PATCH {o}?&dryRun=All\n{json}\n{type}strategic-merge-patch+json\n{}",
        "patch/apply" => {
            "PATCH {o}?&fieldManager=me\n{json}\n{type}apply-patch+yaml\n{\"apiVersion\":\"v1\",\"kind\":\"K\"}"
        }
        "patch_metadata" => {
            "PATCH {o}?&fieldManager=me\n{meta}\n{type}apply-patch+yaml\n{\"apiVersion\":\"v1\",\"kind\":\"K\"}"
        }
        "patch/json" => "PATCH {o}?&dryRun=All\n{json}\n{type}json-patch+json\n[]",
        "delete" => "DELETE {o}?\n{json}\n{type}json\n{}",
        "get_subresource" => "GET {o}/status\n{json}",
        "create_subresource" => "POST {o}/token?&dryRun=All&fieldManager=me\n{json}\n{type}json\n{}",
        "replace_subresource" => "PUT {o}/scale?&dryRun=All&fieldManager=me\n{json}\n{type}json\n{}",
        "patch_subresource" => {
            "PATCH {o}/status?&fieldManager=me\n{json}\n{type}apply-patch+yaml\n{\"apiVersion\":\"v1\",\"kind\":\"K\"}"
        }
        "patch_subresource/json" => "PATCH {o}/status?&dryRun=All\n{json}\n{type}json-patch+json\n[]",
        "logs" => "GET {o}/log?&tailLines=3\naccept: */*",
        "evict" => {
            "POST {o}/eviction?&dryRun=All&fieldManager=me\n{json}\n{type}json\n\
             {\"metadata\":{\"name\":\"{n}\"}}"
        }
        "cordon" => "PATCH {o}?\n{json}\n{type}merge-patch+json\n{\"spec\":{\"unschedulable\":true}}",
        "uncordon" => "PATCH {o}?\n{json}\n{type}merge-patch+json\n{\"spec\":{\"unschedulable\":false}}",
        "restart" => {
            "PATCH {o}?\n{json}\n{type}merge-patch+json\n{\"spec\":{\"template\":{\"metadata\":{\"annotations\":\
             {\"kubectl.kubernetes.io/restartedAt\":\"{now}\"}}}}}"
        }
        "attach" => "GET {o}/attach?&stdout=true&stderr=true&container=c\n{json}",
        "exec" => "GET {o}/exec?&stdout=true&stderr=true&container=c&command=ls&command=-l\n{json}",
        "portforward" => "GET {o}/portforward?&ports=80%2C443\n{json}",
        other => panic!("no expectation for {other}"),
    }
}

/// Checks all requests for a kind, a namespace and a name against the path of the collection and the segment of the name.
fn check<K: Resource>(
    dt: &K::DynamicType,
    namespace: Option<&str>,
    name: &str,
    collection: &str,
    segment: &str,
) {
    let request = Request::new(K::url_path(dt, namespace));
    for (verb, built) in on_collection(&request).into_iter().chain(on_object(&request, name)) {
        let expected = expected(verb)
            .replace("{json}", "accept: application/json")
            .replace("{metas}", "accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
            .replace("{meta}", "accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
            .replace("{type}", "content-type: application/")
            .replace("{o}", &format!("{collection}/{segment}"))
            .replace("{c}", collection)
            .replace("{n}", name);
        assert_eq!(replace_time(show(built)), expected, "{verb}");
    }
}

/// Checks the only time in a request, and replaces it by a placeholder.
fn replace_time(shown: String) -> String {
    let Some((before, rest)) = shown.split_once("restartedAt\":\"") else { return shown };
    let (time, after) = rest.split_once('"').expect("a string");
    time.parse::<jiff::Timestamp>().expect("a time");
    format!("{before}restartedAt\":\"{{now}}\"{after}")
}

#[test]
fn requests_for_core_kinds() {
    check::<Pod>(&(), Some("web"), "a", "/api/v1/namespaces/web/pods", "a");
    check::<Pod>(&(), None, "a", "/api/v1/pods", "a");
    check::<Node>(&(), None, "a", "/api/v1/nodes", "a");
}

#[test]
fn requests_for_kinds_of_api_groups() {
    check::<Deployment>(&(), Some("web"), "a", "/apis/apps/v1/namespaces/web/deployments", "a");
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    check::<ClusterRole>(&(), None, "a", roles, "a");
    type Partial = PartialObjectMeta<Deployment>;
    check::<Partial>(&(), Some("web"), "a", "/apis/apps/v1/namespaces/web/deployments", "a");
}

#[test]
fn requests_for_kinds_known_at_run_time() {
    let policy = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1beta1", "Policy"));
    let path = "/apis/example.com/v1beta1/namespaces/web/policies";
    check::<DynamicObject>(&policy, Some("web"), "a", path, "a");
    check::<DynamicObject>(&policy, None, "a", "/apis/example.com/v1beta1/policies", "a");
    check::<Object<NotUsed, NotUsed>>(&policy, Some("web"), "a", path, "a");
    check::<PartialObjectMeta>(&policy, Some("web"), "a", path, "a");
    let core = ApiResource::erase::<Pod>(&());
    check::<DynamicObject>(&core, Some("web"), "a", "/api/v1/namespaces/web/pods", "a");
}

#[test]
fn names_and_namespaces_that_need_encoding() {
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    check::<ClusterRole>(&(), None, "system:node", roles, "system:node");
    check::<ClusterRole>(&(), None, "a b?c#d&e=f", roles, "a%20b%3Fc%23d&e=f");
    check::<Pod>(&(), Some("größe"), "ü", "/api/v1/namespaces/gr%C3%B6%C3%9Fe/pods", "%C3%BC");
    let odd = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("x y", "v?", "K"), "k#s");
    check::<DynamicObject>(&odd, Some("a b"), "...", "/apis/x%20y/v%3F/namespaces/a%20b/k%23s", "...");
}
