//! The attributes of serde, and those of `serde_with`: which of them tell the name of a field, and which are an error. The same table is in
//! `docs/design/names-by-address.md`.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use serde_with::{DisplayFromStr, DurationSeconds, rust::double_option, serde_as, skip_serializing_none};

use super::{error, json};

#[serde_as]
#[skip_serializing_none]
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields, bound(serialize = ""), tag = "type")]
struct All {
    two_words: Option<i32>,
    #[serde(default, alias = "old")]
    defaulted: i32,
    #[serde(skip_serializing)]
    not_written: i32,
    #[serde(skip_deserializing)]
    not_read: i32,
    #[serde(with = "double_option")]
    null: Option<Option<i32>>,
    #[serde_as(as = "DisplayFromStr")]
    text: u64,
    #[serde_as(as = "Option<DisplayFromStr>")]
    optional_text: Option<u64>,
    #[serde_as(as = "DurationSeconds<u64>")]
    #[serde(rename = "seconds")]
    timeout: Duration,
    #[serde(serialize_with = "sum")]
    numbers: Vec<u64>,
    #[serde(with = "Foreign")]
    foreign: Duration,
    #[serde(rename = "r")]
    renamed: Inner,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct Inner {
    v: i32,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Duration")]
struct Foreign {
    #[serde(getter = "Duration::as_secs")]
    seconds: u64,
}

impl From<Foreign> for Duration {
    fn from(foreign: Foreign) -> Self {
        Self::from_secs(foreign.seconds)
    }
}

#[derive(Default, Serialize)]
struct Prefixed {
    name: String,
    #[serde(flatten, serialize_with = "prefixed")]
    inner: Inner,
}

fn sum<S: Serializer>(numbers: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(numbers.iter().sum())
}

/// As `serde_with::with_prefix` does.
fn prefixed<S: Serializer>(inner: &Inner, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("x_v", &inner.v)?;
    map.end()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn attributes_that_tell_the_name() {
    let rows: [(_, Value); 10] = [
        (apply!(All { two_words: 1 }), json!({ "two-words": 1 })),
        (apply!(All { defaulted: 0 }), json!({ "defaulted": 0 })),
        (apply!(All { not_read: 0 }), json!({ "not-read": 0 })),
        (apply!(All { null: Some(None::<i32>) }), json!({ "null": null })),
        (apply!(All { text: 1_u64 }), json!({ "text": "1" })),
        (apply!(All { optional_text: 0_u64 }), json!({ "optional-text": "0" })),
        (apply!(All { timeout: SECOND }), json!({ "seconds": 1 })),
        (apply!(All { timeout: SECOND, text: 2_u64 }), json!({ "seconds": 1, "text": "2" })),
        (apply!(All { numbers: [1_u64, 2] }), json!({ "numbers": 3 })),
        (apply!(All { renamed: { v: 0 } }), json!({ "r": { "v": 0 } })),
    ];
    for (value, expected) in rows {
        assert_eq!(json(&value), expected);
    }
}

#[test]
fn attributes_that_hide_the_name_are_an_error_that_names_the_field_and_the_way_out() {
    let leave_out = "leave the field out as well, with `if` or `None`";
    let default = "or leave the field out, with `if` or `None`";
    let whole = "write a whole value instead of the braces around it";
    let rows = [
        // Not serialized at all.
        (error(&apply!(All { not_written: 1 })), "All.not_written: ", leave_out),
        // The result of the function is that of the default.
        (error(&apply!(All { text: 0_u64 })), "All.text: ", default),
        (error(&apply!(All { timeout: Duration::ZERO })), "All.timeout: ", leave_out),
        (error(&apply!(All { numbers: [] })), "All.numbers: ", default),
        // The function makes a struct.
        (error(&apply!(All { foreign: SECOND })), "All.foreign: ", whole),
        // The function changes the names in a struct.
        (error(&apply!(Prefixed { inner: { v: 1 } })), "Prefixed.inner: ", whole),
        (error(&apply!(Prefixed { inner: Inner { v: 1 } })), "Prefixed.inner: ", whole),
    ];
    for (error, start, end) in rows {
        assert!(error.starts_with(start) && error.ends_with(end), "{error}");
    }
}

#[test]
fn the_way_out_is_a_whole_value() {
    #[derive(Default, Serialize)]
    struct Outer {
        all: All,
        prefixed: Option<Prefixed>,
    }
    let all = All { text: 0, foreign: SECOND, ..All::default() };
    let prefixed = Prefixed { name: "a".into(), inner: Inner { v: 1 } };
    let written = json(&apply!(Outer { all, prefixed }));
    assert_eq!(
        (&written["all"]["text"], &written["all"]["foreign"]),
        (&json!("0"), &json!({ "seconds": 1 }))
    );
    assert_eq!(written["prefixed"], json!({ "name": "a", "x_v": 1 }));
}

/// A tag is no field: a whole value has it.
#[test]
fn the_tag_of_a_struct_is_only_in_whole_values() {
    #[derive(Default, Serialize)]
    struct Outer {
        all: All,
    }
    assert_eq!(json(&apply!(Outer { all: { defaulted: 1 } })), json!({ "all": { "defaulted": 1 } }));
    assert_eq!(json(&apply!(Outer { all: All::default() }))["all"]["type"], "All");
}
