//! Durations against the notation that Go accepts and prints.

use std::time::Duration as Std;

use proptest::prelude::*;

use super::{Duration, ParseError};

fn parse(text: &str) -> Result<Duration, ParseError> {
    text.parse()
}

#[test]
fn reads_what_go_reads() {
    // The table of Go's documentation, and edge cases of its grammar.
    let cases = [
        ("0", Std::ZERO),
        ("+0", Std::ZERO),
        ("5s", Std::from_secs(5)),
        ("+5s", Std::from_secs(5)),
        ("1478s", Std::from_secs(1478)),
        ("5.6s", Std::from_millis(5600)),
        ("5.s", Std::from_secs(5)),
        (".5s", Std::from_millis(500)),
        ("100.00100s", Std::from_micros(100_001_000)),
        ("12µs", Std::from_micros(12)),
        ("12μs", Std::from_micros(12)),
        ("3h30m", Std::from_secs(12_600)),
        ("4m10.5s", Std::from_millis(250_500)),
        ("1h2m3s4ms5us6ns", Std::from_nanos(3_723_004_005_006)),
        ("52763797000ns", Std::from_nanos(52_763_797_000)),
        ("0.3333333333333333333h", Std::from_secs(1200)),
        ("0.9223372036854775807h", Std::from_nanos(3_320_413_933_267)),
        ("0.9223372036854775808h", Std::from_nanos(3_320_413_933_267)),
        ("0.830103483285477580700h", Std::from_nanos(2_988_372_539_827)),
        // The twentieth digit no longer fits: it and the following ones are dropped.
        ("0.18446744073709551619h", Std::from_nanos(664082786653)),
        ("0.1844674407370955161999h", Std::from_nanos(664082786653)),
        ("39h9m14.425s", Std::from_millis(140_954_425)),
        ("0.100000000000000000000h", Std::from_secs(360)),
        ("9223372036854775807ns", Std::from_nanos(i64::MAX.unsigned_abs())),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), Ok(Duration::from(expected)), "{text}");
    }
    assert_eq!(parse("-0s"), parse("0"));
    assert_eq!(parse("-9223372036854775808ns").map(|d| d.is_negative()), Ok(true));
}

#[test]
fn refuses_what_go_refuses() {
    for text in ["", "-", "+", "s", ".", "-.", ".s", "+.s", "1..2s", "--5s", "+-5s", "1h-5m", " 5s"] {
        assert!(matches!(parse(text), Err(ParseError::NotANumber(_) | ParseError::InvalidUnit)), "{text}");
    }
    for text in ["3", "1h5", "00"] {
        assert_eq!(parse(text), Err(ParseError::NoUnit), "{text}");
    }
    for text in ["5d", "5S", "5 s", "1h 5m", "3é"] {
        assert_eq!(parse(text), Err(ParseError::InvalidUnit), "{text}");
    }
    for text in [
        "9223372036854775808ns",
        "3000000h",
        "99999999999999999999h",
        "9223372036854775807ns1ns",
        "18446744073709551619ns",
    ] {
        assert_eq!(parse(text), Err(ParseError::TooLong), "{text}");
    }
}

#[test]
fn writes_what_go_writes() {
    let cases = [
        (Std::ZERO, "0s"),
        (Std::from_nanos(1), "1ns"),
        (Std::from_nanos(1_100), "1.1µs"),
        (Std::from_micros(2_200), "2.2ms"),
        (Std::from_millis(3_300), "3.3s"),
        (Std::from_secs(245), "4m5s"),
        (Std::from_millis(245_001), "4m5.001s"),
        (Std::from_millis(18_367_001), "5h6m7.001s"),
        (Std::from_secs(3600), "1h0m0s"),
        (Std::from_nanos(480_000_000_001), "8m0.000000001s"),
    ];
    for (value, expected) in cases {
        assert_eq!(Duration::from(value).to_string(), expected);
    }
    assert_eq!(parse("-1.5h").expect("valid").to_string(), "-1h30m0s");
}

#[test]
fn the_wire_form_is_a_string() {
    let duration: Duration = serde_json::from_str("\"90s\"").expect("valid");
    assert_eq!(serde_json::to_string(&duration).expect("valid"), "\"1m30s\"");
    let error = serde_json::from_str::<Duration>("\"90\"").expect_err("no unit").to_string();
    assert!(error.starts_with("invalid duration \"90\": missing a unit"), "{error}");
    assert!(serde_json::from_str::<Duration>("90").is_err());
}

#[test]
fn compares_with_std_durations() {
    let negative = parse("-1s").expect("valid");
    assert!(negative < Std::ZERO && negative.is_negative());
    assert_eq!(Std::from(negative), Std::from_secs(1));
    assert!(negative != Std::from_secs(1) && Std::from_secs(1) != negative);
    let (ours, std) = (Duration::from(Std::from_secs(1)), Std::from_secs(1));
    assert!(PartialEq::<Std>::eq(&&ours, &std) && PartialEq::<Duration>::eq(&&std, &ours));
    assert_eq!(ours, std);
    assert_eq!(std, ours);
    assert!(ours < Std::from_secs(2));
}

proptest! {
    #[test]
    fn round_trips(nanos in any::<i64>()) {
        let duration = Duration::new(Std::from_nanos(nanos.unsigned_abs()), nanos < 0);
        prop_assert_eq!(parse(&duration.to_string()), Ok(duration));
        prop_assert_eq!(duration.is_negative(), nanos < 0);
    }

    #[test]
    fn is_ordered_by_nanoseconds(a in any::<i64>(), b in any::<i64>()) {
        let of = |nanos: i64| Duration::new(Std::from_nanos(nanos.unsigned_abs()), nanos < 0);
        prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
        prop_assert_eq!(of(a) == of(b), a == b);
    }

    #[test]
    fn never_panics(text in "\\PC{0,12}|[-+]?([0-9.]{0,22}[hmsnuµ]{0,2}){0,4}") {
        let _ = parse(&text);
    }
}
