//! Objects and lists from the wire and back.

use k8s_openapi::{
    api::core::v1::{ConfigMap, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{DefaultTypes, HasSpec, HasStatus, ListHead, NotUsed, Object, ObjectList};
use crate::{
    ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta, ResourceExt,
    error_boundary::DeserializeGuard, type_meta::TypeMeta,
};

fn read<T: DeserializeOwned>(json: &Value) -> Result<T, serde_json::Error> {
    serde_json::from_str(&json.to_string())
}

/// A list of a built-in kind as servers send it: its type first, and items without a type.
fn pods(items: &str) -> String {
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7","continue":"t"}},"items":{items}}}"#
    )
}

#[test]
fn items_get_the_type_implied_by_their_list() {
    let text = pods(
        r#"[{"metadata":{"name":"a"},"spec":{"x":1}},{"kind":"Other","apiVersion":"o/v1","metadata":{}}]"#,
    );
    let list: ObjectList<DynamicObject> = serde_json::from_str(&text).expect("valid");
    assert_eq!((list.types.kind.as_str(), list.metadata.continue_.as_deref()), ("PodList", Some("t")));
    let types = |i: usize| list.items[i].types.clone().expect("has a type");
    assert_eq!(types(0), TypeMeta { api_version: "v1".into(), kind: "Pod".into() });
    assert_eq!(types(1), TypeMeta { api_version: "o/v1".into(), kind: "Other".into() });
    assert_eq!(list.items[0].data, json!({"spec": {"x": 1}}));

    let partial: ObjectList<PartialObjectMeta<Pod>> = serde_json::from_str(&text).expect("valid");
    assert_eq!(partial.items[0].types, Some(types(0)));
    let guarded: ObjectList<DeserializeGuard<DynamicObject>> = serde_json::from_str(&text).expect("valid");
    assert_eq!(guarded.items[0].0.as_ref().expect("valid").types, Some(types(0)));
    let values: ObjectList<Value> = serde_json::from_str(&text).expect("valid");
    assert_eq!(values.items[0]["kind"], "Pod");
}

#[test]
fn a_missing_api_version_of_an_item_is_filled_in() {
    let list: ObjectList<DynamicObject> =
        serde_json::from_str(&pods(r#"[{"kind":"Pod","metadata":{}}]"#)).expect("valid");
    assert_eq!(list.items[0].types.as_ref().expect("has a type").api_version, "v1");
}

#[test]
fn static_items_need_no_type_but_a_wrong_one_is_an_error() {
    let list: ObjectList<Pod> = serde_json::from_str(&pods(r#"[{"metadata":{"name":"a"}}]"#)).expect("valid");
    assert_eq!(list.items[0].name_any(), "a");
    assert!(serde_json::from_str::<ObjectList<ConfigMap>>(&pods(r#"[{"metadata":{"name":"a"}}]"#)).is_err());
}

#[test]
fn the_type_is_not_added_to_structs_without_these_fields() {
    #[derive(Clone, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        metadata: ObjectMeta,
    }
    #[derive(Clone, Deserialize)]
    struct Wrapped(DynamicObject);

    let text = pods(r#"[{"metadata":{"name":"a"}}]"#);
    let strict: ObjectList<Strict> = serde_json::from_str(&text).expect("valid");
    assert_eq!(strict.items[0].metadata.name.as_deref(), Some("a"));
    let wrapped: ObjectList<Wrapped> = serde_json::from_str(&text).expect("valid");
    assert_eq!(wrapped.items[0].0.types.as_ref().expect("filled in").kind, "Pod");
    let optional: ObjectList<Option<DynamicObject>> = serde_json::from_str(&text).expect("valid");
    assert!(optional.items[0].as_ref().is_some_and(|object| object.types.is_some()));
}

#[test]
fn lists_without_an_item_kind_imply_no_type() {
    for (api_version, kind) in [("v1", "List"), ("", "PodList"), ("v1", "Pods"), ("v1", "")] {
        let list = TypeMeta { api_version: api_version.into(), kind: kind.into() };
        let mut json = serde_json::Deserializer::from_str(r#"{"metadata":{}}"#);
        let seed = DefaultTypes::of_list(&list);
        let item: DynamicObject =
            serde::de::DeserializeSeed::deserialize(seed.seed(), &mut json).expect("valid");
        assert_eq!(item.types, None, "{api_version} {kind}");
    }
}

#[test]
fn null_empty_and_malformed_lists() {
    let empty = |items: &str| serde_json::from_str::<ObjectList<Pod>>(items).expect("valid").items.len();
    assert_eq!(empty(&pods("null")), 0);
    assert_eq!(empty(&pods("[]")), 0);
    assert_eq!(empty(r#"{"items":[],"metadata":null,"extra":{"deep":[1]}}"#), 0);
    // Custom resources: the items precede the list's kind, and have their own types.
    let unstructured: ObjectList<DynamicObject> = read(&json!({
        "apiVersion": "x/v1", "items": [{"apiVersion": "x/v1", "kind": "A", "metadata": {}}], "kind": "AList", "metadata": {}
    }))
    .expect("valid");
    assert_eq!(unstructured.items[0].types.as_ref().expect("its own").kind, "A");
    let error = read::<ObjectList<Pod>>(&json!({"kind": "Status", "metadata": {}})).expect_err("no list");
    assert!(error.to_string().contains("missing field `items`"), "{error}");
    assert!(serde_json::from_str::<ObjectList<Pod>>(&pods("{}")).is_err());
    assert!(serde_json::from_str::<ObjectList<Pod>>("[]").is_err());
}

#[test]
fn lists_without_a_type_decode_as_v1_list() {
    let types = |json: &str| {
        let list: ObjectList<Pod> = serde_json::from_str(json).expect(json);
        (list.types.api_version, list.types.kind)
    };
    let any = || ("v1".to_owned(), "List".to_owned());
    assert_eq!(types(r#"{"metadata": {}, "items": []}"#), any());
    assert_eq!(types(r#"{"apiVersion": null, "kind": null, "items": []}"#), any());
    assert_eq!(types(r#"{"apiVersion": "v1", "items": []}"#), any());
    assert_eq!(types(r#"{"kind": "PodList", "items": []}"#), ("v1".to_owned(), "PodList".to_owned()));
    // Such a list may hold any kind, so it implies no type for its items.
    let list: ObjectList<DynamicObject> =
        serde_json::from_str(r#"{"items": [{"metadata": {}}]}"#).expect("valid");
    assert!(list.items[0].types.is_none());
}

#[test]
fn lists_can_be_iterated_and_serialized() {
    let mut list: ObjectList<Pod> =
        serde_json::from_str(&pods(r#"[{"metadata":{"name":"a"}}]"#)).expect("valid");
    list.iter_mut().for_each(|pod| pod.labels_mut().extend([("x".into(), "y".into())]));
    for pod in &mut list {
        pod.metadata.namespace = Some("web".into());
    }
    assert_eq!(list.iter().count(), (&list).into_iter().count());
    let json = serde_json::to_value(&list).expect("valid");
    assert_eq!(json["kind"], "PodList");
    assert_eq!(json["items"][0]["metadata"]["labels"]["x"], "y");
    assert_eq!(list.into_iter().next().and_then(|pod| pod.namespace()).as_deref(), Some("web"));
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Size {
    replicas: i32,
}

#[test]
fn typed_objects_round_trip() {
    let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Shop"));
    let mut shop: Object<Size, Size> = Object::new("corner", &ar, Size { replicas: 2 }).within("town");
    shop.spec_mut().replicas = 3;
    *shop.status_mut() = Some(Size { replicas: 1 });
    let json = serde_json::to_value(&shop).expect("valid");
    assert_eq!(
        json,
        json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner", "namespace": "town"},
               "spec": {"replicas": 3}, "status": {"replicas": 1}})
    );
    let back: Object<Size, Size> = read(&json).expect("valid");
    assert_eq!((back.spec().replicas, back.status().map(|s| s.replicas)), (3, Some(1)));
    assert_eq!(back.types, shop.types);
}

#[test]
fn a_typed_object_requires_metadata_and_spec() {
    let missing = read::<Object<Size, NotUsed>>(&json!({"metadata": {}})).expect_err("no spec").to_string();
    assert!(missing.contains("missing field `spec`"), "{missing}");
    let missing =
        read::<Object<Size, NotUsed>>(&json!({"spec": {"replicas": 1}})).expect_err("none").to_string();
    assert!(missing.contains("missing field `metadata`"), "{missing}");
    let plain: Object<NotUsed, NotUsed> =
        read(&json!({"metadata": {"name": "a"}, "status": [1], "data": {}})).expect("valid");
    assert!(plain.types.is_none() && plain.status.is_some());
    let optional: Object<Option<Size>, NotUsed> =
        read(&json!({"metadata": {}, "status": null})).expect("valid");
    assert!(optional.spec.is_none() && optional.status.is_none());
    assert_eq!(serde_json::to_value(&plain).expect("valid")["spec"], json!({}));
}

#[test]
fn the_head_of_a_list_is_that_of_the_whole_list() {
    for input in [
        json!({}),
        json!({"items": null}),
        json!({"items": 5}),
        json!({"items": {}}),
        json!({"items": [], "kind": null, "apiVersion": "", "metadata": null}),
        json!({"items": [{}], "kind": "PodList", "apiVersion": "v2", "metadata": {"continue": "c", "odd": 1}}),
        json!({"items": [], "kind": 5}),
        json!({"items": [], "apiVersion": []}),
        json!({"items": [], "metadata": "x"}),
        json!({"items": [], "metadata": {"continue": 5}}),
        json!([]),
    ] {
        let list = serde_json::from_value::<ObjectList<Value>>(input.clone());
        let head = serde_json::from_value::<ListHead>(input.clone());
        match (list, head) {
            (Ok(list), Ok(head)) => assert_eq!((list.types, list.metadata), (head.types, head.metadata)),
            (list, head) => assert!(list.is_err() && head.is_err(), "{input}: {head:?}"),
        }
    }
}
