//! Typed conversions: by way of the hub, of partial objects, and with unknown fields.

use k8s_openapi::api::autoscaling::{v1, v2};

use serde_json::json;

use super::*;

fn versions() -> Versions<v2::HorizontalPodAutoscaler> {
    Versions::new().version_with(
        |old: v1::HorizontalPodAutoscaler| {
            let max_replicas = old.spec.max_replicas;
            if max_replicas == 0 {
                return Err("spec.maxReplicas: must be at least 1");
            }
            let spec = v2::HorizontalPodAutoscalerSpec { max_replicas, ..Default::default() };
            Ok(v2::HorizontalPodAutoscaler { metadata: old.metadata, spec, ..Default::default() })
        },
        |new: v2::HorizontalPodAutoscaler| {
            let max_replicas = new.spec.max_replicas;
            let spec = v1::HorizontalPodAutoscalerSpec { max_replicas, ..Default::default() };
            Ok::<_, String>(v1::HorizontalPodAutoscaler {
                metadata: new.metadata,
                spec,
                ..Default::default()
            })
        },
    )
}

fn object(version: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn versions_convert_by_way_of_the_hub_and_back() {
    let spec = json!({"maxReplicas": 7, "scaleTargetRef": {"kind": "", "name": ""}});
    let old = object("v1", &spec);
    let new = versions().convert(old.clone(), "autoscaling/v2").unwrap();
    assert_eq!((&new["apiVersion"], &new["spec"]["maxReplicas"]), (&json!("autoscaling/v2"), &json!(7)));
    assert_eq!(versions().convert(new, "autoscaling/v1").unwrap(), old);
    assert_eq!(format!("{:?}", versions()).matches("autoscaling/v").count(), 2);
}

#[test]
fn errors_name_the_field_or_the_versions() {
    let fails = |object: Value, to: &str| versions().convert(object, to).unwrap_err().to_string();
    assert_eq!(fails(object("v1", &json!({})), "autoscaling/v2"), "spec.maxReplicas: must be at least 1");
    let error = fails(object("v1", &json!({"maxReplicas": "x"})), "autoscaling/v2");
    assert!(error.starts_with("spec.maxReplicas: invalid type: string \"x\""), "{error}");
    let error = fails(object("v1", &json!({})), "autoscaling/v9");
    assert_eq!(error, "unknown version \"autoscaling/v9\", expected one of autoscaling/v2, autoscaling/v1");
    assert!(
        fails(object("v0", &json!({})), "autoscaling/v2").starts_with("unknown version \"autoscaling/v0\"")
    );
}

mod partial {
    use kube_derive::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    mod old {
        use super::*;

        #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "example.com", version = "v1", kind = "Page", namespaced)]
        #[kube(crates(kube_core = "kube_core", k8s_openapi = "k8s_openapi"))]
        pub(crate) struct PageSpec {
            pub size: u32,
            pub title: String,
            pub shape: Shape,
            #[serde(default)]
            pub draft: bool,
            #[serde(default)]
            pub parts: Vec<Part>,
        }

        #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
        pub(crate) struct Part {
            pub name: String,
            pub weight: u32,
        }

        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        pub(crate) enum Shape {
            Round,
            Square,
        }
    }

    mod new {
        use super::*;

        #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
        #[kube(group = "example.com", version = "v2", kind = "Page", namespaced)]
        #[kube(crates(kube_core = "kube_core", k8s_openapi = "k8s_openapi"))]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct PageSpec {
            pub pixels: u32,
            pub title: String,
            pub outline: Option<old::Shape>,
            pub unpublished: bool,
            /// v1 does not have it.
            pub theme: String,
            #[serde(default)]
            pub parts: Vec<old::Part>,
        }
    }

    use new::{Page as V2, PageSpec as SpecV2};
    use old::{Page as V1, PageSpec as SpecV1, Shape};

    fn versions() -> Versions<V2> {
        Versions::new().version_with(
            |old: V1| {
                let SpecV1 { size, title, shape, draft, parts } = old.spec;
                if title.contains('\n') {
                    return Err("spec.title: must be one line");
                }
                let outline = Some(shape);
                let spec = SpecV2 {
                    pixels: size * 10,
                    title,
                    outline,
                    unpublished: draft,
                    theme: "plain".into(),
                    parts,
                };
                Ok(V2 { metadata: old.metadata, spec })
            },
            |new: V2| {
                let SpecV2 { pixels, title, outline, unpublished, parts, .. } = new.spec;
                let shape = outline.unwrap_or(Shape::Round);
                let spec = SpecV1 { size: pixels / 10, title, shape, draft: unpublished, parts };
                Ok::<_, String>(V1 { metadata: new.metadata, spec })
            },
        )
    }

    fn converted(object: Value, to: &str) -> Value {
        versions().convert(object, to).unwrap_or_else(|error| panic!("{error}"))
    }

    fn v1(spec: Value) -> Value {
        json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": spec})
    }

    fn spec_in_v2(spec: Value) -> Value {
        let converted = converted(v1(spec), "example.com/v2");
        assert_eq!(converted["metadata"], json!({"name": "a", "labels": {"x": "y"}}));
        converted["spec"].clone()
    }

    #[test]
    fn nothing_is_added_to_a_partial_object_and_nothing_is_lost() {
        for (old, new) in [
            (json!({"size": 3}), json!({"pixels": 30})),
            (json!({"title": "t"}), json!({"title": "t"})),
            // The values that stand in, and the defaults of the types.
            (json!({"size": 0}), json!({"pixels": 0})),
            (json!({"size": 1, "title": ""}), json!({"pixels": 10, "title": ""})),
            (json!({"title": "x", "draft": false}), json!({"title": "x", "unpublished": false})),
            (json!({"title": "t", "draft": true}), json!({"title": "t", "unpublished": true})),
            (json!({"shape": "Round"}), json!({"outline": "Round"})),
            (json!({"shape": "Square"}), json!({"outline": "Square"})),
            (
                json!({"parts": [{"name": "p"}, {"name": "q", "weight": 0}]}),
                json!({"parts": [{"name": "p"}, {"name": "q", "weight": 0}]}),
            ),
            (json!({"parts": []}), json!({"parts": []})),
            (json!({}), json!({})),
        ] {
            assert_eq!(spec_in_v2(old.clone()), new, "{old}");
            let object = json!({"apiVersion": "example.com/v2", "kind": "Page", "metadata": {}, "spec": new});
            assert_eq!(converted(object, "example.com/v1")["spec"], old, "and back from {new}");
        }
    }

    #[test]
    fn a_complete_object_gets_what_the_function_adds() {
        let spec = spec_in_v2(json!({"size": 3, "title": "t", "shape": "Round"}));
        let expected = json!({"pixels": 30, "title": "t", "outline": "Round", "unpublished": false, "theme": "plain", "parts": []});
        assert_eq!(spec, expected);
    }

    #[test]
    fn an_absent_field_is_not_null_in_the_other_version() {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": "a"},
            "spec": {"size": 3, "title": "t", "shape": "Round"}});
        let identity = Versions::<V1>::new().version_with(
            |new: V2| {
                Ok::<_, String>(V1 {
                    metadata: new.metadata,
                    spec: SpecV1 {
                        size: new.spec.pixels,
                        title: new.spec.title,
                        shape: Shape::Round,
                        draft: false,
                        parts: Vec::new(),
                    },
                })
            },
            |old: V1| {
                Ok::<_, String>(V2 {
                    metadata: old.metadata,
                    spec: SpecV2 {
                        pixels: old.spec.size,
                        title: old.spec.title,
                        outline: None,
                        unpublished: false,
                        theme: String::new(),
                        parts: Vec::new(),
                    },
                })
            },
        );
        assert!(identity.convert(object, "example.com/v2").unwrap()["spec"].get("outline").is_none());
    }

    #[test]
    fn an_object_without_spec_or_metadata_is_partial_too() {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Page"});
        let expected = json!({"apiVersion": "example.com/v2", "kind": "Page", "metadata": {}});
        assert_eq!(converted(object, "example.com/v2"), expected);
        let object = json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": "a"}});
        let expected = json!({"apiVersion": "example.com/v2", "kind": "Page", "metadata": {"name": "a"}});
        assert_eq!(converted(object, "example.com/v2"), expected);
    }

    #[test]
    fn unknown_fields_are_carried() {
        let whole = json!({"size": 3, "title": "t", "shape": "Round", "extra": {"u": [1]}, "parts": [{"name": "p", "weight": 1, "u": 1}]});
        let spec = spec_in_v2(whole);
        assert_eq!((&spec["extra"], &spec["parts"][0]["u"]), (&json!({"u": [1]}), &json!(1)));
        let partial = json!({"title": "t", "extra": 1, "parts": [{"name": "p", "u": 1}], "theme": "dark"});
        let expected = json!({"title": "t", "extra": 1, "parts": [{"name": "p", "u": 1}]});
        assert_eq!(spec_in_v2(partial), expected, "the field theme of v2 is none of v1");
    }

    #[test]
    fn what_cannot_stand_in_is_named_and_an_example_helps() {
        let picky = || {
            Versions::<V2>::new().version_with(
                |old: V1| {
                    let SpecV1 { size, title, shape, draft, parts } = old.spec;
                    let Ok(theme) = title.parse::<std::net::IpAddr>() else {
                        return Err("spec.title: no address");
                    };
                    let spec = SpecV2 {
                        pixels: size,
                        title,
                        outline: Some(shape),
                        unpublished: draft,
                        theme: theme.to_string(),
                        parts,
                    };
                    Ok(V2 { metadata: old.metadata, spec })
                },
                |_: V2| Err::<V1, _>("not used"),
            )
        };
        let error = picky().convert(v1(json!({"size": 3})), "example.com/v2").unwrap_err().to_string();
        let expected = "the object is partial, and the conversion refuses what stands for spec.shape, spec.title \
                        (spec.title: no address): give the Versions an example";
        assert_eq!(error, expected);
        let example =
            SpecV1 { size: 0, title: "::1".into(), shape: Shape::Round, draft: false, parts: Vec::new() };
        let versions = picky().example(V1::new("example", example));
        let converted = versions.convert(v1(json!({"size": 3})), "example.com/v2").unwrap();
        assert_eq!(converted["spec"], json!({"pixels": 3}));
        let error = versions.convert(v1(json!({"size": "x"})), "example.com/v2").unwrap_err().to_string();
        assert!(error.starts_with("spec.size: invalid type: string \"x\""), "{error}");
    }

    #[test]
    fn types_without_empty_values_are_filled_by_an_example() {
        #[derive(Debug, Deserialize, Serialize)]
        struct Strict {
            address: std::net::IpAddr,
            at: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time,
            other: Box<Other>,
        }
        #[derive(Debug, Deserialize, Serialize)]
        #[serde(tag = "type", rename_all = "camelCase")]
        enum Other {
            Plain { amount: k8s_openapi::apimachinery::pkg::api::resource::Quantity },
        }
        let decode = |object: &Value| recode::<Strict>(object);
        let error =
            stand_in::fill(json!({}), None, stand_in::Choice::First, decode).err().unwrap().to_string();
        assert!(
            error.starts_with("the object is partial, and nothing is known that can stand for address ("),
            "{error}"
        );
        let example = json!({"address": "::1"});
        let filled = stand_in::fill(json!({}), Some(&example), stand_in::Choice::First, decode).unwrap();
        let expected =
            json!({"address": "::1", "at": "1970-01-01T00:00:00Z", "other": {"type": "plain", "amount": ""}});
        assert_eq!(filled.object, expected);
    }
}
