//! The representations of types in serde, each as a custom resource with sample objects. [`rows`] lists them.
//!
//! For every row, an API server must accept the definition and store each object unchanged.
//! The crate that includes this file needs `kube_core` and `kube_derive` in its root (`extern crate`, or
//! `use kube::core as kube_core;`), and k8s-openapi's feature `schemars`.
#![allow(unreachable_pub)]

#[path = "table/parts.rs"]
mod parts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use k8s_openapi::{
    api::core::v1::{PodSpec, ResourceRequirements},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, MicroTime, Time},
        util::intstr::IntOrString,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    kube_core::{CustomResourceExt, Resource},
    kube_derive::{CustomResource, KubeSchema},
};

/// One kind, and serialized objects of it.
pub struct Row {
    pub name: &'static str,
    pub crd: CustomResourceDefinition,
    pub objects: Vec<Value>,
    /// Objects that a server must reject.
    pub rejected: Vec<RejectedObject>,
    /// Deserializes and serializes an object.
    pub round_trip: fn(Value) -> Result<Value, serde_json::Error>,
}

/// The first object of a row with one wrong value.
pub struct RejectedObject {
    pub object: Value,
    /// The change, for messages.
    pub change: String,
    /// Whether it violates a CEL rule: servers evaluate rules since Kubernetes 1.25.
    pub by_rule: bool,
}

impl Row {
    fn of<K>(name: &'static str, objects: impl IntoIterator<Item = K>) -> Self
    where
        K: CustomResourceExt + Resource + Serialize + DeserializeOwned,
    {
        let objects = objects.into_iter().enumerate().map(|(n, mut object)| {
            object.meta_mut().name = Some(format!("sample-{n}"));
            serde_json::to_value(object).expect("every sample serializes")
        });
        Self {
            name,
            crd: K::crd(),
            objects: objects.collect(),
            rejected: Vec::new(),
            round_trip: |value| serde_json::to_value(serde_json::from_value::<K>(value)?),
        }
    }
}

impl Row {
    /// Adds rejected objects: each `(pointer, value)` replaces a value in the first object, `null` removes the field.
    fn rejects(mut self, changes: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        self.rejected.extend(self.change(changes, false));
        self
    }

    /// The same for objects that violate CEL rules.
    fn rejects_by_rule(mut self, changes: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        self.rejected.extend(self.change(changes, true));
        self
    }

    fn change(
        &self,
        changes: impl IntoIterator<Item = (&'static str, Value)>,
        by_rule: bool,
    ) -> Vec<RejectedObject> {
        let rejected = changes.into_iter().map(|(pointer, value)| {
            let change = format!("{pointer} = {value}");
            let mut object = self.objects[0].clone();
            let (parent, key) = pointer.rsplit_once('/').expect("a JSON pointer");
            let fields = object.pointer_mut(parent).and_then(Value::as_object_mut);
            let fields = fields.unwrap_or_else(|| panic!("{pointer}: no such field in the sample"));
            if value.is_null() {
                fields.remove(key).unwrap_or_else(|| panic!("{pointer}: nothing to remove"));
            } else {
                fields.insert(key.to_owned(), value);
            }
            RejectedObject { object, change, by_rule }
        });
        rejected.collect()
    }
}

/// All rows.
#[expect(clippy::too_many_lines, reason = "a table")]
pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::of("scalars", [ScalarSpec::sample()].map(|spec| Scalars::new("", spec))).rejects([
            ("/spec/text", json!(1)),
            ("/spec/yes", json!("yes")),
            ("/spec/tiny", json!(200)),
            ("/spec/byte", json!(-1)),
            ("/spec/port", json!(70000)),
            ("/spec/nonzero", json!(0)),
            ("/spec/bounded", json!(12)),
            ("/spec/bounded", json!(5)),
            ("/spec/short", json!("a")),
            ("/spec/short", json!("abcdef")),
            ("/spec/short", json!("ABC")),
            ("/spec/normal", json!(1.5)),
            ("/spec/some-thing", json!(null)),
        ]),
        Row::of("options", [OptionSpec::default(), OptionSpec::full()].map(|spec| Options::new("", spec)))
            .rejects([
                ("/spec/plain", json!(5)),
                ("/spec/inner", json!({})),
                ("/spec/inner", json!({ "a": "a", "b": 300 })),
                ("/spec/boxed", json!({ "a": 1 })),
                ("/spec/list", json!([1])),
            ]),
        Row::of("unit enums", UnitEnumSpec::samples().map(|spec| UnitEnums::new("", spec))).rejects([
            ("/spec/color", json!("green")),
            ("/spec/maybe", json!("green")),
            ("/spec/documented", json!("Third")),
            ("/spec/list", json!(["blue", "green"])),
            ("/spec/one", json!("Other")),
            ("/spec/color", json!(null)),
        ]),
        Row::of("externally tagged enums", ExternalSpec::samples().map(|spec| Externals::new("", spec)))
            .rejects([
                ("/spec/data", json!({ "number": 1, "pair": [1, "a"] })),
                ("/spec/data", json!({})),
                ("/spec/data", json!({ "none": 1 })),
                ("/spec/data", json!({ "number": "1" })),
                ("/spec/data", json!("number")),
                ("/spec/optional", json!({ "number": 1, "list": [] })),
                ("/spec/result", json!({ "Ok": "a", "Err": 1 })),
                ("/spec/data", json!({ "object": {} })),
            ]),
        Row::of("internally tagged enums", InternalSpec::samples().map(|spec| Internals::new("", spec)))
            .rejects([
                ("/spec/data", json!({ "type": "none" })),
                ("/spec/data", json!({})),
                ("/spec/data", json!({ "type": "text" })),
                ("/spec/data", json!({ "type": "number" })),
                ("/spec/optional", json!({ "type": "none" })),
                ("/spec/list", json!([{ "type": "wrapped" }])),
            ]),
        Row::of("adjacently tagged enums", AdjacentSpec::samples().map(|spec| Adjacents::new("", spec)))
            .rejects([
                ("/spec/data", json!({ "t": "None" })),
                ("/spec/data", json!({ "t": "Number" })),
                ("/spec/optional", json!({ "c": 1 })),
                ("/spec/objects", json!([{ "kind": "A" }])),
                ("/spec/objects", json!([{ "kind": "C", "value": { "a": "a", "shared": 1 } }])),
            ]),
        Row::of("untagged enums", UntaggedSpec::samples().map(|spec| Untaggeds::new("", spec))).rejects([
            ("/spec/scalar", json!(true)),
            ("/spec/objects", json!([{ "one": "1" }])),
            ("/spec/objects", json!([{}])),
            ("/spec/numbers", json!(["1"])),
        ]),
        Row::of(
            "enum as spec",
            [EnumSpec::File { path: "/a".into() }, EnumSpec::Url("b".into())]
                .map(|spec| EnumAsSpec::new("", spec)),
        )
        .rejects([("/spec/url", json!("b")), ("/spec/file", json!(null)), ("/spec/file", json!({}))]),
        Row::of("flattened fields", FlattenSpec::samples().map(|spec| Flattens::new("", spec))).rejects([
            ("/spec/fromUrl", json!("u")),
            ("/spec/target", json!("Middle")),
            ("/spec/own", json!(null)),
            ("/spec/a", json!(1)),
            ("/spec/other", json!({ "name": "n" })),
        ]),
        Row::of("maps", [MapSpec::sample()].map(|spec| Maps::new("", spec))).rejects([
            ("/spec/strings", json!({ "a": 1 })),
            ("/spec/by_number", json!({ "1": 1 })),
            ("/spec/nested", json!({ "a": { "b": ["x"] } })),
            ("/spec/sorted", json!({ "k": {} })),
            ("/spec/enums", json!({ "a": { "number": 1, "pair": [1, "x"] } })),
            ("/spec/nullable", json!({ "a": "x" })),
        ]),
        Row::of("collections", [CollectionSpec::sample()].map(|spec| Collections::new("", spec))).rejects([
            ("/spec/list", json!({})),
            ("/spec/array", json!([1, 2])),
            ("/spec/pair", json!([1, 2, 3])),
            ("/spec/tree_set", json!(["green"])),
            ("/spec/lists", json!([["x"]])),
        ]),
        Row::of("any value", OpenSpec::samples().map(|spec| Opens::new("", spec)))
            .rejects([("/spec", json!("text"))]),
        Row::of("kubernetes types", KubernetesSpec::samples().map(|spec| Kubernetes::new("", spec))).rejects(
            [
                ("/spec/port", json!(true)),
                ("/spec/ports", json!([{}])),
                ("/spec/time", json!("yesterday")),
                ("/spec/selector", json!([])),
                ("/spec/quantities", json!({ "cpu": true })),
            ],
        ),
        Row::of(
            "defaults",
            [DefaultSpec::default(), DefaultSpec::other()].map(|spec| Defaults::new("", spec)),
        )
        .rejects([
            ("/spec/text", json!(1)),
            ("/spec/color", json!("green")),
            ("/spec/maybe_color", json!("green")),
            ("/spec/external", json!({ "number": 1, "inner": { "a": "" } })),
            ("/spec/internal", json!({ "type": "none" })),
            ("/spec/untagged", json!([])),
        ]),
        Row::of("recursion", [RecursiveSpec::sample()].map(|spec| Recursives::new("", spec))).rejects([
            ("/spec/tree", json!({ "value": "x" })),
            ("/spec/expression", json!({ "value": "a", "all": [] })),
        ]),
        Row::of(
            "units",
            [UnitSpec { nothing: (), unit: Unit, maybe: None, newtype: Newtype(3) }]
                .map(|spec| Units::new("", spec)),
        )
        .rejects([("/spec/newtype", json!(300)), ("/spec/newtype", json!("3"))]),
        Row::of("no spec", [NoSpecs::sample()]).rejects([
            ("/theData", json!({ "a": 1 })),
            ("/immutable", json!("no")),
            ("/theData", json!(null)),
        ]),
        Row::of("variants of variants", VariantSpec::samples().map(|spec| Variants::new("", spec))).rejects(
            [
                ("/spec/nested", json!({ "kind": "none" })),
                ("/spec/pair", json!([1, "a"])),
                ("/spec/options", json!([{ "a": 1, "color": 1 }])),
            ],
        ),
        Row::of("shapes by attribute", ShapeSpec::samples().map(|spec| Shapes::new("", spec))).rejects([
            ("/spec/transparent", json!({})),
            ("/spec/generic", json!({ "value": 300, "list": [] })),
            ("/spec/maybe-empty", json!(["x"])),
            ("/spec/new-name", json!(null)),
            ("/spec/range", json!({ "start": 1 })),
        ]),
        Row::of(
            "tagged enum as spec",
            [TaggedSpec::A { a: 1 }, TaggedSpec::B { a: "x".into(), b: None }]
                .map(|spec| TaggedAsSpec::new("", spec)),
        )
        .rejects([("/spec/mode", json!("C")), ("/spec/a", json!(null))]),
        Row::of("embedded objects", [EmbeddedSpec::sample()].map(|spec| Embeddeds::new("", spec))).rejects([
            ("/spec/config_map", json!({ "data": { "k": 1 } })),
            ("/spec/template", json!({ "spec": {} })),
        ]),
        Row::of("rules and merge strategies", [RuleSpec::sample()].map(|spec| Rules::new("", spec)))
            .rejects([
                ("/spec/tagSet", json!(["x", "x"])),
                ("/spec/byName", json!([{ "a": "a" }, { "a": "a" }])),
            ])
            .rejects_by_rule([
                ("/spec/min", json!(3)),
                ("/spec/min", json!(-1)),
                ("/spec/max", json!(100)),
                ("/spec/name", json!("ABC")),
            ]),
    ];
    rows.extend(parts::rows());
    rows
}

/// Numbers, strings. Odd characters in docs: "quotes", 'single', \back\slash, `ticks`, {braces}, 日本語, <&>, %d
#[doc = "A tab:\t. A bell: \u{7}."]
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Scalars", plural = "scalars", crates(kube_core = crate::kube_core))]
#[serde(rename_all = "camelCase")]
pub struct ScalarSpec {
    /// First line
    ///
    /// - a: list
    /// # not a heading
    text: String,
    letter: char,
    yes: bool,
    tiny: i8,
    small: i16,
    normal: i32,
    large: i64,
    byte: u8,
    port: u16,
    count: u32,
    big_count: u64,
    size: usize,
    offset: isize,
    huge: i128,
    nonzero: std::num::NonZeroU32,
    float: f32,
    double: f64,
    address: std::net::IpAddr,
    v4: std::net::Ipv4Addr,
    path: std::path::PathBuf,
    #[schemars(range(min = 1, max = 10), extend("multipleOf" = 2))]
    bounded: u8,
    #[schemars(length(min = 2, max = 5), regex(pattern = "^[a-z]+$"))]
    short: String,
    #[serde(rename = "some-thing")]
    renamed: String,
    elapsed: std::time::Duration,
    go_time: crate::kube_core::Duration,
}

impl ScalarSpec {
    fn sample() -> Self {
        Self {
            text: "a \"b\" \\ \u{1F600}\n".into(),
            letter: 'ü',
            yes: true,
            tiny: i8::MIN,
            small: i16::MAX,
            normal: i32::MIN,
            large: i64::MAX,
            byte: u8::MAX,
            port: 443,
            count: u32::MAX,
            big_count: i64::MAX as u64,
            size: 7,
            offset: -7,
            huge: -1,
            nonzero: std::num::NonZeroU32::MIN,
            float: 1.5,
            double: 2.0,
            address: "::1".parse().expect("an address"),
            v4: "127.0.0.1".parse().expect("an address"),
            path: "/etc/passwd".into(),
            bounded: 4,
            short: "abc".into(),
            renamed: "x".into(),
            elapsed: std::time::Duration::from_millis(1500),
            go_time: "1h30m".parse().expect("a duration"),
        }
    }
}

#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Options", plural = "options", status = OptionStatus)]
#[kube(crates(kube_core = crate::kube_core))]
pub struct OptionSpec {
    plain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<i32>,
    inner: Option<Inner>,
    twice: Option<Option<bool>>,
    list: Option<Vec<Option<String>>>,
    boxed: Option<Box<Inner>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OptionStatus {
    phase: Option<String>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inner {
    a: String,
    b: Option<u8>,
}

impl OptionSpec {
    fn full() -> Self {
        let inner = Inner { a: "a".into(), b: Some(1) };
        Self {
            plain: Some("p".into()),
            skipped: Some(1),
            inner: Some(inner.clone()),
            twice: Some(Some(true)),
            list: Some(vec![None, Some("x".into())]),
            boxed: Some(Box::new(inner)),
        }
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "UnitEnums", plural = "unitenums", crates(kube_core = crate::kube_core))]
pub struct UnitEnumSpec {
    color: Color,
    maybe: Option<Color>,
    documented: Option<Documented>,
    list: Vec<Color>,
    one: Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Color {
    DarkRed,
    Blue,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Documented {
    /// The first.
    First,
    /// The second.
    Second,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Single {
    Only,
}

impl UnitEnumSpec {
    fn samples() -> [Self; 2] {
        let color = Color::DarkRed;
        [
            Self { color, maybe: None, documented: None, list: vec![], one: Single::Only },
            Self {
                color,
                maybe: Some(Color::Blue),
                documented: Some(Documented::Second),
                list: vec![color],
                one: Single::Only,
            },
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Externals", plural = "externals", crates(kube_core = crate::kube_core))]
pub struct ExternalSpec {
    data: External,
    optional: Option<External>,
    mixed: Vec<Mixed>,
    maybe_mixed: Option<Mixed>,
    result: Result<String, u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum External {
    /// A number.
    Number(i32),
    Pair(u8, String),
    Object {
        x: i32,
        y: Option<i32>,
    },
    Inner(Inner),
    List(Vec<Inner>),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Mixed {
    Nothing,
    Something(Inner),
    Else { why: String },
}

impl ExternalSpec {
    fn samples() -> [Self; 5] {
        let inner = Inner { a: "a".into(), b: None };
        let with = |data: External, optional: Option<External>, maybe_mixed: Option<Mixed>, result| Self {
            data,
            optional,
            mixed: vec![Mixed::Nothing, Mixed::Something(inner.clone()), Mixed::Else { why: "w".into() }],
            maybe_mixed,
            result,
        };
        [
            with(External::Number(-1), None, None, Ok("fine".into())),
            with(External::Pair(1, "p".into()), Some(External::Number(2)), Some(Mixed::Nothing), Err(3)),
            with(External::Object { x: 1, y: None }, Some(External::Pair(0, String::new())), None, Err(0)),
            with(
                External::Object { x: 1, y: Some(2) },
                None,
                Some(Mixed::Else { why: String::new() }),
                Err(0),
            ),
            with(External::Inner(inner.clone()), Some(External::List(vec![inner.clone()])), None, Err(0)),
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Internals", plural = "internals", crates(kube_core = crate::kube_core))]
pub struct InternalSpec {
    data: Internal,
    optional: Option<Internal>,
    list: Vec<Internal>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Internal {
    Empty,
    /// With a field that another variant has with another type.
    Text {
        the_value: String,
    },
    Number {
        the_value: i32,
        #[serde(default)]
        unit: Option<Color>,
    },
    Wrapped(Inner),
}

impl InternalSpec {
    fn samples() -> [Self; 2] {
        let all = vec![
            Internal::Empty,
            Internal::Text { the_value: "t".into() },
            Internal::Number { the_value: 1, unit: None },
            Internal::Number { the_value: 1, unit: Some(Color::Blue) },
            Internal::Wrapped(Inner { a: "a".into(), b: Some(1) }),
        ];
        [
            Self { data: Internal::Empty, optional: None, list: all.clone() },
            Self { data: all[1].clone(), optional: Some(all[2].clone()), list: vec![] },
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Adjacents", plural = "adjacents", crates(kube_core = crate::kube_core))]
pub struct AdjacentSpec {
    data: Adjacent,
    optional: Option<Adjacent>,
    objects: Vec<AdjacentObjects>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
pub enum Adjacent {
    Unit,
    Number(i32),
    Pair(i32, i32),
    Object { a: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value")]
pub enum AdjacentObjects {
    A { a: String, shared: u8 },
    B { b: String, shared: i64 },
}

impl AdjacentSpec {
    fn samples() -> [Self; 4] {
        let objects = vec![
            AdjacentObjects::A { a: "a".into(), shared: 1 },
            AdjacentObjects::B { b: "b".into(), shared: -1 },
        ];
        let with = |data, optional| Self { data, optional, objects: objects.clone() };
        [
            with(Adjacent::Unit, None),
            with(Adjacent::Number(1), Some(Adjacent::Unit)),
            with(Adjacent::Pair(1, 2), Some(Adjacent::Number(1))),
            with(Adjacent::Object { a: "a".into() }, Some(Adjacent::Object { a: String::new() })),
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Untaggeds", plural = "untaggeds", crates(kube_core = crate::kube_core))]
pub struct UntaggedSpec {
    scalar: Option<TextOrNumber>,
    objects: Vec<OneOrOther>,
    anything: Vec<Anything>,
    numbers: Vec<IntOrFloat>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TextOrNumber {
    Number(i64),
    Text(String),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrOther {
    One { one: String, both: u8 },
    Other { other: i32, both: u16 },
    Named(Inner),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Anything {
    Nothing,
    Flag(bool),
    Text(String),
    List(Vec<String>),
    Object(Inner),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum IntOrFloat {
    Int(i32),
    Float(f64),
}

impl UntaggedSpec {
    fn samples() -> [Self; 3] {
        let inner = Inner { a: "a".into(), b: None };
        let with = |scalar| Self {
            scalar,
            objects: vec![
                OneOrOther::One { one: "1".into(), both: 1 },
                OneOrOther::Other { other: 2, both: 60_000 },
                OneOrOther::Named(inner.clone()),
            ],
            anything: vec![
                Anything::Nothing,
                Anything::Flag(true),
                Anything::Text("t".into()),
                Anything::List(vec!["l".into()]),
                Anything::Object(inner.clone()),
            ],
            numbers: vec![IntOrFloat::Int(1), IntOrFloat::Float(1.5)],
        };
        [with(None), with(Some(TextOrNumber::Number(5))), with(Some(TextOrNumber::Text("five".into())))]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "EnumAsSpec", plural = "enumasspecs", crates(kube_core = crate::kube_core))]
#[serde(rename_all = "camelCase")]
pub enum EnumSpec {
    File { path: String },
    Url(String),
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Flattens", plural = "flattens", crates(kube_core = crate::kube_core))]
pub struct FlattenSpec {
    own: String,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    source: Source,
    #[serde(flatten)]
    target: Option<Target>,
    nested: FlattenedMap,
    other: FlattenedUntagged,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    FromFile { path: String },
    FromUrl(String),
    Nowhere,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "target")]
pub enum Target {
    Left { left: u8 },
    Right { right: u8 },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlattenedMap {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlattenedUntagged {
    name: String,
    #[serde(flatten)]
    either: Either,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Either {
    Left { left: String },
    Right { right: String },
}

impl FlattenSpec {
    fn samples() -> [Self; 3] {
        let with = |source, target, either| Self {
            own: "o".into(),
            inner: Inner { a: "a".into(), b: Some(2) },
            source,
            target,
            nested: FlattenedMap {
                name: "n".into(),
                rest: [("x".into(), json!({ "deep": [1, "two"] })), ("y".into(), json!("z"))].into(),
            },
            other: FlattenedUntagged { name: "n".into(), either },
        };
        [
            with(Source::FromFile { path: "/p".into() }, None, Either::Left { left: "l".into() }),
            with(
                Source::FromUrl("u".into()),
                Some(Target::Left { left: 1 }),
                Either::Right { right: "r".into() },
            ),
            with(Source::Nowhere, Some(Target::Right { right: 1 }), Either::Right { right: "r".into() }),
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Maps", plural = "maps", crates(kube_core = crate::kube_core))]
pub struct MapSpec {
    strings: HashMap<String, String>,
    sorted: BTreeMap<String, Inner>,
    by_number: BTreeMap<u32, String>,
    by_signed: BTreeMap<i64, bool>,
    by_color: BTreeMap<Color, u8>,
    nested: BTreeMap<String, BTreeMap<String, Vec<i32>>>,
    open: BTreeMap<String, Value>,
    nullable: BTreeMap<String, Option<u8>>,
    optional: Option<BTreeMap<String, String>>,
    object: serde_json::Map<String, Value>,
    enums: BTreeMap<String, External>,
}

impl MapSpec {
    fn sample() -> Self {
        Self {
            strings: [("a.b/c".into(), "1".into())].into(),
            sorted: [("k".into(), Inner { a: "a".into(), b: None })].into(),
            by_number: [(1, "one".into())].into(),
            by_signed: [(-1, true)].into(),
            by_color: [(Color::DarkRed, 1)].into(),
            nested: [("a".into(), [("b".into(), vec![1, 2])].into())].into(),
            open: [("a".into(), json!({ "b": [null, 1] }))].into(),
            nullable: [("a".into(), None), ("b".into(), Some(1))].into(),
            optional: None,
            object: [("k".to_owned(), json!({ "x": { "y": 1 } }))].into_iter().collect(),
            enums: [("a".into(), External::Number(1)), ("b".into(), External::Pair(1, "x".into()))].into(),
        }
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Collections", plural = "collections", crates(kube_core = crate::kube_core))]
pub struct CollectionSpec {
    list: Vec<Inner>,
    lists: Vec<Vec<u8>>,
    hash_set: HashSet<String>,
    tree_set: BTreeSet<Color>,
    array: [i16; 3],
    pair: (i32, i32),
    mixed_pair: (String, u16),
    triple: (bool, String, Inner),
    point: Point,
    pairs: Vec<(String, String)>,
    bounded: (u8, u16),
    of_enums: Vec<Internal>,
    of_open: Vec<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Point(f64, f64);

impl CollectionSpec {
    fn sample() -> Self {
        let inner = Inner { a: "a".into(), b: Some(1) };
        Self {
            list: vec![inner.clone()],
            lists: vec![vec![], vec![1]],
            hash_set: ["s".to_owned()].into(),
            tree_set: [Color::Blue, Color::DarkRed].into(),
            array: [1, 2, 3],
            pair: (1, 2),
            mixed_pair: ("a".into(), 1),
            triple: (true, "t".into(), inner),
            point: Point(0.5, 1.0),
            pairs: vec![("a".into(), "b".into())],
            bounded: (255, 65535),
            of_enums: vec![Internal::Empty],
            of_open: vec![json!(1), json!("a"), json!({ "b": null }), json!(null)],
        }
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Opens", plural = "opens", crates(kube_core = crate::kube_core))]
pub struct OpenSpec {
    any: Value,
    optional: Option<Value>,
}

impl OpenSpec {
    fn samples() -> [Self; 4] {
        [
            Self { any: json!(null), optional: None },
            Self { any: json!({ "a": { "b": [1, null, "c"] } }), optional: Some(json!([])) },
            Self { any: json!([1.5, true]), optional: Some(json!("x")) },
            Self { any: json!("text"), optional: Some(json!({})) },
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Kubernetes", plural = "kubernetes", crates(kube_core = crate::kube_core))]
pub struct KubernetesSpec {
    port: IntOrString,
    maybe_port: Option<IntOrString>,
    ports: Vec<IntOrString>,
    quantity: Quantity,
    quantities: BTreeMap<String, Quantity>,
    time: Time,
    maybe_time: Option<Time>,
    micro_time: MicroTime,
    selector: LabelSelector,
    resources: Option<ResourceRequirements>,
    pod: Option<PodSpec>,
}

impl KubernetesSpec {
    fn samples() -> [Self; 2] {
        let now: k8s_openapi::jiff::Timestamp = "2026-11-20T10:00:00Z".parse().expect("a time");
        let micro = "2026-11-20T10:00:00.123456Z".parse().expect("a time");
        let with = |port: IntOrString, maybe: bool| Self {
            port: port.clone(),
            maybe_port: maybe.then(|| port.clone()),
            ports: vec![IntOrString::Int(1), IntOrString::String("http".into())],
            quantity: Quantity("100m".into()),
            quantities: [("cpu".into(), Quantity("1".into()))].into(),
            time: Time(now),
            maybe_time: maybe.then_some(Time(now)),
            micro_time: MicroTime(micro),
            selector: LabelSelector {
                match_labels: Some([("a".into(), "b".into())].into()),
                ..Default::default()
            },
            resources: maybe.then(|| ResourceRequirements {
                limits: Some([("memory".into(), Quantity("1Gi".into()))].into()),
                ..Default::default()
            }),
            pod: maybe.then(|| {
                serde_json::from_value(json!({
                    "containers": [{
                        "name": "c",
                        "image": "i",
                        "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                        "livenessProbe": { "httpGet": { "port": "http" } },
                    }],
                }))
                .expect("a pod spec")
            }),
        };
        [with(IntOrString::Int(80), false), with(IntOrString::String("https".into()), true)]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Defaults", plural = "defaults", crates(kube_core = crate::kube_core))]
#[serde(default)]
pub struct DefaultSpec {
    text: String,
    #[serde(default = "seven")]
    number: i32,
    color: Color,
    optional: Option<String>,
    maybe_color: Option<Color>,
    list: Vec<String>,
    map: BTreeMap<String, String>,
    inner: Inner,
    external: External,
    internal: Internal,
    any: Value,
    untagged: TextOrNumber,
}

fn seven() -> i32 {
    7
}

impl Default for DefaultSpec {
    fn default() -> Self {
        Self {
            text: "default".into(),
            number: 1,
            color: Color::Blue,
            optional: None,
            maybe_color: Some(Color::DarkRed),
            list: vec!["l".into()],
            map: [("k".into(), "v".into())].into(),
            inner: Inner { a: "a".into(), b: Some(3) },
            external: External::Object { x: 1, y: None },
            internal: Internal::Text { the_value: "v".into() },
            any: json!({ "a": 1 }),
            untagged: TextOrNumber::Text("t".into()),
        }
    }
}

impl DefaultSpec {
    fn other() -> Self {
        Self {
            maybe_color: None,
            external: External::Number(1),
            internal: Internal::Empty,
            any: Value::Null,
            untagged: TextOrNumber::Number(1),
            ..Self::default()
        }
    }
}

/// Recursive types, each with fields that end the recursion of the schema.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Recursives", plural = "recursives", crates(kube_core = crate::kube_core))]
pub struct RecursiveSpec {
    tree: Tree,
    expression: Expression,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    value: i32,
    #[schemars(with = "Vec<Value>")]
    children: Vec<Tree>,
    #[schemars(with = "BTreeMap<String, Value>")]
    named: BTreeMap<String, Tree>,
    #[schemars(schema_with = "open")]
    next: Option<Box<Tree>>,
}

/// An object with arbitrary fields.
fn open(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["object", "null"], "x-kubernetes-preserve-unknown-fields": true })
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Expression {
    Value(String),
    Not(#[schemars(with = "Value")] Box<Expression>),
    All(#[schemars(with = "Vec<Value>")] Vec<Expression>),
}

impl RecursiveSpec {
    fn sample() -> Self {
        let leaf = |value| Tree { value, children: vec![], named: BTreeMap::new(), next: None };
        let deep = Tree { children: vec![leaf(3)], ..leaf(2) };
        Self {
            tree: Tree {
                value: 1,
                children: vec![deep.clone()],
                named: [("n".into(), deep.clone())].into(),
                next: Some(Box::new(deep)),
            },
            expression: Expression::All(vec![
                Expression::Value("a".into()),
                Expression::Not(Box::new(Expression::All(vec![Expression::Value("b".into())]))),
            ]),
        }
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Units", plural = "units", crates(kube_core = crate::kube_core))]
pub struct UnitSpec {
    nothing: (),
    unit: Unit,
    maybe: Option<Unit>,
    newtype: Newtype,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unit;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Newtype(u8);

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "NoSpecs", plural = "nospecs", no_spec, status = Inner)]
#[kube(crates(kube_core = crate::kube_core))]
#[serde(rename_all = "camelCase")]
pub struct NoSpecFields {
    the_data: BTreeMap<String, String>,
    immutable: Option<bool>,
}

impl NoSpecs {
    fn sample() -> Self {
        Self::new("", NoSpecFields { the_data: [("a".into(), "b".into())].into(), immutable: Some(false) })
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Rules", plural = "rules", namespaced, status = Scaled)]
#[kube(validation = ("self.spec.min <= self.spec.max", "min must not be above max"))]
#[kube(validation = Rule::new("!has(self.status) || self.status.replicas >= 0").reason(Reason::FieldValueInvalid))]
#[kube(scale(spec_replicas_path = ".spec.min", status_replicas_path = ".status.replicas"))]
#[kube(printcolumn(
    name = "Min",
    type_ = "integer",
    json_path = ".spec.min",
    description = "least",
    priority = 1
))]
#[kube(shortname = "rul", category = "kubetest", selectable = ".spec.name", deprecated = "for tests only")]
#[kube(annotation("kube.test/a", "1"), label("kube.test/l", "2"), crates(kube_core = crate::kube_core))]
#[x_kube(validation = "self.min >= 0", crates(kube_core = crate::kube_core))]
#[serde(rename_all = "camelCase")]
pub struct RuleSpec {
    min: i32,
    #[x_kube(validation = Rule::new("self < 100").message(Message::Expression("self > 999 ? 'far too large' : 'too large'".into())))]
    max: i32,
    #[x_kube(validation = ("self.matches('^[a-z]+$')", "lowercase letters only"))]
    #[x_kube(validation = Rule::new("self == oldSelf").reason(Reason::FieldValueForbidden))]
    name: String,
    #[x_kube(merge_strategy = ListMerge::Set)]
    tag_set: Vec<String>,
    #[x_kube(merge_strategy = ListMerge::Map(vec!["a".into()]))]
    by_name: Vec<Inner>,
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    atomic_list: Vec<String>,
    #[x_kube(merge_strategy = MapMerge::Granular)]
    map: BTreeMap<String, String>,
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    inner: Inner,
    unmarked: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Scaled {
    replicas: i32,
}

impl RuleSpec {
    fn sample() -> Self {
        let inner = Inner { a: "a".into(), b: None };
        Self {
            min: 1,
            max: 2,
            name: "abc".into(),
            tag_set: vec!["x".into(), "y".into()],
            by_name: vec![inner.clone()],
            atomic_list: vec![],
            map: [("k".into(), "v".into())].into(),
            inner,
            unmarked: None,
        }
    }
}

/// Enums in enums, two enums flattened into one struct, optional ones flattened.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Variants", plural = "variants", status = External)]
#[kube(crates(kube_core = crate::kube_core))]
pub struct VariantSpec {
    #[serde(flatten)]
    source: Source,
    #[serde(flatten)]
    external: External,
    nested: Nested,
    outer: Outer,
    partly: PartlyUntagged,
    options: Vec<OptionalVariant>,
    #[serde(flatten)]
    either: Option<Either>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Nested {
    Direct(Internal),
    Indirect { inner: Internal, external: Option<External> },
    Map(BTreeMap<String, u8>),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Outer {
    A(External),
    B(Option<Internal>),
    C { c: OneOrOther, d: Option<Color> },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub enum PartlyUntagged {
    Tagged(Inner),
    #[serde(untagged)]
    Free {
        free: u8,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OptionalVariant {
    Colored { color: Option<Color>, a: u8 },
    Plain { color: String },
}

impl VariantSpec {
    fn samples() -> [Self; 3] {
        let internal = Internal::Number { the_value: 1, unit: None };
        let external = External::Object { x: 1, y: None };
        let options = vec![
            OptionalVariant::Colored { color: None, a: 1 },
            OptionalVariant::Colored { color: Some(Color::Blue), a: 1 },
            OptionalVariant::Plain { color: "mauve".into() },
        ];
        let with = |source, nested, outer, partly, either| Self {
            source,
            external: external.clone(),
            nested,
            outer,
            partly,
            options: options.clone(),
            either,
        };
        [
            with(
                Source::FromUrl("u".into()),
                Nested::Direct(internal.clone()),
                Outer::A(External::Number(1)),
                PartlyUntagged::Free { free: 1 },
                None,
            ),
            with(
                Source::FromFile { path: "p".into() },
                Nested::Indirect { inner: Internal::Empty, external: None },
                Outer::B(None),
                PartlyUntagged::Tagged(Inner { a: String::new(), b: None }),
                Some(Either::Left { left: "l".into() }),
            ),
            with(
                Source::Nowhere,
                Nested::Map([("x".into(), 1)].into()),
                Outer::C { c: OneOrOther::Other { other: 1, both: 2 }, d: None },
                PartlyUntagged::Free { free: 0 },
                Some(Either::Right { right: "r".into() }),
            ),
        ]
    }
}

/// Types whose representation depends on attributes of serde and schemars.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Shapes", plural = "shapes", crates(kube_core = crate::kube_core))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShapeSpec {
    transparent: Transparent,
    closed: Closed,
    generic: Generic<u8>,
    other_generic: Option<Generic<Inner>>,
    #[schemars(with = "String")]
    as_text: std::net::SocketAddr,
    #[schemars(schema_with = "handwritten_schema")]
    by_hand: Value,
    #[serde(skip)]
    #[allow(dead_code)]
    skipped: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    maybe_empty: Vec<u8>,
    #[serde(alias = "old-name")]
    new_name: String,
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    open: Inner,
    #[deprecated]
    #[serde(default)]
    former: Option<String>,
    cow: std::borrow::Cow<'static, str>,
    range: std::ops::Range<u32>,
}

fn handwritten_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": ["object", "string"],
        "exclusiveMinimum": 3,
        "examples": [1],
        "$comment": "none of a server's business",
        "if": { "type": "string" },
    })
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Transparent {
    value: Vec<Inner>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    a: Option<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Generic<T> {
    value: T,
    list: Vec<T>,
}

impl ShapeSpec {
    fn samples() -> [Self; 2] {
        let inner = Inner { a: "a".into(), b: None };
        #[allow(deprecated)]
        let with = |other_generic, by_hand, former| Self {
            transparent: Transparent { value: vec![inner.clone()] },
            closed: Closed { a: None },
            generic: Generic { value: 1, list: vec![] },
            other_generic,
            as_text: "127.0.0.1:80".parse().expect("an address"),
            by_hand,
            skipped: 0,
            maybe_empty: vec![],
            new_name: "n".into(),
            open: inner.clone(),
            former,
            cow: "moo".into(),
            range: 1..5,
        };
        [
            with(None, json!("text"), None),
            with(
                Some(Generic { value: inner.clone(), list: vec![inner.clone()] }),
                json!({ "a": { "b": 1 } }),
                Some("f".into()),
            ),
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "TaggedAsSpec", plural = "taggedasspecs")]
#[kube(crates(kube_core = crate::kube_core))]
#[serde(tag = "mode")]
pub enum TaggedSpec {
    A { a: u8 },
    B { a: String, b: Option<u8> },
}

/// Whole Kubernetes objects, and `JSONSchemaProps`, which is recursive: its field is an open node.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Embeddeds", plural = "embeddeds", crates(kube_core = crate::kube_core))]
pub struct EmbeddedSpec {
    config_map: k8s_openapi::api::core::v1::ConfigMap,
    template: k8s_openapi::api::core::v1::PodTemplateSpec,
    #[schemars(with = "Value")]
    schema: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps,
}

impl EmbeddedSpec {
    fn sample() -> Self {
        serde_json::from_value(json!({
            "config_map": { "metadata": { "name": "x", "labels": { "a": "b" } }, "data": { "k": "v" }, "binaryData": { "b": "AA==" } },
            "template": { "metadata": { "annotations": { "a": "b" } }, "spec": { "containers": [{ "name": "c" }] } },
            "schema": {
                "type": "object",
                "properties": { "a": { "type": "array", "items": { "type": "string", "enum": ["x"] } } },
                "additionalProperties": true,
            },
        }))
        .expect("a sample")
    }
}
