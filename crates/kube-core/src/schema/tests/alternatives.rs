//! Defaults, rules and descriptions of one branch of an enum, or of an optional flattened struct.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{of, rewritten};

#[derive(Serialize, JsonSchema)]
struct Image {
    image: String,
    #[serde(default)]
    tag: String,
}

#[test]
fn a_default_of_only_one_variant_is_removed() {
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Untagged {
        Image(Image),
        Path { path: String },
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "type")]
    enum Internal {
        Image(Image),
        Path { path: String },
    }
    #[derive(Serialize, JsonSchema)]
    enum External {
        Image(Image),
        Path { path: String },
    }
    let text = json!({ "type": "string" });
    assert_eq!(of::<Untagged>()["properties"]["tag"], text);
    assert_eq!(of::<Internal>()["properties"]["tag"], text);
    let inside = of::<External>()["properties"]["Image"]["properties"]["tag"].clone();
    assert_eq!(
        inside,
        json!({ "type": "string", "default": "" }),
        "below the field of its own variant the default stays"
    );
}

#[test]
fn a_default_of_every_variant_stays() {
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Same {
        A {
            a: u8,
            #[serde(default)]
            tag: String,
        },
        B {
            b: u8,
            #[serde(default)]
            tag: String,
        },
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Third {
        Same(Same),
        C { c: u8 },
    }
    assert_eq!(of::<Same>()["properties"]["tag"]["default"], "");
    assert_eq!(of::<Third>()["properties"]["tag"].get("default"), None);
}

#[test]
fn defaults_below_a_field_that_an_open_variant_may_have_are_removed() {
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Open {
        Known { inner: Image },
        Any(std::collections::BTreeMap<String, serde_json::Value>),
    }
    assert_eq!(of::<Open>().pointer("/properties/inner/properties/tag"), Some(&json!({ "type": "string" })));
}

#[test]
fn rules_of_a_variant_apply_to_its_values_only() {
    let rule = |rule: &str| json!([{ "rule": rule, "message": "m" }]);
    let part = |field: &str, of_part: &str| {
        json!({
            "type": "object", "required": [field], "properties": { (field): { "type": "integer" } },
            "x-kubernetes-validations": rule(of_part),
        })
    };
    let tagged = |tag: &str, mut node: serde_json::Value| {
        node["properties"]["t"] = json!({ "type": "string", "const": tag });
        node["required"].as_array_mut().unwrap().push("t".into());
        node
    };
    let rules = |schema: serde_json::Value| -> Vec<String> {
        let rules = rewritten(schema)["x-kubernetes-validations"].clone();
        rules.as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
    };
    let (a, b) = (part("a", "self.a > 0"), part("b", "self.b > oldSelf.b"));
    assert_eq!(
        rules(json!({ "oneOf": [tagged("A", a.clone()), tagged("B", b.clone())] })),
        ["self.t != 'A' || (self.a > 0)", "self.t != 'B' || oldSelf.t != 'B' || (self.b > oldSelf.b)"]
    );
    assert_eq!(
        rules(json!({ "anyOf": [a, b] })),
        [
            "!has(self.a) || (self.a > 0)",
            "(has(self.a)) || !has(self.b) || (has(oldSelf.a)) || !has(oldSelf.b) || (self.b > oldSelf.b)"
        ]
    );
    let shared = part("a", "self.c > 0");
    assert_eq!(rules(json!({ "anyOf": [shared, part("b", "self.c > 0")] })), ["self.c > 0"]);
    let optional = json!({
        "properties": { "a-b": { "type": "string" }, "c": {} },
        "x-kubernetes-validations": [{ "rule": "oldSelf.hasValue() // new", "optionalOldSelf": true }],
    });
    assert_eq!(
        rules(json!({ "type": "object", "anyOf": [optional, {}] })),
        [
            "!(has(self.a__dash__b)) || (oldSelf.hasValue() && (!(has(oldSelf.value().a__dash__b)))) || (oldSelf.hasValue())"
        ]
    );
}

#[test]
fn an_open_node_has_no_rules() {
    let schema = rewritten(json!({
        "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": { "a": {} }, "x-kubernetes-validations": [{ "rule": "has(self.a)" }] },
        ],
    }));
    assert_eq!(schema, json!({ "x-kubernetes-preserve-unknown-fields": true }));
}

/// Colours.
#[derive(Serialize, JsonSchema)]
enum Documented {
    /// Like blood.
    ///
    /// Or wine.
    Red,
    /// Like the sky.
    Blue,
}

/// An inner type.
#[derive(Serialize, JsonSchema)]
struct Inner {
    /// Its field.
    a: u8,
}

#[test]
fn each_variant_is_described() {
    #[derive(Serialize, JsonSchema)]
    struct Fields {
        /// The colour.
        color: Option<Documented>,
        plain: Documented,
    }
    let schema = of::<Fields>();
    let list = "- `Red`: Like blood.\n\n  Or wine.\n- `Blue`: Like the sky.";
    assert_eq!(schema["properties"]["color"]["description"], format!("The colour.\n\n{list}"));
    assert_eq!(schema["properties"]["plain"]["description"], format!("Colours.\n\n{list}"));

    /// External.
    #[derive(Serialize, JsonSchema)]
    enum External {
        /// First.
        A(Inner),
        B(Inner),
        /// Third.
        C {
            c: u8,
        },
    }
    let schema = of::<Option<External>>();
    assert_eq!(schema["description"], "External.");
    for (name, text) in [("A", "First."), ("B", "An inner type."), ("C", "Third.")] {
        assert_eq!(schema["properties"][name]["description"], text);
    }

    #[derive(Serialize, JsonSchema)]
    enum Mixed {
        /// First.
        A,
        /// Second.
        B(u8),
    }
    assert_eq!(of::<Mixed>()["description"], "- `A`: First.\n- `B`: Second.");
}

#[test]
fn tags_describe_the_variants() {
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "type")]
    enum Internal {
        /// First.
        A(Inner),
        B {
            b: u8,
        },
        /// Third.
        C,
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "type", content = "value")]
    enum Adjacent {
        /// First.
        A(Inner),
        /// Third.
        C,
    }
    for schema in [of::<Internal>(), of::<Option<Internal>>(), of::<Adjacent>()] {
        assert_eq!(schema["properties"]["type"]["description"], "- `A`: First.\n- `C`: Third.", "{schema}");
        assert_eq!(schema.get("description"), None);
    }
}

#[test]
fn untagged_variants_are_described_together() {
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Untagged {
        /// A number.
        Number(u8),
        /// With a field.
        Named {
            a: u8,
        },
        Inner(Inner),
    }
    let list = "- A number.\n- `a`: With a field.\n- `a`: An inner type.";
    assert_eq!(of::<Untagged>()["description"], list);
    assert_eq!(of::<Option<Untagged>>()["description"], list);
}
