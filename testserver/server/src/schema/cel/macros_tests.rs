//! Macros with two variables, macros of optional values, and `sortBy`.

use serde_json::{Value, json};

use crate::schema::Schema;

fn doc(rules: &[&str]) -> Value {
    let text = json!({"type": "string", "maxLength": 5});
    let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": rules, "properties": {
        "l": {"type": "array", "maxItems": 5, "items": text}, "m": {"type": "object", "maxProperties": 5, "additionalProperties": text},
        "s": text, "nope": text, "o": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}})
}

/// What a rule says about an object.
fn objections(rules: &[&str]) -> Vec<String> {
    let schema = Schema::from_openapi("spec.validation", &doc(rules)).unwrap();
    let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {
        "l": ["a", "b", "c"], "m": {"a": "ax", "b": "bx"}, "s": "s", "o": {"x": 2}}});
    schema.check_rules(&object, None, &[]).errors.iter().map(ToString::to_string).collect()
}

/// Responses of 1.37 to the same object.
#[test]
fn macros_are_evaluated() {
    assert_eq!(
        objections(&[
            "self.l.all(i, v, i < 3 && v != 'z')",
            "self.l.exists(i, v, v == 'b' && i == 1)",
            "self.l.existsOne(i, v, v == 'b')",
            "self.m.all(k, v, k + 'x' == v)",
            "self.m.exists(k, v, v == 'ax')",
            "self.l.transformList(i, v, [i]) == [[0], [1], [2]]",
            "self.l.transformList(i, v, i > 0, v) == ['b', 'c']",
            "self.l.transformMap(i, v, v) == {0: 'a', 1: 'b', 2: 'c'}",
            "self.m.transformMap(k, v, v + k) == {'a': 'axa', 'b': 'bxb'}",
            "self.m.transformMap(k, v, k == 'a', v) == {'a': 'ax'}",
            "self.m.transformMapEntry(k, v, {v: k}) == {'ax': 'a', 'bx': 'b'}",
            "self.m.transformMapEntry(k, v, k == 'a', {v: k}) == {'ax': 'a'}",
            "self.?s.optMap(v, v == 's').orValue(false)",
            "self.?nope.optMap(v, v == 's').orValue(true)",
            "self.?s.optFlatMap(v, self.?nope).orValue('none') == 'none'",
            "self.?s.optFlatMap(v, self.m[?'a']).orValue('none') == 'ax'",
            "self.?o.?x.optMap(v, v * 2).orValue(0) == 4",
            "self.?o.optMap(o, o.x).hasValue()",
            "self.l.sortBy(v, v == 'a' ? 3 : v == 'b' ? 2 : 1) == ['c', 'b', 'a']",
            "self.l.sortBy(v, -size(v)) == self.l",
            "self.l.all(i, v, self.l.all(j, w, i == j || v != w))",
            "self.l.all(v, self.l.exists(i, w, w == v && i >= 0))",
            "self.l.transformList(i, v, self.m.transformList(k, w, k + v)).size() == 3",
            "self.m.exists(k, v, self.l.exists(k, k == 'a') && k == 'b')",
            "[1, 2].transformList(i, v, [i, v]) == [[0, 1], [1, 2]]",
            "{1: 'x'}.transformList(k, v, v) == ['x']",
            "self.m.transformMap(k, v, size(v)).all(k, v, v == 2)",
            "sign(quantity('-1')) == -1",
        ]),
        [""; 0]
    );
    for (rule, want) in [
        ("self.l.exists_one(i, v, i > 0)", "failed rule: self.l.exists_one(i, v, i > 0)"),
        ("self.l.all(i, v, v != 'b')", "failed rule: self.l.all(i, v, v != 'b')"),
        (
            "self.l.transformMapEntry(i, v, {'same': i}).size() == 1",
            "\"object\": insert failed: key same already exists evaluating rule: self.l.transformMapEntry(i, v, {'same': i}).size() == 1",
        ),
        (
            "self.l.transformList(i, v, self.l[i + 1]).size() == 3",
            "\"object\": index out of bounds: 3 evaluating rule: self.l.transformList(i, v, self.l[i + 1]).size() == 3",
        ),
    ] {
        assert_eq!(objections(&[rule]), [format!("spec: Invalid value: {want}")]);
    }
}

/// A loop over many pairs ends with the budget.
#[test]
fn pairs_cost_steps() {
    let doc = json!({"type": "object", "properties": {"x": {"type": "array", "maxItems": 90, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(i, a, self.all(j, b, self.all(k, c, a + b + c >= 0)))"}]}}});
    let schema = Schema::from_openapi("spec.validation", &doc).unwrap();
    let errors = schema.check_rules(&json!({"x": (0..90).collect::<Vec<u32>>()}), None, &[]).errors;
    assert!(errors[0].to_string().contains("actual cost limit exceeded"), "{}", errors[0]);
}
