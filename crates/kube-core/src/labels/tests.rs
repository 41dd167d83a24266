//! Selectors: what they match, and the text that they are parsed from and printed as.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use proptest::prelude::*;

use super::{Expression, ParseExpressionError, Selector, SelectorExt};

type Labels = BTreeMap<String, String>;

fn parse(text: &str) -> Result<Selector, ParseExpressionError> {
    text.parse()
}

fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().map(ToString::to_string).collect()
}

#[test]
fn parses_the_syntax_of_servers() {
    use Expression::{DoesNotExist, Equal, Exists, In, NotEqual, NotIn};
    let cases: Vec<(&str, Vec<Expression>)> = vec![
        ("", vec![]),
        (" \t\n", vec![]),
        ("a", vec![Exists("a".into())]),
        ("!a", vec![DoesNotExist("a".into())]),
        (" ! a ", vec![DoesNotExist("a".into())]),
        ("a=b", vec![Equal("a".into(), "b".into())]),
        ("a == b", vec![Equal("a".into(), "b".into())]),
        ("a=", vec![Equal("a".into(), String::new())]),
        ("a=,b", vec![Equal("a".into(), String::new()), Exists("b".into())]),
        ("a!=b", vec![NotEqual("a".into(), "b".into())]),
        ("a!=", vec![NotEqual("a".into(), String::new())]),
        ("a in (b, c,b)", vec![In("a".into(), set(&["b", "c"]))]),
        ("a in(b)", vec![In("a".into(), set(&["b"]))]),
        ("a in ()", vec![In("a".into(), set(&[""]))]),
        ("a notin (b,)", vec![NotIn("a".into(), set(&["", "b"]))]),
        ("in in (in,notin)", vec![In("in".into(), set(&["in", "notin"]))]),
        ("notin", vec![Exists("notin".into())]),
        ("x.io/a-b_c.d=E.f-1_2", vec![Equal("x.io/a-b_c.d".into(), "E.f-1_2".into())]),
        ("a,!b,c!=d", vec![Exists("a".into()), DoesNotExist("b".into()), NotEqual("c".into(), "d".into())]),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).expect(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn rejects_what_servers_reject() {
    let long = "x".repeat(64);
    let cases = [
        ("a=b,", "expected a label key at byte 4, found the end"),
        (",a", "expected a label key at byte 0"),
        ("a b", "expected one of =, ==, !=, in, notin at byte 2, found \"b\""),
        ("a=b c", "expected a comma or the end at byte 4"),
        ("a in b", "expected a list of values in parentheses at byte 5"),
        ("a in (b", "expected a comma or a closing parenthesis at byte 7, found the end"),
        ("a in (b))", "expected a comma or the end at byte 8"),
        ("!", "expected a label key at byte 1"),
        ("!a=b", "expected a comma or the end"),
        ("a>1", "comparisons of numbers are not supported"),
        ("a<1", "comparisons of numbers are not supported"),
        ("a=-b", "\"-b\" is not a label value"),
        ("a=b/c", "\"b/c\" is not a label value"),
        ("-a=b", "\"-a\" is not a label key"),
        ("X.io/a=b", "\"X.io/a\" is not a label key"),
        ("x..io/a=b", "is not a label key"),
        ("/a=b", "is not a label key"),
        ("x/=b", "is not a label key"),
        ("ä=b", "is not a label key"),
        ("a\u{a0}=b", "is not a label key"),
        ("a=(b)", "expected a comma or the end at byte 2"),
        (long.as_str(), "is not a label key"),
    ];
    for (text, why) in cases {
        let error = parse(text).expect_err(text).to_string();
        assert!(
            error.starts_with("failed to parse value as expression: ") && error.contains(why),
            "{text}: {error}"
        );
    }
    let prefix = format!("{}/a", ["x".repeat(63), "y".repeat(63), "z".repeat(63), "w".repeat(61)].join("."));
    assert!(parse(&prefix).is_ok(), "a prefix of 253 characters");
    assert!(parse(&format!("a={long}")).is_err());
}

#[test]
fn absent_labels_match_the_negative_conditions() {
    let none = Labels::new();
    let matches = |text: &str| parse(text).expect(text).matches(&none);
    assert!(matches("") && matches("!a") && matches("a!=b") && matches("a notin (b)"));
    assert!(!matches("a") && !matches("a=b") && !matches("a in (b)") && !matches("a="));
    assert!(Selector::default().selects_all() && !parse("a").expect("valid").selects_all());
}

#[test]
fn converts_from_and_to_selectors_in_objects() {
    let selector = parse("a=1,b!=2,c in (3,4),d notin (5),e,!f").expect("valid");
    let object = LabelSelector::from(selector);
    assert_eq!(object.match_labels, Some([("a".into(), "1".into())].into()));
    let back = Selector::try_from(object).expect("valid");
    assert_eq!(back.to_string(), "a=1,b notin (2),c in (3,4),d notin (5),e,!f");
    assert_eq!(LabelSelector::from(Selector::default()), LabelSelector::default());

    // Two conditions on one key contradict each other; a map of labels would keep only one of them.
    let twice = LabelSelector::from(parse("a=1,a=2").expect("valid"));
    assert!(!Selector::try_from(twice).expect("valid").matches(&[("a".into(), "2".into())].into()));
}

#[test]
fn invalid_requirements_are_rejected() {
    let requirement = |operator: &str, values: Option<Vec<String>>| {
        let requirement = LabelSelectorRequirement { key: "k".into(), operator: operator.into(), values };
        Expression::try_from(requirement).expect_err(operator).to_string()
    };
    assert!(requirement("In", None).contains("operator \"In\" needs at least one value"));
    assert!(requirement("NotIn", Some(vec![])).contains("needs at least one value"));
    assert!(requirement("Exists", Some(vec!["x".into()])).contains("must not have values"));
    assert!(requirement("DoesNotExist", Some(vec!["x".into()])).contains("must not have values"));
    assert!(requirement("Gt", Some(vec!["1".into()])).contains("is unknown, expected In, NotIn"));
}

#[test]
fn is_built_from_pairs_and_expressions() {
    let mut selector: Selector = [("a".to_owned(), "1".to_owned())].into_iter().collect();
    selector.extend(Expression::Exists("b".into())).extend(vec![Expression::DoesNotExist("c".into())]);
    assert_eq!(selector.to_string(), "a=1,b,!c");
    assert_eq!(Selector::from(Expression::Exists("b".into())), parse("b").expect("valid"));
    let json = serde_json::to_string(&selector).expect("valid");
    assert_eq!(serde_json::from_str::<Selector>(&json).expect("valid"), selector);
}

/// Servers parse `a in ()` as `a in ("")`, so an empty set needs another form.
#[test]
fn sets_without_values_select_nothing_or_everything() {
    let nothing = Selector::from(Expression::In("a".into(), set(&[])));
    let everything = Selector::from(Expression::NotIn("a".into(), set(&[])));
    assert_eq!((nothing.to_string().as_str(), everything.to_string().as_str()), ("a,!a", ""));
    let both: Selector =
        [Expression::NotIn("a".into(), set(&[])), Expression::Exists("b".into())].into_iter().collect();
    assert_eq!(both.to_string(), "b");
    for labels in [Labels::new(), [("a".into(), String::new())].into(), [("a".into(), "b".into())].into()] {
        assert!(!nothing.matches(&labels) && everything.matches(&labels));
        assert!(!parse(&nothing.to_string()).expect("printed").matches(&labels));
    }
    // Requirements in objects cannot have empty sets.
    let back =
        |selector: &Selector| Selector::try_from(LabelSelector::from(selector.clone())).expect("valid");
    assert_eq!(back(&nothing).to_string(), "a,!a");
    assert!(back(&everything).selects_all());
}

/// Few distinct keys and values, so that conditions match often.
fn name() -> impl Strategy<Value = String> {
    "[ab]{1,2}"
}

fn expression() -> impl Strategy<Value = Expression> {
    let values = || prop::collection::btree_set(prop_oneof![Just(String::new()), name()], 0..3);
    prop_oneof![
        (name(), values()).prop_map(|(k, v)| Expression::In(k, v)),
        (name(), values()).prop_map(|(k, v)| Expression::NotIn(k, v)),
        (name(), name()).prop_map(|(k, v)| Expression::Equal(k, v)),
        (name(), name()).prop_map(|(k, v)| Expression::NotEqual(k, v)),
        name().prop_map(Expression::Exists),
        name().prop_map(Expression::DoesNotExist),
    ]
}

/// A reference implementation: a linear scan of all labels, and negation instead of a case for absent labels.
fn reference_match(expression: &Expression, labels: &Labels) -> bool {
    let any = |key: &String, test: &dyn Fn(&String) -> bool| labels.iter().any(|(k, v)| k == key && test(v));
    match expression {
        Expression::In(key, values) => any(key, &|v| values.iter().any(|x| x == v)),
        Expression::NotIn(key, values) => !any(key, &|v| values.iter().any(|x| x == v)),
        Expression::Equal(key, value) => any(key, &|v| v == value),
        Expression::NotEqual(key, value) => !any(key, &|v| v == value),
        Expression::Exists(key) => any(key, &|_| true),
        Expression::DoesNotExist(key) => !any(key, &|_| true),
    }
}

fn labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map(name(), prop_oneof![Just(String::new()), name()], 0..4)
}

proptest! {
    #[test]
    fn matches_like_the_reference_implementation(expressions in prop::collection::vec(expression(), 0..4), labels in labels()) {
        let expected = expressions.iter().all(|expression| reference_match(expression, &labels));
        prop_assert_eq!(expressions.into_iter().collect::<Selector>().matches(&labels), expected);
    }

    #[test]
    fn the_printed_selector_matches_the_same_labels(expressions in prop::collection::vec(expression(), 0..4), labels in labels()) {
        let selector: Selector = expressions.into_iter().collect();
        let back = parse(&selector.to_string()).expect("printed");
        prop_assert_eq!(back.matches(&labels), selector.matches(&labels));
        // A parsed selector round-trips.
        prop_assert_eq!(parse(&back.to_string()).expect("printed"), back);
    }

    #[test]
    fn the_object_form_matches_the_same_labels(expressions in prop::collection::vec(expression(), 0..4), labels in labels()) {
        let selector: Selector = expressions.into_iter().collect();
        let back = Selector::try_from(LabelSelector::from(selector.clone())).expect("valid");
        prop_assert_eq!(back.matches(&labels), selector.matches(&labels));
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,16}|[abin!=(), ]{0,24}") {
        if let Ok(selector) = parse(&text) {
            prop_assert_eq!(parse(&selector.to_string()).expect("printed"), selector);
        }
    }
}
