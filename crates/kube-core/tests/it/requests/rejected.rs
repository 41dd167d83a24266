//! Parameters that are rejected before a request is sent, and their error messages.

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::json;

use super::{
    every::{on_collection, on_object},
    rejection,
};
use kube_core::{
    Request, Resource,
    params::{ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchParams},
    request::Error,
};

fn pods() -> Request {
    Request::new("/api/v1/namespaces/web/pods")
}

const UNSAFE: [&str; 7] = ["", ".", "..", "a/b", "../../secrets", "a%2Fb", "%2e%2e"];

#[test]
fn unsafe_names_are_rejected() {
    for name in UNSAFE {
        for (verb, request) in on_object(&pods(), name) {
            let why = rejection(request);
            assert!(why.contains(&format!("the name {name:?} must not")), "{verb}: {why}");
        }
    }
}

#[test]
fn unsafe_subresources_are_rejected() {
    let (post, merge) = (PostParams::default(), Patch::Merge(json!({})));
    for name in UNSAFE {
        for request in [
            pods().get_subresource(name, "a"),
            pods().create_subresource(name, "a", &post, Vec::new()),
            pods().replace_subresource(name, "a", &post, Vec::new()),
            pods().patch_subresource(name, "a", &PatchParams::default(), &merge),
        ] {
            let why = rejection(request);
            assert!(why.contains(&format!("the subresource {name:?} must not")), "{why}");
        }
    }
}

#[test]
fn unsafe_namespaces_are_rejected() {
    for namespace in UNSAFE {
        let request = Request::new(Pod::url_path(&(), Some(namespace)));
        for (verb, rejected) in on_collection(&request).into_iter().chain(on_object(&request, "a")) {
            assert!(rejection(rejected).contains("a namespace must not be empty"), "{verb} {namespace}");
        }
    }
}

#[test]
fn long_or_unprintable_field_managers_are_rejected() {
    let post = |manager: &str| {
        pods().create(&PostParams { dry_run: false, field_manager: Some(manager.into()) }, Vec::new())
    };
    assert!(post(&"m".repeat(128)).is_ok() && post(&"ü".repeat(64)).is_ok() && post("you & me").is_ok());
    assert!(rejection(post(&"m".repeat(129))).starts_with("the field manager has 129 bytes, at most 128"));
    assert!(rejection(post(&"ü".repeat(65))).starts_with("the field manager has 130 bytes"));
    for odd in ["a\nb", "a\tb", "a\u{a0}b", "\0"] {
        assert!(rejection(post(odd)).contains("printable"), "{odd:?}");
    }
}

#[test]
fn apply_patches_need_a_manager_and_a_type() {
    let apply =
        |pp: &PatchParams, body: serde_json::Value| rejection(pods().patch("a", pp, &Patch::Apply(body)));
    let whole = json!({"apiVersion": "v1", "kind": "Pod"});
    assert!(apply(&PatchParams::default(), whole.clone()).contains("needs a field manager"));
    assert!(apply(&PatchParams::apply(""), whole).contains("needs a field manager"));
    let me = PatchParams::apply("me");
    assert_eq!(apply(&me, json!({"spec": {}})), "the body of an apply patch has no apiVersion and kind");
    assert_eq!(apply(&me, json!({"kind": "Pod"})), "the body of an apply patch has no apiVersion");
    assert_eq!(apply(&me, json!({"apiVersion": "v1", "kind": ""})), "the body of an apply patch has no kind");
    let odd = apply(&me, json!({"apiVersion": 1, "kind": "Pod"}));
    assert!(odd.contains("needs apiVersion and kind as strings") && odd.contains("integer `1`"), "{odd}");
    for body in [json!([]), json!("text"), json!(null)] {
        assert_eq!(apply(&me, body), "the body of an apply patch must be an object");
    }
    // Escaped characters in the two fields are accepted.
    let escaped = json!({"apiVersion": "v1", "kind": "P\"od"});
    assert!(pods().patch("a", &me, &Patch::Apply(escaped)).is_ok());
}

#[test]
fn apply_patches_with_managed_fields_are_rejected() {
    let (me, metadata) =
        (PatchParams::apply("me"), |m| json!({"apiVersion": "v1", "kind": "Pod", "metadata": m}));
    // Servers reject an empty list too, and treat null as absent.
    for managed in [json!([]), json!([{"manager": "other"}]), json!("text")] {
        let patch = Patch::Apply(metadata(json!({"name": "a", "managedFields": managed})));
        for rejected in [
            pods().patch("a", &me, &patch),
            pods().patch_metadata("a", &me, &patch),
            pods().patch_subresource("status", "a", &me, &patch),
        ] {
            assert!(rejection(rejected).contains("metadata.managedFields"), "{managed}");
        }
        let merge = Patch::Merge(metadata(json!({"managedFields": managed})));
        assert!(pods().patch("a", &PatchParams::default(), &merge).is_ok());
    }
    for accepted in [json!({"name": "a", "managedFields": null}), json!({}), json!(null)] {
        assert!(pods().patch("a", &me, &Patch::Apply(metadata(accepted))).is_ok());
    }
    let odd = rejection(pods().patch("a", &me, &Patch::Apply(metadata(json!(5)))));
    assert!(odd.contains("metadata as an object") && odd.contains("integer `5`"), "{odd}");
    // Like an object that was read from a server.
    let mut read = Pod::default();
    read.metadata.managed_fields = Some(Vec::new());
    assert!(rejection(pods().patch("a", &me, &Patch::Apply(&read))).contains("metadata.managedFields"));
    read.metadata.managed_fields = None;
    assert!(pods().patch("a", &me, &Patch::Apply(&read)).is_ok());
}

#[test]
fn force_without_apply_is_rejected() {
    let rejected = pods().patch("a", &PatchParams::apply("me").force(), &Patch::Merge(json!({})));
    assert_eq!(rejection(rejected), "PatchParams::force only works with Patch::Apply");
}

#[test]
fn version_match_needs_a_version() {
    let list = |lp: ListParams| rejection(pods().list(&lp));
    let lp = ListParams::default;
    assert!(list(lp().matching(VersionMatch::NotOlderThan)).contains("A resource_version is required"));
    assert!(list(lp().at("").matching(VersionMatch::Exact)).contains("A resource_version is required"));
    assert!(list(lp().at("0").matching(VersionMatch::Exact)).contains("A non-zero resource_version"));
}

#[test]
fn initial_events_without_bookmarks_are_rejected() {
    let rejected = pods().watch(&WatchParams::streaming_lists().disable_bookmarks(), "0");
    assert!(rejection(rejected).contains("bookmarks must be set"));
}

#[test]
fn a_body_without_a_json_form_is_an_error() {
    struct Failing;
    impl Serialize for Failing {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("on purpose"))
        }
    }
    let error = pods().patch("a", &PatchParams::default(), &Patch::Merge(Failing)).expect_err("no JSON");
    assert!(matches!(error, Error::SerializeBody(_)));
    assert_eq!(error.to_string(), "failed to serialize body: on purpose");
    assert_eq!(std::error::Error::source(&error).expect("has one").to_string(), "on purpose");
}

#[test]
fn a_path_that_is_no_uri_is_an_error() {
    let error = Request::new("/api/v1/po ds").list(&ListParams::default()).expect_err("a space");
    assert!(matches!(error, Error::BuildRequest(_)));
    assert_eq!(error.to_string(), "failed to build request: invalid uri character");
    assert!(std::error::Error::source(&error).is_some());
}
