//! Tests of expressions: what compiles, what they cost, and what they evaluate to.

use serde_json::{Value, json};

use crate::schema::Schema;

fn objections(spec: Value, object: Value, old: Option<Value>) -> Vec<String> {
    let doc = json!({"type": "object", "properties": {"spec": spec}});
    let schema = Schema::from_openapi("spec.validation", &doc).unwrap();
    let whole =
        |spec: Value| json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec});
    let object = whole(object);
    let errors = schema.validate(&object);
    let rules = schema.check_rules(&object, old.map(whole).as_ref(), &errors).errors;
    errors.iter().chain(&*rules).map(ToString::to_string).collect()
}

fn ruled(ty: &str, rules: Value) -> Value {
    json!({"type": "object", "properties": {"x": {"type": ty, "x-kubernetes-validations": rules}}})
}

fn refused(spec: Value) -> Vec<String> {
    let doc = json!({"type": "object", "properties": {"spec": spec}});
    let errors = Schema::from_openapi("spec.validation", &doc).err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

/// Responses of a genuine server (1.36).
#[test]
fn violations_of_scalars_show_the_value() {
    let number = |rule: &str| ruled("integer", json!([{"rule": rule}]));
    assert!(objections(number("self > 5"), json!({"x": 6}), None).is_empty());
    assert_eq!(
        objections(number("self > 5"), json!({"x": 1}), None),
        ["spec.x: Invalid value: 1: failed rule: self > 5"]
    );
    assert_eq!(
        objections(number("10 / self > 1"), json!({"x": 0}), None),
        ["spec.x: Invalid value: \"integer\": division by zero evaluating rule: 10 / self > 1"]
    );
    assert_eq!(
        objections(ruled("boolean", json!([{"rule": "self"}])), json!({"x": false}), None),
        ["spec.x: Invalid value: false: failed rule: self"]
    );
    let number = ruled("number", json!([{"rule": "self > 0.5"}]));
    assert!(objections(number.clone(), json!({"x": 1}), None).is_empty());
    assert_eq!(
        objections(number, json!({"x": 0}), None),
        ["spec.x: Invalid value: 0: failed rule: self > 0.5"]
    );
    let either = json!({"type": "object", "properties": {"x": {"x-kubernetes-int-or-string": true,
        "x-kubernetes-validations": [{"rule": "type(self) == int ? self > 3 : self == 'x'"}]}}});
    assert_eq!(objections(either.clone(), json!({"x": 2}), None).len(), 1);
    assert_eq!(objections(either.clone(), json!({"x": "y"}), None).len(), 1);
    assert!(objections(either.clone(), json!({"x": "x"}), None).is_empty());
    assert!(objections(either, json!({"x": 4}), None).is_empty());
}

#[test]
fn formats_have_their_cel_types() {
    let of = |format: &str, rule: &str| {
        json!({"type": "object", "properties": {"x": {"type": "string", "format": format,
            "x-kubernetes-validations": [{"rule": rule}]}}})
    };
    let when = of("date-time", "self > timestamp('2020-01-01T00:00:00Z')");
    assert_eq!(objections(when.clone(), json!({"x": "2019-01-01T00:00:00Z"}), None).len(), 1);
    assert!(objections(when, json!({"x": "2021-01-01T00:00:00Z"}), None).is_empty());
    let lasts = of("duration", "self < duration('10m')");
    assert_eq!(objections(lasts.clone(), json!({"x": "20m"}), None).len(), 1);
    assert!(objections(lasts, json!({"x": "5m"}), None).is_empty());
    let bytes = of("byte", "self == b'abc'");
    assert!(objections(bytes.clone(), json!({"x": "YWJj"}), None).is_empty());
    assert_eq!(objections(bytes, json!({"x": "YWJk"}), None).len(), 1);
}

#[test]
fn missing_members_are_optional_values() {
    let spec = json!({"type": "object", "properties": {"x": {"type": "string", "maxLength": 5}, "m": {"type": "object",
        "additionalProperties": {"type": "string", "maxLength": 5}, "maxProperties": 5}},
        "x-kubernetes-validations": [{"rule": "self.?x.orValue('a') == 'a' && self.?m.?k.orValue('b') == 'b'"}]});
    for (value, broken) in [
        (json!({}), 0),
        (json!({"x": "a", "m": {"k": "b"}}), 0),
        (json!({"x": "b"}), 1),
        (json!({"m": {"j": "c"}}), 0),
        (json!({"m": {"k": "c"}}), 1),
    ] {
        assert_eq!(objections(spec.clone(), value.clone(), None).len(), broken, "{value}");
    }
}

#[test]
fn evaluation_stops_at_its_cost() {
    let numbers = json!({"type": "object", "properties": {"x": {"type": "array", "maxItems": 1000, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}]}}});
    assert!(objections(numbers.clone(), json!({"x": vec![1; 100]}), None).is_empty());
    let errors = objections(numbers, json!({"x": vec![1; 1000]}), None);
    assert!(
        errors[0].contains("'operation cancelled: actual cost limit exceeded': no further validation rules"),
        "{errors:?}"
    );
    // A large value elsewhere in the object costs nothing.
    let mixed = json!({"type": "object", "properties": {
        "x": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "y": {"type": "array", "maxItems": 100000, "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": "self.x.all(a, self.x.all(b, a == b))"}]});
    assert!(objections(mixed, json!({"x": [1, 1], "y": vec![1; 50_000]}), None).is_empty());
}

#[test]
fn violations_of_lists_and_maps_show_no_value() {
    let list = json!({"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self != 'bad'"}]},
        "x-kubernetes-validations": [{"rule": "self.size() < 2", "messageExpression": "'size is %d'.format([self.size()])"}]}}});
    assert_eq!(
        objections(list, json!({"x": ["a", "bad"]}), None),
        ["spec.x: Invalid value: size is 2", "spec.x[1]: Invalid value: \"bad\": failed rule: self != 'bad'"]
    );
    let map = json!({"type": "object", "properties": {"x": {"type": "object",
        "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self>0"}]},
        "x-kubernetes-validations": [{"rule": "self.all(k, k != 'x')"}, {"rule": "!('w' in self)", "fieldPath": "['w']", "message": "no w"}]}}});
    assert_eq!(
        objections(map.clone(), json!({"x": {"x": 0}}), None),
        [
            "spec.x: Invalid value: failed rule: self.all(k, k != 'x')",
            "spec.x[x]: Invalid value: 0: failed rule: self>0"
        ]
    );
    assert_eq!(objections(map, json!({"x": {"w": 1}}), None), ["spec.x.[w]: Invalid value: no w"]);
}

#[test]
fn reason_path_and_message_come_from_the_rule() {
    let spec = json!({"type": "object", "properties": {"p": {"type": "string"}, "q": {"type": "string"}}, "x-kubernetes-validations": [
        {"rule": "has(self.p)", "fieldPath": ".p", "reason": "FieldValueRequired", "message": "need p"},
        {"rule": "!has(self.q)", "fieldPath": ".q", "reason": "FieldValueForbidden", "messageExpression": "'no q: ' + self.q"},
        {"rule": "self.p != self.q", "fieldPath": ".p", "reason": "FieldValueDuplicate"},
    ]});
    assert_eq!(
        objections(spec.clone(), json!({"q": "x"}), None),
        [
            "spec.p: Required value: need p",
            "spec.q: Forbidden: no q: x",
            "spec: Invalid value: \"object\": no such key: p evaluating rule: self.p != self.q"
        ]
    );
    assert_eq!(
        objections(spec, json!({"p": "x", "q": "x"}), None),
        ["spec.q: Forbidden: no q: x", "spec.p: Duplicate value"]
    );
    // A `messageExpression` that is blank, multi-line or fails is not used.
    for (rule, want) in [
        (json!({"rule": "self==1", "messageExpression": "'  '", "message": "fallback"}), "fallback"),
        (json!({"rule": "self==1", "messageExpression": "'a\\nb'"}), "failed rule: self==1"),
        (json!({"rule": "self==1", "messageExpression": "string(1 / (self - 2))", "message": "m"}), "m"),
    ] {
        let errors = objections(ruled("integer", json!([rule])), json!({"x": 2}), None);
        assert_eq!(errors, [format!("spec.x: Invalid value: 2: {want}")]);
    }
}

#[test]
fn transition_rules_need_an_old_value() {
    let fixed = ruled("string", json!([{"rule": "self == oldSelf", "message": "fixed"}]));
    assert!(objections(fixed.clone(), json!({"x": "a"}), None).is_empty());
    assert!(objections(fixed.clone(), json!({"x": "a"}), Some(json!({}))).is_empty());
    assert!(objections(fixed.clone(), json!({}), Some(json!({"x": "a"}))).is_empty());
    assert_eq!(
        objections(fixed, json!({"x": "b"}), Some(json!({"x": "a"}))),
        ["spec.x: Invalid value: \"b\": fixed"]
    );
    let starts =
        ruled("integer", json!([{"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true}]));
    assert_eq!(objections(starts.clone(), json!({"x": 2}), None).len(), 1);
    assert!(objections(starts.clone(), json!({"x": 1}), None).is_empty());
    assert!(objections(starts, json!({"x": 2}), Some(json!({"x": 1}))).is_empty());
}

#[test]
fn keyed_elements_are_correlated_with_old_ones() {
    let items = json!({"type": "object", "properties": {"x": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {
            "k": {"type": "string"}, "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}}}});
    let old = json!({"x": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]});
    assert_eq!(
        objections(items.clone(), json!({"x": [{"k": "b", "v": 0}, {"k": "a", "v": 5}]}), Some(old.clone())),
        ["spec.x[0].v: Invalid value: 0: failed rule: self >= oldSelf"]
    );
    assert!(objections(items, json!({"x": [{"k": "c", "v": 0}]}), Some(old)).is_empty());
    // Members of atomic maps too.
    let atomic = json!({"type": "object", "properties": {"x": {"type": "object", "x-kubernetes-map-type": "atomic",
        "properties": {"m": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}});
    assert_eq!(
        objections(atomic, json!({"x": {"m": 2}}), Some(json!({"x": {"m": 1}}))),
        ["spec.x.m: Invalid value: 2: failed rule: self == oldSelf"]
    );
    let set = json!({"type": "object", "properties": {"x": {"type": "array", "x-kubernetes-list-type": "set",
        "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}});
    assert!(objections(set.clone(), json!({"x": ["a", "b"]}), Some(json!({"x": ["b", "a"]}))).is_empty());
    assert_eq!(objections(set, json!({"x": ["a"]}), Some(json!({"x": ["b", "a"]}))).len(), 1);
}

#[test]
fn unchanged_violations_are_ratcheted() {
    let rule = ruled("integer", json!([{"rule": "self > 100"}]));
    assert!(objections(rule.clone(), json!({"x": 1}), Some(json!({"x": 1}))).is_empty());
    assert_eq!(objections(rule, json!({"x": 2}), Some(json!({"x": 1}))).len(), 1);
}

#[test]
fn rules_are_skipped_after_type_errors() {
    let spec = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.x > 1"}]});
    let errors = objections(spec, json!({"x": "a"}), None);
    assert_eq!(errors.len(), 2);
    assert!(errors[1].starts_with("<nil>: Invalid value: null: some validation rules were not checked"));
}

#[test]
fn rules_see_only_the_names_in_metadata() {
    let doc = json!({"type": "object", "x-kubernetes-validations": [
        {"rule": "self.metadata.name != 'n' && self.kind == 'K'"}]});
    let schema = Schema::from_openapi("spec.validation", &doc).unwrap();
    let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n", "labels": {}}});
    let errors = schema.check_rules(&object, None, &[]).errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].field, "<nil>");
}

/// Responses of a genuine server (1.36).
#[test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each rule")]
fn invalid_rules_are_refused_with_the_crd() {
    let at = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
    let printed_rule = |rule: &str| {
        format!(
            r#"{{"Rule":"{rule}","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}}"#
        )
    };
    let spec = |rule: Value| json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]});
    for (rule, why) in [
        ("self.b == 'x'", "ERROR: <input>:1:5: undefined field 'b'\n | self.b == 'x'\n | ....^"),
        (
            "self.a == 5",
            "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(string, int)'\n | self.a == 5\n | .......^",
        ),
        (
            "foo == 5",
            "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 5\n | ^",
        ),
        (
            "foo(self.a)",
            "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(self.a)\n | ...^",
        ),
    ] {
        let want = format!("{at}.rule: Invalid value: {}: compilation failed: {why}", printed_rule(rule));
        assert_eq!(refused(spec(json!({"rule": rule}))), [want]);
    }
    assert_eq!(
        refused(spec(json!({"rule": "self.a"}))),
        [format!(
            "{at}.rule: Invalid value: {}: cel expression must evaluate to a bool",
            printed_rule("self.a")
        )]
    );
    for (rule, want) in [
        (json!({"rule": " "}), "rule: Required value: rule is not specified"),
        (
            json!({"rule": "true", "message": "a\nb"}),
            "message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
        (
            json!({"rule": "true", "message": "  "}),
            "message: Invalid value: \"  \": must be non-empty if specified",
        ),
        (
            json!({"rule": "true &&\n true"}),
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "reason": "Nope"}),
            "reason: Unsupported value: \"Nope\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        ),
        (
            json!({"rule": "true", "fieldPath": ".zz"}),
            "fieldPath: Invalid value: \".zz\": must be a valid path",
        ),
        (
            json!({"rule": "true", "fieldPath": "zz"}),
            "fieldPath: Invalid value: \"zz\": must be a valid path",
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ] {
        assert_eq!(refused(spec(rule)), [format!("{at}.{want}")]);
    }
    let errors = refused(spec(json!({"rule": "self.a =="})));
    assert!(errors[0].contains("compilation failed: ERROR: <input>:1:10: Syntax error"), "{errors:?}");
    let list = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}});
    assert!(refused(list)[0].ends_with(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec].properties[l]"
    ));
    let default = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3,
        "x-kubernetes-validations": [{"rule": "self>5"}]}}});
    assert_eq!(
        refused(default),
        [
            "spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: 3: failed rule: self>5"
        ]
    );
    let branch = json!({"type": "object", "anyOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]});
    assert_eq!(
        refused(branch),
        [
            "spec.validation.openAPIV3Schema.properties[spec].anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"
        ]
    );
}

#[test]
fn useful_rules_are_accepted() {
    let spec = json!({"type": "object", "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer"}, "in": {"type": "string"}, "url": {"type": "string"},
        "names": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 20}},
        "parts": {"type": "object", "maxProperties": 20,
            "additionalProperties": {"type": "object", "properties": {"cpu": {"type": "string", "maxLength": 20}}}},
        "when": {"type": "string", "format": "date-time"}}});
    for rule in [
        "self.min <= self.max",
        "!has(self.names) || self.names.all(n, n.startsWith('a') && size(n) < 5)",
        "self.names.exists_one(n, n == 'x') || self.names.map(n, n + '-').filter(n, n != 'y').size() > 0",
        "self.parts.all(k, quantity(self.parts[k].cpu).isGreaterThan(quantity('1')))",
        "self.parts.map(k, self.parts[k].cpu).all(c, c != '')",
        "self.__in__ in ['a', 'b']",
        "isURL(self.url) && url(self.url).getHostname() != ''",
        "self.when < timestamp('2030-01-01T00:00:00Z')",
        "[1, 2, 3].sum() == 6 && sets.contains(['a', 'b'], ['a'])",
        "double(self.min) / 2.0 < 3.0 && self.max % 2 == 0 && -self.max < 0",
        "self.min > 2 ? self.max > 5 : true",
        "optional.of(self.min).hasValue()",
        "self.names.join(',').matches('^[a-z,]*$')",
        "has(self.parts) && 'a' in self.parts && self.parts['a'].cpu.find('[0-9]+') != ''",
    ] {
        let mut spec = spec.clone();
        spec["x-kubernetes-validations"] = json!([{"rule": rule}]);
        assert_eq!(refused(spec), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn no_rule_hangs_or_panics() {
    let spec = json!({"type": "object", "properties": {"x": {"type": "array", "maxItems": 90, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]}}});
    let many: Vec<u32> = (0..90).collect();
    assert_eq!(
        objections(spec, json!({"x": many}), None),
        [
            "spec.x: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"
        ]
    );
    for rule in [
        format!("{}true{}", "(".repeat(5000), ")".repeat(5000)),
        format!("{}true", "!".repeat(5000)),
        format!("{}1 > 0", "-".repeat(5000)),
        "true ? ".repeat(2000),
        format!("{}{}", "[".repeat(3000), "]".repeat(3000)),
        "x".repeat(200_000),
    ] {
        assert!(!refused(ruled("string", json!([{"rule": rule}]))).is_empty());
    }
}

/// The evaluator has no structs: evaluating one would panic.
#[test]
fn struct_literals_are_refused() {
    let errors = refused(ruled("integer", json!([{"rule": "Foo{a: 1}.a == self"}])));
    assert!(errors.len() == 1 && errors[0].contains("undeclared reference to 'Foo'"), "{errors:?}");
}
