use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::config::Kubeconfig;

/// A field for each way in which a type may ask for a value.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Sample {
    #[serde(default)]
    flag: bool,
    text: Option<String>,
    list: Option<Vec<String>>,
    map: Option<HashMap<String, Vec<String>>>,
    mode: Option<Mode>,
    any: Option<Value>,
    inner: Option<Box<Sample>>,
    #[serde(default)]
    flat: Vec<Flat>,
}

/// A struct whose unknown keys are buffered.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Flat {
    name: String,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    even: Even,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Mode {
    On,
    Off,
}

/// Refuses values after it has decoded them.
#[derive(Debug, PartialEq, serde::Serialize)]
struct Even(u64);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)?.as_u64() {
            Some(number) if number % 2 == 0 => Ok(Self(number)),
            Some(number) => {
                Err(D::Error::invalid_value(serde::de::Unexpected::Unsigned(number), &"an even number"))
            }
            None => Err(D::Error::invalid_length(0, &"an even number")),
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! { with_snippet: false }
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    from_documents(text, options())
}

/// The decoded value, or the error with its kind and position.
fn outcome<T: Serialize>(decoded: Result<T, Error>) -> String {
    match decoded {
        Ok(value) => serde_json::to_value(value).unwrap().to_string(),
        Err(err) => format!("{err} {err:?}"),
    }
}

/// Decodes as here and by serde_saphyr alone.
fn compare<T: DeserializeOwned + Serialize>(text: &str) {
    // The last of two equal keys wins in structs, which the parser knows by the hint only.
    let last_wins = serde_saphyr::options! {
        with_snippet: false,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    for options in [options(), last_wins] {
        let direct = serde_saphyr::from_multiple_with_options::<T>(text, options.clone());
        let direct = direct.map_err(without_quoted_value);
        assert_eq!(outcome(from_documents::<T>(text, options)), outcome(direct), "{text}");
    }
}

const SAMPLES: &[&str] = &[
    // Hints: the same scalars as bool, text, option, list, map and anything.
    "{flag: yes, text: yes, any: yes}",
    "{flag: 'yes'}",
    "{flag: 1}",
    "{text: 12345, any: 12345}",
    "{text: 0o17, any: 0o17}",
    "{text: 1.50, any: [1.50, .inf, -0, 1e999]}",
    "{text: ~, list: ~, map: ~, any: ~, inner: ~, mode: ~}",
    "{text: 'null', list: [null], any: ['null', null]}",
    "{text: '', any: ''}",
    "text: |\n  two\n  lines\nany: >\n  one\n  line\n",
    "text: \"escaped \\u00e9\"\nany: \"\\t\"\n",
    "{any: [99999999999999999999999, -99999999999999999999999, 18446744073709551615, -9223372036854775808]}",
    "{text: !!int 5, any: [!!str 5, !!int '5', !!float '1', !!bool 'true', !!null '']}",
    "{text: !!binary aGVsbG8=, list: !!binary aGVsbG8=}",
    "{text: !!binary '?'}",
    "{list: [1, true, ~]}",
    "{list: {a: b}}",
    "{list: text}",
    "{map: {a: [b], c: []}}",
    "{map: {a: [b], 5: [c], true: [d]}}",
    "{map: [a]}",
    "{map: {a: {}}}",
    "{any: {1: 2, [a]: b}}",
    "{any: {~: 2}}",
    "{any: !local x}",
    // Enums.
    "{mode: On}",
    "{mode: {Off: ~}}",
    "{mode: {Off: 5}}",
    "{mode: {On: ~, Off: ~}}",
    "{mode: on}",
    "{mode: 5}",
    "{mode: [On]}",
    "{mode: !On ~}",
    "{mode: !Mode On}",
    "{inner: {mode: Neither}}",
    // Keys.
    "{text: a, text: b}",
    "{unknown: {a: [1, 2, {b: c}]}, text: a}",
    "{unknown: {a: [1, 2",
    "{any: {a: 1, a: 2}}",
    "[flag, text]",
    "text",
    "5",
    // Aliases and merge keys.
    "{any: &a {text: x, list: [y]}, inner: *a}",
    "{any: &a {list: {}}, inner: *a}",
    "{any: &a {flat: [{other: x}]}, inner: *a}",
    "any: &a {text: x, flag: no}\ninner:\n  <<: *a\n  text: y\n",
    "any: &a {text: x, flag: maybe}\ninner:\n  <<: *a\n  text: y\n",
    "any: &a {text: [x]}\ninner:\n  <<: [*a]\n",
    "inner: &a {inner: *a}",
    "text: *missing",
    // Lists of structs, which buffer their unknown keys.
    "flat:\n- {name: a, x: 1, y: [1.5, {z: ~}], 7: seven}\n- name: b\n",
    "flat:\n- name: a\n- other: b\n",
    "flat:\n- name: a\n- name: [b]\n",
    "flat:\n- name: a\n- text\n",
    "flat:\n- name: a\n- {name: b, name: c}\n",
    "flat: {name: a}",
    "flat:\n- &a {name: a, x: 1}\n- {<<: *a, name: b}\n",
    "flat:\n- &a {other: a, x: 1}\n- {<<: *a}\n",
    "flat:\n- {name: a, x: &b [1, 2], y: *b}\n",
    // Several documents, and invalid ones.
    "",
    "---\n",
    "# nothing\n",
    "~",
    "{text: a}\n---\n{text: b}\n",
    "{text: a}\n---\n~\n---\n{flag: 7}\n",
    "{text: a}\n...\n{text: b}\n",
    "text: a\n b: c\n",
    "text: 'a\n",
    "\ttext: a\n",
    "text: \u{1}",
];

#[test]
fn each_text_decodes_as_by_serde_saphyr_or_fails_with_the_same_error() {
    SAMPLES.iter().for_each(|text| compare::<Sample>(text));
    for text in
        ["{even: 2}", "{even: 3}", "{even: x}", "{even: 2, odd: 3}", "{}", "{even: &a 3}", "even:\n  - 3\n"]
    {
        compare::<Strict>(text);
        compare::<Vec<Strict>>(&format!("[{{even: 4}}, {text}]"));
        compare::<BTreeMap<String, Strict>>(&format!("{{a: {{even: 4}}, b: {text}}}"));
    }
    SAMPLES.iter().for_each(|text| compare::<Value>(text));
}

#[test]
fn each_text_is_the_same_kubeconfig_as_by_serde_saphyr_or_fails_with_the_same_error() {
    for text in [
        "{clusters: [{name: a, cluster: {server: x, insecure-skip-tls-verify: yes, extra: 1}}], current-context: 5}",
        "clusters:\n- name: a\n- cluster: {}\n",
        "clusters:\n- name: a\n  cluster: {server: [x]}\n",
        "clusters:\n- name: a\n  cluster: {insecure-skip-tls-verify: 'yes'}\n",
        "users: [{name: a, user: {token: 12345, as-groups: [1, 2], as-user-extra: {a: [b]}}}]",
        "users: [{name: a, user: {token: {a: b}}}]",
        "users: [{name: a, user: {token: hush, password: [hush]}}]",
        "users: [{name: a, user: {as-user-extra: {a: b}}}]",
        "users: [{name: a, user: {exec: {interactiveMode: Sometimes}}}]",
        "users: [{name: a, user: {exec: {command: x, env: [{name: a, value: 5}], provideClusterInfo: no}}}]",
        "users: [{name: a, user: {exec: {env: [{name: a, value: [hush]}]}}}]",
        "users: [{name: a, user: {auth-provider: {config: {}}}}]",
        "contexts: [{name: a, context: &c {cluster: x}}, {name: b, context: *c}, {name: d, context: {<<: *c, user: y}}]",
        "contexts: [{name: a, context: {user: y}}]",
        "extensions: [{name: a, extension: {b: [1, ~, 'c']}, more: x}]",
        "extensions: [{name: a}]",
        "preferences: {colors: 5}",
        "clusters: ~\n---\nclusters: {a: b}\n",
    ] {
        compare::<Kubeconfig>(text);
    }
}

#[test]
fn hints_reach_the_parser() {
    let decoded = decode::<Sample>("{text: 12345, any: 12345, flag: on, list: ~, mode: Off}").unwrap();
    assert_eq!(decoded[0].text.as_deref(), Some("12345"));
    assert_eq!(decoded[0].any, Some(json!(12345)));
    assert!(decoded[0].flag);
    assert_eq!(decoded[0].list, None);
    assert_eq!(decoded[0].mode, Some(Mode::Off));
}

#[test]
fn errors_have_their_positions() {
    for (text, expected) in [
        ("flat:\n- name: a\n- other: b\n", "missing field `name` at line 3, column 3"),
        (
            "inner:\n  mode: Neither\n",
            "unknown variant `Neither`, expected one of On, Off at line 2, column 9",
        ),
        ("inner:\n  flag: perhaps\n", "invalid boolean at line 2, column 9"),
        ("{text: a}\n---\nlist: 5\n", "expected sequence start at line 3, column 7"),
    ] {
        assert_eq!(decode::<Sample>(text).unwrap_err().to_string(), expected, "{text}");
    }
    let err = decode::<Vec<Strict>>("- even: 2\n- even: 3\n").unwrap_err();
    assert_eq!(err.to_string(), "invalid value: integer, expected an even number at line 2, column 3");
}

/// serde_saphyr reads such a tag as the key of a map, but only where it knows serde's buffer by the name of its type.
#[test]
fn a_local_tag_is_ignored_under_unknown_keys_as_elsewhere() {
    let decoded = decode::<Flat>("{name: a, x: !local b, z: {w: !local [1]}}").unwrap();
    assert_eq!(json!(decoded[0].other), json!({"x": "b", "z": {"w": [1]}}));
    assert_eq!(decode::<Value>("{x: !local b}").unwrap(), [json!({"x": "b"})]);
}

#[test]
fn a_hint_that_is_not_passed_on_is_an_error() {
    let err = decode::<Vec<u8>>("[a, 5]").unwrap_err();
    assert_eq!(err.to_string(), "deserialize_u8 is not supported here at line 1, column 2");
}

/// Quotes the error of what it contains.
#[derive(Debug)]
struct Quoting;

impl<'de> Deserialize<'de> for Quoting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let inner = Sample::deserialize(deserializer);
        inner.map(|_| Self).map_err(|err| D::Error::custom(format_args!("sample: {err}")))
    }
}

#[test]
fn a_type_can_quote_errors_of_the_parser_and_of_types() {
    let err = decode::<Quoting>("flag: perhaps\n").unwrap_err();
    assert!(err.to_string().starts_with("sample: invalid boolean at line 1, column 7"), "{err}");
    let err = decode::<Quoting>("flat: [{}]\n").unwrap_err();
    assert!(err.to_string().starts_with("sample: missing field `name` at line 1, column 8"), "{err}");
}

#[cfg(feature = "client")]
#[test]
fn a_single_document_decodes_as_by_serde_saphyr_or_fails_with_the_same_error() {
    for text in SAMPLES {
        let direct = serde_saphyr::from_slice_with_options::<Sample>(text.as_bytes(), options());
        let decoded = from_slice::<Sample>(text.as_bytes(), options());
        assert_eq!(outcome(decoded), outcome(direct.map_err(without_quoted_value)), "{text}");
    }
    let invalid = [0xFF, 0xFE];
    let direct = serde_saphyr::from_slice_with_options::<Sample>(&invalid, options());
    assert_eq!(outcome(from_slice::<Sample>(&invalid, options())), outcome(direct));
}
