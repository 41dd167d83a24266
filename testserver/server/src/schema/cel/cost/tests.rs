//! Estimates are compared with those of genuine servers.

use serde_json::{Value, json};

use crate::schema::cel::check_definition;

fn refusals(spec: Value) -> Vec<String> {
    let doc = json!({"type": "object", "properties": {"spec": spec}});
    check_definition("s", &doc).iter().map(ToString::to_string).collect()
}

fn list(rule: &str, items: Value, most: u64) -> Value {
    json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}],
        "properties": {"a": {"type": "array", "maxItems": most, "items": items}}})
}

/// Responses of a genuine server (1.36) to the same rules over as many elements.
#[test]
fn loop_costs_equal_those_of_the_genuine_server() {
    let (number, text) = (json!({"type": "integer"}), json!({"type": "string", "maxLength": 10}));
    let object = json!({"type": "object", "properties": {"c": {"type": "integer"}}});
    for (rule, items, most, factor_text) in [
        ("self.a.all(x, true)", &number, 6_000_000, "1.8x"),
        ("self.a.all(x, x > 0)", &number, 2_500_000, "1.250000x"),
        ("self.a.all(x, x == 0)", &number, 3_000_000, "1.200000x"),
        ("self.a.all(x, x > 0 && x < 5)", &number, 1_800_000, "1.260000x"),
        ("self.a.all(x, x + 1 > 0)", &number, 2_500_000, "1.5x"),
        ("self.a.all(x, x > 0 && x < 5 && x != 3 && x != 4 && x + 1 > 2)", &number, 900_000, "1.080000x"),
        ("self.a.exists(x, x > 0)", &number, 2_500_000, "1.5x"),
        ("self.a.map(x, x + 1).size() > 0", &number, 2_000_000, "2.8x"),
        ("self.a.filter(x, x > 1).size() > 0", &number, 2_000_000, "3.0x"),
        ("self.a.all(x, x == 'abc')", &text, 2_500_000, "1.250000x"),
        ("self.a.all(x, x.startsWith('abc'))", &text, 2_500_000, "1.250000x"),
        ("self.a.all(x, x.contains('abc'))", &text, 2_000_000, "1.6x"),
        ("self.a.all(x, x.matches('^abc$'))", &text, 1_000_000, "1.400000x"),
        ("self.a.all(x, size(x) > 3)", &text, 2_000_000, "1.200000x"),
        ("self.a.all(x, x in ['a','b'])", &text, 1_000_000, "1.6x"),
        ("self.a.all(x, x + 'abc' != 'x')", &text, 1_500_000, "1.5x"),
        ("self.a.all(x, x.c > 0)", &object, 2_000_000, "1.200000x"),
        ("self.a.all(x, has(x.c))", &object, 2_500_000, "1.000000x"),
    ] {
        let factor_text = format!("estimated rule cost exceeds budget by factor of {factor_text} (try");
        let refusals = refusals(list(rule, items.clone(), most));
        assert!(
            refusals.len() == 1 && refusals[0].contains(&factor_text),
            "{rule}: {factor_text} and not {refusals:?}"
        );
    }
    for (rule, items, most) in [
        ("self.a.exists_one(x, x > 0)", &number, 2_000_000),
        ("self.a.all(x, !(x == 'a') || x == 'b')", &text, 1_200_000),
        ("self.a.all(x, x == 'a' ? true : false)", &text, 1_500_000),
    ] {
        assert_eq!(refusals(list(rule, items.clone(), most)), [""; 0], "{rule}");
    }
}

#[test]
fn unbounded_values_are_as_large_as_a_request() {
    let unlimited = |rule: &str, a: Value| {
        refusals(
            json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {"a": a}}),
        )
    };
    let (numbers, texts) = (
        json!({"type": "array", "items": {"type": "integer"}}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert!(unlimited("self.a.all(x, x > 0 && x < 5 && x != 3)", numbers.clone())[0].contains("1.258291x"));
    assert_eq!(unlimited("self.a.all(x, x > 0)", numbers), [""; 0]);
    assert_eq!(unlimited("self.a.all(x, x.startsWith('ab'))", texts.clone()), [""; 0]);
    assert_eq!(unlimited("self.a.all(k, self.a[k] != 'x')", map.clone()), [""; 0]);
    assert_eq!(unlimited("self.a.matches('^a*b$')", json!({"type": "string"})), [""; 0]);
    for (rule, a) in [
        ("self.a.all(x, x == x)", &texts),
        ("self.a.all(x, x.matches('^[a-z]+$'))", &texts),
        ("self.a.all(k, self.a.all(j, j != k))", &map),
        ("self.a.contains(self.a)", &json!({"type": "string"})),
    ] {
        let refusals = unlimited(rule, a.clone());
        assert_eq!(refusals.len(), 3, "{rule}: {refusals:?}");
        assert!(
            refusals[0].contains("more than 100x") && refusals[1].contains("contributed to"),
            "{refusals:?}"
        );
        assert!(refusals[2].starts_with("s: Forbidden: x-kubernetes-validations estimated"), "{refusals:?}");
    }
}

#[test]
fn a_rule_costs_per_occurrence_of_its_schema() {
    let rule = |rule: &str| json!([{"rule": rule}]);
    let item = json!({"type": "string", "x-kubernetes-validations": rule("self == 'x'")});
    assert_eq!(refusals(json!({"type": "array", "items": item})), [""; 0]);
    let item = json!({"type": "string", "x-kubernetes-validations": rule("self.matches('^[a-z]+$')")});
    assert_eq!(refusals(json!({"type": "array", "items": item})).len(), 3);
    let item = json!({"type": "integer", "x-kubernetes-validations": rule("self > 3")});
    let nested = json!({"type": "array", "items": {"type": "array", "items": item}});
    assert_eq!(refusals(nested), [""; 0], "however deep, no more than fit into a request");
    let limited = json!({"type": "array", "maxItems": 4000, "items": {"type": "array", "maxItems": 2000, "items": item}});
    assert!(refusals(limited)[0].contains("1.6x"));
}

/// A line of `costs.jsonl`.
struct Recorded {
    /// The field with the rule; `""` is the whole object.
    at: String,
    rule: String,
    /// What 1.37 answers.
    items: u64,
    factor: Option<String>,
    refused: Option<String>,
}

fn recorded() -> (Value, Vec<Recorded>) {
    let mut lines = include_str!("../recorded/costs.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let schema = lines.next().unwrap()["self"].take();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let rules = lines.map(|line| Recorded {
        at: text(&line["at"]).unwrap_or_default(),
        rule: text(&line["rule"]).unwrap(),
        items: line["items"].as_u64().unwrap_or(1),
        factor: text(&line["factor"]),
        refused: text(&line["refused"]),
    });
    (schema, rules.collect())
}

/// Rules over all functions, whose estimates 1.37 stated: `generators/record_costs.py`.
#[test]
fn estimates_equal_those_of_the_genuine_server() {
    let (schema, rules) = recorded();
    let (left, right) = rules.split_at(rules.len() / 2);
    let wrong = std::thread::scope(|scope| {
        let left = scope.spawn(|| wrong(&schema, left));
        [wrong(&schema, right), left.join().unwrap()].concat()
    });
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}

fn wrong(schema: &Value, rules: &[Recorded]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Recorded { at, rule, items, factor, refused } in rules {
        let mut schema = schema.clone();
        let holder = if at.is_empty() { &mut schema } else { &mut schema["properties"][at] };
        holder["x-kubernetes-validations"] = json!([{"rule": rule}]);
        let doc = json!({"type": "object", "properties": {"a": {"type": "array", "maxItems": items, "items": schema}}});
        let messages: Vec<String> = check_definition("spec.validation.openAPIV3Schema", &doc)
            .iter()
            .map(ToString::to_string)
            .collect();
        let messages = messages.first().cloned().unwrap_or_default();
        let expected = match (&factor, &refused) {
            (Some(factor), _) => format!("cost exceeds budget by factor of {factor} "),
            (None, Some(why)) => why.clone(),
            (None, None) => String::new(),
        };
        let same = if expected.is_empty() { messages.is_empty() } else { messages.contains(&expected) };
        if !same {
            wrong.push(format!("{at}: {rule}: {expected:?}, and not {messages:?}"));
        }
    }
    wrong
}
