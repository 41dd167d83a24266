//! Rows about defaults and rules of parts of a value: of one variant, of a flattened struct, of one item of a container.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON,
    apimachinery::pkg::{api::resource::Quantity, runtime::RawExtension, util::intstr::IntOrString},
    jiff::{SignedDuration, Span},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Row;
use crate::kube_derive::{CustomResource, KubeSchema};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::of("defaults of variants", VolumeSpec::samples().map(|spec| Volumes::new("", spec))).rejects([
            ("/spec/untagged", json!([{ "tag": "t" }])),
            ("/spec/tagged", json!([{ "from": "image" }])),
            ("/spec/external", json!([{ "image": {} }])),
        ]),
        Row::of("defaults below KubeSchema", NestedSpec::samples().map(|spec| NestedParts::new("", spec)))
            .rejects([
                ("/spec/outer", json!({ "own": 1, "mode": "fast" })),
                ("/spec/outer", json!({ "own": 1 })),
            ])
            .rejects_by_rule([
                ("/spec/outer", json!({ "own": 100, "mode": "slow" })),
                ("/spec/inner", json!({ "own": 100, "mode": "slow" })),
            ]),
        Row::of("numbers or strings that may be null", PortSpec::samples().map(|spec| Ports::new("", spec)))
            .rejects([
                ("/spec/list", json!([true])),
                ("/spec/never", json!([null])),
                ("/spec/variant", json!({ "port": null })),
                ("/spec/pair", json!([true, 1])),
            ]),
        Row::of("rules of variants and parts", RuledSpec::samples().map(|spec| RuledParts::new("", spec)))
            .rejects([("/spec/tagged", json!([{ "kind": "none" }]))])
            .rejects_by_rule([
                ("/spec/from", json!(9)),
                ("/spec/least", json!(9)),
                ("/spec/burst", json!(0)),
                ("/spec/tagged", json!([{ "kind": "range", "least": 2, "most": 1 }])),
                ("/spec/tagged", json!([{ "kind": "gap", "from": 1, "to": 1 }])),
                ("/spec/moving", json!({ "kind": "window", "from": 2, "to": 1 })),
                ("/spec/untagged", json!([{ "least": 2, "most": 1 }])),
                ("/spec/external", json!({ "range": { "least": 2, "most": 1 } })),
            ]),
        Row::of("strings with a format", TextSpec::samples().map(|spec| Texts::new("", spec))).rejects([
            ("/spec/elapsed", json!("soon")),
            // A valid span of jiff, but the duration format of servers has no years.
            ("/spec/span", json!("P1Y")),
            ("/spec/data", json!("not base64")),
            ("/spec/bounded", json!(4)),
            ("/spec/raw", json!("text")),
        ]),
    ]
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Volumes", plural = "volumes", crates(kube_core = crate::kube_core))]
pub struct VolumeSpec {
    untagged: Vec<UntaggedVolume>,
    strict: Vec<StrictVolume>,
    tagged: Vec<TaggedVolume>,
    external: Vec<ExternalVolume>,
    #[serde(flatten)]
    image: Option<Image>,
    #[serde(flatten)]
    cache: Option<Cache>,
    #[serde(flatten)]
    volume: Option<TaggedVolume>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    image: String,
    #[serde(default)]
    tag: String,
    #[serde(default = "five")]
    retries: u8,
}

/// Has rules, so its schema stays separate if it is flattened.
#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.cacheSize > 0", crates(kube_core = crate::kube_core))]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    cache_size: i32,
    #[serde(default = "five")]
    cache_ways: u8,
}

fn five() -> u8 {
    5
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UntaggedVolume {
    Image(Image),
    Path { path: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum StrictVolume {
    A {
        #[serde(default)]
        tag: String,
    },
    B {
        path: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum TaggedVolume {
    Image(Image),
    Path {
        path: String,
        #[serde(default)]
        mode: Option<u16>,
    },
    Nothing,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExternalVolume {
    Image(Image),
    Path {
        #[serde(default)]
        path: String,
    },
}

impl Image {
    fn sample() -> Self {
        Self { image: "i".into(), tag: "t".into(), retries: 1 }
    }
}

impl VolumeSpec {
    fn samples() -> [Self; 3] {
        let with = |image, cache, volume| Self {
            untagged: vec![UntaggedVolume::Image(Image::sample()), UntaggedVolume::Path { path: "p".into() }],
            strict: vec![StrictVolume::A { tag: "t".into() }, StrictVolume::B { path: "p".into() }],
            tagged: vec![
                TaggedVolume::Nothing,
                TaggedVolume::Path { path: "p".into(), mode: None },
                TaggedVolume::Image(Image::sample()),
            ],
            external: vec![
                ExternalVolume::Image(Image::sample()),
                ExternalVolume::Path { path: String::new() },
            ],
            image,
            cache,
            volume,
        };
        [
            with(None, None, None),
            with(Some(Image::sample()), None, None),
            with(
                None,
                Some(Cache { cache_size: 1, cache_ways: 1 }),
                Some(TaggedVolume::Path { path: "p".into(), mode: Some(1) }),
            ),
        ]
    }
}

/// Optional parts below the spec: separate because the outer or the inner struct derives `KubeSchema`.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "NestedParts", plural = "nestedparts", crates(kube_core = crate::kube_core))]
pub struct NestedSpec {
    outer: KubeOuter,
    inner: PlainOuter,
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.own < 100", crates(kube_core = crate::kube_core))]
pub struct KubeOuter {
    #[serde(default = "five")]
    own: u8,
    #[serde(flatten)]
    image: Option<Image>,
    #[serde(flatten)]
    mode: Mode,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Mode {
    Fast {
        level: u8,
        #[serde(default)]
        boost: bool,
    },
    Slow,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlainOuter {
    #[serde(flatten)]
    image: Option<KubeImage>,
    #[serde(flatten)]
    outer: Option<KubeOuter>,
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(crates(kube_core = crate::kube_core))]
pub struct KubeImage {
    image: String,
    #[serde(default)]
    tag: String,
}

impl NestedSpec {
    fn samples() -> [Self; 3] {
        let plain = KubeOuter { own: 1, image: None, mode: Mode::Slow };
        let fast = Mode::Fast { level: 1, boost: true };
        [
            Self { outer: plain.clone(), inner: PlainOuter { image: None, outer: None } },
            Self {
                outer: KubeOuter { own: 1, image: Some(Image::sample()), mode: fast.clone() },
                inner: PlainOuter {
                    image: Some(KubeImage { image: "i".into(), tag: "t".into() }),
                    outer: None,
                },
            },
            Self {
                outer: plain,
                inner: PlainOuter { image: None, outer: Some(KubeOuter { own: 1, image: None, mode: fast }) },
            },
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Ports", plural = "ports", crates(kube_core = crate::kube_core))]
pub struct PortSpec {
    list: Vec<Option<IntOrString>>,
    never: Vec<IntOrString>,
    map: BTreeMap<String, Option<Quantity>>,
    pair: (Option<IntOrString>, IntOrString),
    #[serde(default = "http")]
    by_default: IntOrString,
    #[serde(default)]
    maybe: Option<IntOrString>,
    variant: PortVariant,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PortVariant {
    Port(IntOrString),
    Maybe(Option<IntOrString>),
}

fn http() -> IntOrString {
    IntOrString::String("http".into())
}

impl PortSpec {
    fn samples() -> [Self; 2] {
        let with = |variant, maybe| Self {
            list: vec![None, Some(http()), Some(IntOrString::Int(1))],
            never: vec![http()],
            map: [("a".into(), None), ("b".into(), Some(Quantity("1".into())))].into(),
            pair: (None, http()),
            by_default: IntOrString::Int(2),
            maybe,
            variant,
        };
        [with(PortVariant::Port(http()), None), with(PortVariant::Maybe(None), Some(http()))]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "RuledParts", plural = "ruledparts", crates(kube_core = crate::kube_core))]
pub struct RuledSpec {
    #[serde(flatten)]
    range: Range,
    #[serde(flatten)]
    window: Window,
    #[serde(flatten)]
    burst: Option<Burst>,
    #[serde(flatten)]
    anything: Option<Hints>,
    tagged: Vec<TaggedRange>,
    moving: TaggedWindow,
    untagged: Vec<UntaggedRange>,
    external: ExternalRange,
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = ("self.least <= self.most", "least is above most"), crates(kube_core = crate::kube_core))]
pub struct Range {
    least: i32,
    most: i32,
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.from <= self.to // in this order", crates(kube_core = crate::kube_core))]
#[x_kube(validation = Rule::new("oldSelf.from <= self.from").message("moves on only"))]
pub struct Window {
    from: i32,
    to: i32,
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.from < self.to", crates(kube_core = crate::kube_core))]
pub struct Gap {
    from: i32,
    to: i32,
}

/// Its rule must not apply to objects without it.
#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.burst > 0", crates(kube_core = crate::kube_core))]
pub struct Burst {
    burst: i32,
}

/// None of its fields is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "has(self.hint) && self.hint != ''", crates(kube_core = crate::kube_core))]
pub struct Hints {
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaggedRange {
    Range(Range),
    Gap(Gap),
    Nothing,
}

/// Not in a list, where servers do not allow rules about changes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaggedWindow {
    Window(Window),
    Nothing,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UntaggedRange {
    Range(Range),
    Named { name: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExternalRange {
    Range(Range),
    Named(String),
}

impl RuledSpec {
    fn samples() -> [Self; 2] {
        let range = Range { least: 1, most: 2 };
        let window = Window { from: 1, to: 2 };
        let with = |burst, hint, external, moving| Self {
            range: range.clone(),
            window: window.clone(),
            burst,
            anything: Some(Hints { hint }),
            tagged: vec![
                TaggedRange::Range(range.clone()),
                TaggedRange::Gap(Gap { from: 1, to: 2 }),
                TaggedRange::Nothing,
            ],
            moving,
            untagged: vec![UntaggedRange::Range(range.clone()), UntaggedRange::Named { name: "n".into() }],
            external,
        };
        [
            with(
                Some(Burst { burst: 1 }),
                Some("h".into()),
                ExternalRange::Range(range.clone()),
                TaggedWindow::Window(window.clone()),
            ),
            with(None, None, ExternalRange::Named("n".into()), TaggedWindow::Nothing),
        ]
    }
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "schema.kube.test", version = "v1", kind = "Texts", plural = "texts", crates(kube_core = crate::kube_core))]
pub struct TextSpec {
    #[schemars(schema_with = "iso_duration")]
    elapsed: SignedDuration,
    #[schemars(schema_with = "iso_duration")]
    span: String,
    #[schemars(schema_with = "base64")]
    data: ByteString,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_map: Option<k8s_openapi::api::core::v1::ConfigMap>,
    #[schemars(schema_with = "quantity")]
    quantity: String,
    #[schemars(extend("minimum" = 5, "exclusiveMinimum" = 3))]
    bounded: i32,
    raw: RawExtension,
    json: Vec<JSON>,
}

/// The schema of schemars for the durations of jiff.
fn iso_duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "duration" })
}

fn base64(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "byte" })
}

fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "quantity" })
}

impl TextSpec {
    fn samples() -> [Self; 4] {
        let hour = SignedDuration::from_secs(3600);
        let months = Span::new().years(1).months(2).days(3).hours(4);
        let with = |elapsed, span: Span, data: &[u8], bounded| Self {
            elapsed,
            span: span.to_string(),
            data: ByteString(data.into()),
            config_map: Some(k8s_openapi::api::core::v1::ConfigMap {
                binary_data: Some([("k".into(), ByteString(data.into()))].into()),
                ..Default::default()
            }),
            quantity: "1Gi".into(),
            bounded,
            raw: RawExtension(json!({ "kind": "Any", "list": [1, null] })),
            json: vec![JSON(json!({ "a": 1 })), JSON(json!(1)), JSON(json!(null)), JSON(json!("text"))],
        };
        [
            with(hour, months, b"", 5),
            with(SignedDuration::ZERO, Span::new(), b"a", 6),
            with(-hour, Span::new().weeks(1), b"ab", 6),
            with(SignedDuration::new(1, 500_000_001), Span::new().milliseconds(1500), b"abc", 6),
        ]
    }
}
