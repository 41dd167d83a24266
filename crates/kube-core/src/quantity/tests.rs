//! Tests of quantities against what apimachinery makes of them.

use k8s_openapi::apimachinery::pkg::api::resource;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// `go run . quantities` in `testserver/generators/gotypes` has written it.
const RECORDED: &str = include_str!("recorded.txt");

fn lines(kind: &str) -> Vec<Vec<&'static str>> {
    let lines = RECORDED.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    lines.filter(|fields| fields[0] == kind).map(|fields| fields[1..].to_vec()).collect()
}

fn of(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn texts_are_read_and_printed_as_by_apimachinery() {
    let recorded = lines("q");
    assert!(recorded.len() > 600);
    let mut beyond = 0;
    for fields in recorded {
        let (text, expected) = (fields[0], fields[1]);
        if !text.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit()) {
            assert!(text.parse::<Quantity>().is_err(), "Go takes {text:?} for {expected}");
            continue;
        }
        let quantity = match text.parse::<Quantity>() {
            Ok(quantity) => quantity,
            Err(error) if expected == "error" => {
                assert!(!error.to_string().contains("larger"), "{error}");
                continue;
            }
            Err(error) => {
                assert!(error.to_string().ends_with("it is larger than 10^27"), "{error}");
                beyond += 1;
                continue;
            }
        };
        assert_ne!(expected, "error", "{text:?}");
        if quantity.as_f64().abs() >= 1e21 {
            assert_eq!(of(&quantity.to_string()), quantity, "Go loses the suffix of {text}: {expected}");
            continue;
        }
        assert_eq!(quantity.to_string(), expected, "{text}");
        // Beyond, the numbers of Go overflow; of its long negative ones, some are rounded twice.
        if (0..i128::from(i64::MAX)).contains(&quantity.nano) {
            let value = quantity.value().map(|value| value.to_string());
            assert_eq!(value.as_deref(), Some(fields[2]), "{text}");
            if let Some(milli) = quantity.milli_value() {
                assert_eq!(milli.to_string(), fields[3], "{text}");
            }
        }
    }
    assert!(beyond < 20, "{beyond}");
}

#[test]
fn sums_and_comparisons_are_those_of_apimachinery() {
    let recorded = lines("p");
    assert_eq!(recorded.len(), 400);
    for fields in recorded {
        let (a, b) = (of(fields[0]), of(fields[1]));
        assert_eq!((a.cmp(&b) as i8).to_string(), fields[2], "{a} and {b}");
        assert_eq!(a.checked_add(b).unwrap().to_string(), fields[3], "{a} + {b}");
        assert_eq!(a.checked_sub(b).unwrap().to_string(), fields[4], "{a} - {b}");
    }
}

#[test]
fn a_text_that_is_no_quantity_is_an_error_that_names_it() {
    let message = |text: &str| text.parse::<Quantity>().unwrap_err().to_string();
    assert_eq!(
        message(""),
        r#""" is no quantity: expected a number such as 1 or 0.5, with a suffix if need be"#
    );
    assert!(message("1KB").starts_with(r#""1KB" is no quantity: expected one of the suffixes n, u, m, k"#));
    assert_eq!(message("2e27"), r#""2e27" is no quantity: it is larger than 10^27"#);
    assert_eq!(message("1e2147483647"), r#""1e2147483647" is no quantity: it is larger than 10^27"#);
    for text in [&*"9".repeat(100_000), "99999999999999999999E"] {
        assert!(message(text).ends_with("it is larger than 10^27"));
    }
}

#[test]
fn the_largest_and_smallest_numbers_are_exact() {
    assert_eq!(of("1e-2147483648").to_string(), "1e-9");
    assert_eq!(of(&format!("1.{}1", "0".repeat(60))).to_string(), "1000000001n", "rounded up");
    assert_eq!(of(&format!("0.{}1", "0".repeat(10_000))).to_string(), "1n");
    assert_eq!(of(&format!("{}7", "0".repeat(10_000))).to_string(), "7");
    assert_eq!(
        of("999999999999999999999999999.999999999").to_string(),
        "999999999999999999999999999999999999n"
    );
    assert_eq!(of("1e27").checked_add(of("1n")), None);
    assert_eq!(of("-1e27").checked_sub(of("1n")), None);
    assert_eq!(of("1e27").value(), None);
    assert_eq!(
        (of("-1500m").value(), of("-2048u").value(), of("-2048u").milli_value()),
        (Some(-2), Some(-1), Some(-3))
    );
    assert_eq!(of("8Ei").to_string(), "9223372036854775807", "binary numbers have a limit");
    assert_eq!(of("99999999999999999999999999Ei"), of("8Ei"));
    assert_eq!(of(&format!("1.{}1Ki", "0".repeat(40))).to_string(), "1024000000001n");
}

#[test]
fn it_is_a_string_or_a_number_in_json() {
    let of_json = |json| {
        serde_json::from_value::<Quantity>(json).map(|it| it.to_string()).map_err(|error| error.to_string())
    };
    for (json, text) in [
        (json!(" 1.5Gi "), "1536Mi"),
        (json!(2), "2"),
        (json!(-2), "-2"),
        (json!(0.25), "250m"),
        (json!(u64::MAX), "18446744073709551615"),
    ] {
        assert_eq!(of_json(json).as_deref(), Ok(text));
    }
    assert!(of_json(json!(true)).unwrap_err().contains("expected a quantity such as"));
    assert_eq!(json!(of("0.5")), json!("500m"));
    assert_eq!(resource::Quantity::from(of("1000m")).0, "1");
    assert!(Quantity::try_from(&resource::Quantity("much".into())).is_err());
    assert_eq!(
        (Quantity::default(), of("-1m").is_negative(), Quantity::ZERO.is_zero()),
        (Quantity::from(0), true, true)
    );
}

proptest! {
    #[test]
    fn canonical_texts_are_read_back(whole in 0_i64..10_000_000_000, fraction in "[0-9]{0,12}", suffix in "(|n|u|m|k|M|G|T|Ki|Mi|Gi|e3|e-6)") {
        let quantity = of(&format!("{whole}.{fraction}{suffix}"));
        let canonical = quantity.to_string();
        prop_assert_eq!(of(&canonical), quantity);
        prop_assert_eq!(of(&canonical).to_string(), canonical);
    }

    #[test]
    fn no_text_panics(text in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,12}") {
        drop(text.parse::<Quantity>());
    }
}
