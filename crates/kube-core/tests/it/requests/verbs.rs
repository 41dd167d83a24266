//! Method, path, query, headers and body of every verb.

use serde_json::json;

use super::show;
use kube_core::{
    Request, Selector,
    params::{
        DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions, VersionMatch,
        WatchParams,
    },
};

const ACCEPT: &str = "accept: application/json";

fn pods() -> Request {
    Request::new("/api/v1/namespaces/web/pods")
}

#[test]
fn get() {
    assert_eq!(
        show(pods().get("a", &GetParams::default())),
        format!("GET /api/v1/namespaces/web/pods/a\n{ACCEPT}")
    );
    assert_eq!(
        show(pods().get("a", &GetParams::any())),
        format!("GET /api/v1/namespaces/web/pods/a?&resourceVersion=0\n{ACCEPT}")
    );
    assert_eq!(
        show(pods().get("a", &GetParams::at("71"))),
        format!("GET /api/v1/namespaces/web/pods/a?&resourceVersion=71\n{ACCEPT}")
    );
}

#[test]
fn list() {
    let list = |lp: &ListParams| {
        let shown = show(pods().list(lp));
        let target = shown.strip_suffix(ACCEPT).expect("accepts JSON").trim_end();
        target.strip_prefix("GET /api/v1/namespaces/web/pods").expect("on the collection").to_owned()
    };
    let lp = ListParams::default;
    assert_eq!(list(&lp()), "?");
    assert_eq!(
        list(&lp().labels("a=b,c in (d)").fields("metadata.name=x").limit(2)),
        "?&fieldSelector=metadata.name%3Dx&labelSelector=a%3Db%2Cc+in+%28d%29&limit=2"
    );
    assert_eq!(list(&lp().labels_from(&[("a", "b")].into_iter().collect())), "?&labelSelector=a%3Db");
    assert_eq!(list(&lp().labels_from(&Selector::default())), "?&labelSelector=");
    assert_eq!(list(&lp().at("5")), "?&resourceVersion=5");
    assert_eq!(list(&lp().match_any()), "?&resourceVersion=0&resourceVersionMatch=NotOlderThan");
    assert_eq!(
        list(&lp().at("5").matching(VersionMatch::Exact)),
        "?&resourceVersion=5&resourceVersionMatch=Exact"
    );
    // The token determines the version, so the other parameters can stay the same for the next page.
    assert_eq!(list(&lp().match_any().limit(3).continue_token("t+/=")), "?&limit=3&continue=t%2B%2F%3D");
}

#[test]
fn a_limit_wins_over_resource_version_zero() {
    let query = |lp: &ListParams| pods().list(lp).expect("valid").uri().query().map(str::to_owned);
    let lp = ListParams::default;
    // For version 0 servers return the whole list from their cache.
    let limited = Some("&limit=3".to_owned());
    assert_eq!(query(&lp().match_any().limit(3)), limited);
    assert_eq!(query(&lp().at("0").limit(3)), limited);
    assert_eq!(
        query(&lp().at("7").matching(VersionMatch::NotOlderThan).limit(3)),
        Some("&limit=3&resourceVersion=7&resourceVersionMatch=NotOlderThan".to_owned())
    );
    // 0 means no limit.
    assert_eq!(
        query(&lp().match_any().limit(0)),
        Some("&limit=0&resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned())
    );
}

#[test]
#[expect(deprecated, reason = "shows that the deprecated field has no effect")]
fn list_does_not_send_a_timeout() {
    assert_eq!(
        show(pods().list(&ListParams::default().timeout(5))),
        show(pods().list(&ListParams::default()))
    );
}

#[test]
fn watch() {
    let watch = |wp: &WatchParams, version: &str| {
        let shown = show(pods().watch(wp, version));
        let target = shown.strip_suffix(ACCEPT).expect("accepts JSON").trim_end();
        target.strip_prefix("GET /api/v1/namespaces/web/pods?&watch=true").expect("a watch").to_owned()
    };
    let wp = WatchParams::default;
    assert_eq!(watch(&wp(), "7"), "&timeoutSeconds=290&allowWatchBookmarks=true&resourceVersion=7");
    assert_eq!(watch(&wp(), ""), "&timeoutSeconds=290&allowWatchBookmarks=true&resourceVersion=");
    assert_eq!(watch(&wp().timeout(0), "7"), "&timeoutSeconds=0&allowWatchBookmarks=true&resourceVersion=7");
    assert_eq!(
        watch(&wp().labels("a").fields("b=c").timeout(300).disable_bookmarks(), "0"),
        "&timeoutSeconds=300&fieldSelector=b%3Dc&labelSelector=a&resourceVersion=0"
    );
    assert_eq!(
        watch(&WatchParams::streaming_lists(), "0"),
        "&timeoutSeconds=290&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &resourceVersion=0"
    );
}

#[test]
fn create_and_replace() {
    let pp = PostParams { dry_run: true, field_manager: Some("me & you".into()) };
    let json = format!("{ACCEPT}\ncontent-type: application/json\n{{}}");
    let query = "?&dryRun=All&fieldManager=me+%26+you";
    assert_eq!(
        show(pods().create(&pp, b"{}".into())),
        format!("POST /api/v1/namespaces/web/pods{query}\n{json}")
    );
    assert_eq!(
        show(pods().replace("a", &pp, b"{}".into())),
        format!("PUT /api/v1/namespaces/web/pods/a{query}\n{json}")
    );
    let plain = PostParams::default();
    assert_eq!(
        show(pods().create(&plain, b"{}".into())),
        format!("POST /api/v1/namespaces/web/pods?\n{json}")
    );
}

#[test]
fn delete() {
    let json = format!("{ACCEPT}\ncontent-type: application/json");
    assert_eq!(
        show(pods().delete("a", &DeleteParams::default())),
        format!("DELETE /api/v1/namespaces/web/pods/a?\n{json}\n{{}}")
    );
    let preconditions = Preconditions { uid: Some("u".into()), resource_version: Some("3".into()) };
    let all = DeleteParams::orphan().dry_run().grace_period(0).preconditions(preconditions);
    let body = r#"{"dryRun":["All"],"gracePeriodSeconds":0,"propagationPolicy":"Orphan","preconditions":{"resourceVersion":"3","uid":"u"}}"#;
    assert_eq!(
        show(pods().delete("a", &all)),
        format!("DELETE /api/v1/namespaces/web/pods/a?\n{json}\n{body}")
    );
    assert_eq!(
        show(
            pods().delete_collection(
                &DeleteParams::background(),
                &ListParams::default().labels("a=b").limit(3)
            )
        ),
        format!(
            "DELETE /api/v1/namespaces/web/pods?&labelSelector=a%3Db&limit=3\n{json}\n{{\"propagationPolicy\":\"Background\"}}"
        )
    );
    assert!(
        show(pods().delete("a", &DeleteParams::foreground()))
            .ends_with(r#"{"propagationPolicy":"Foreground"}"#)
    );
}

#[test]
fn patch() {
    let target = "PATCH /api/v1/namespaces/web/pods/a";
    let merge = Patch::Merge(json!({"a": null}));
    assert_eq!(
        show(pods().patch("a", &PatchParams::default().dry_run(), &merge)),
        format!("{target}?&dryRun=All\n{ACCEPT}\ncontent-type: application/merge-patch+json\n{{\"a\":null}}")
    );
    let strategic = Patch::Strategic(json!({}));
    assert_eq!(
        show(pods().patch("a", &PatchParams::default().validation_strict(), &strategic)),
        format!(
            "{target}?&fieldValidation=Strict\n{ACCEPT}\ncontent-type: application/strategic-merge-patch+json\n{{}}"
        )
    );
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "Pod"}));
    assert_eq!(
        show(pods().patch("a", &PatchParams::apply("me").force().validation_warn(), &apply)),
        format!(
            "{target}?&force=true&fieldManager=me&fieldValidation=Warn\n{ACCEPT}\n\
             content-type: application/apply-patch+yaml\n{{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}}"
        )
    );
    let ignore = show(pods().patch("a", &PatchParams::default().validation_ignore(), &merge));
    assert!(ignore.starts_with(&format!("{target}?&fieldValidation=Ignore\n")), "{ignore}");
}

#[test]
#[cfg(feature = "jsonpatch")]
fn json_patch() {
    let operations: json_patch::Patch =
        serde_json::from_value(json!([{"op": "remove", "path": "/spec/x"}])).expect("valid");
    assert_eq!(
        show(pods().patch("a", &PatchParams::default(), &Patch::<()>::Json(operations))),
        format!(
            "PATCH /api/v1/namespaces/web/pods/a?\n{ACCEPT}\ncontent-type: application/json-patch+json\n\
             [{{\"op\":\"remove\",\"path\":\"/spec/x\"}}]"
        )
    );
}

#[test]
fn metadata_only_requests_accept_partial_objects() {
    let object = "accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let list = "accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let base = "/api/v1/namespaces/web/pods";
    assert_eq!(
        show(pods().get_metadata("a", &GetParams::any())),
        format!("GET {base}/a?&resourceVersion=0\n{object}")
    );
    assert_eq!(
        show(pods().list_metadata(&ListParams::default().limit(1))),
        format!("GET {base}?&limit=1\n{list}")
    );
    assert_eq!(
        show(pods().watch_metadata(&WatchParams::default(), "1")),
        format!(
            "GET {base}?&watch=true&timeoutSeconds=290&allowWatchBookmarks=true&resourceVersion=1\n{object}"
        )
    );
    assert_eq!(
        show(pods().patch_metadata("a", &PatchParams::default(), &Patch::Merge(json!({})))),
        format!("PATCH {base}/a?\n{object}\ncontent-type: application/merge-patch+json\n{{}}")
    );
}

#[test]
fn subresources_by_name() {
    let base = "/api/v1/namespaces/web/pods/a/status";
    let json = format!("{ACCEPT}\ncontent-type: application/json\n{{}}");
    let pp = PostParams::default();
    assert_eq!(show(pods().get_subresource("status", "a")), format!("GET {base}\n{ACCEPT}"));
    assert_eq!(
        show(pods().create_subresource("status", "a", &pp, b"{}".into())),
        format!("POST {base}?\n{json}")
    );
    assert_eq!(
        show(pods().replace_subresource("status", "a", &pp, b"{}".into())),
        format!("PUT {base}?\n{json}")
    );
    assert_eq!(
        show(pods().patch_subresource("status", "a", &PatchParams::default(), &Patch::Merge(json!({})))),
        format!("PATCH {base}?\n{ACCEPT}\ncontent-type: application/merge-patch+json\n{{}}")
    );
}
