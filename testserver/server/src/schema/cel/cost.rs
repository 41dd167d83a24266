//! Estimates the cost of a schema's rules, provided the sizes that the schema permits: a CRD with too expensive rules is refused ([KEP-2876](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2876-crd-validation-expression-language)). The weights are those of the genuine server, derived from its messages.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue};
use serde_json::Value;

use super::{Expression, program::entry_parts};
use crate::schema::FieldError;

/// Limit of one rule, over all its occurrences in an object.
const RULE_BUDGET: u64 = 10_000_000;
/// Limit of all rules of a schema.
const SCHEMA_BUDGET: u64 = 100_000_000;
/// The largest request in bytes.
const MAX_REQUEST: u64 = 3 * 1024 * 1024;
/// Ten bytes of text cost one step.
const BYTES_A_STEP: u64 = 10;
/// The number of rules reported as contributing to a schema that costs too much.
const MAX_CONTRIBUTORS: usize = 4;
const HINT: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// Refuses rules of the schema at the path `at` that cost too much.
pub(super) fn check(at: &str, doc: &Value) -> Vec<FieldError> {
    let (mut errors, mut rules) = (Vec::new(), Vec::new());
    collect(&mut rules, at, doc, Some(1));
    for (at, cost) in rules.iter().filter(|(_, cost)| *cost > RULE_BUDGET) {
        let factor = factor(*cost, RULE_BUDGET);
        let what = at.rsplit('.').next().unwrap_or_default();
        let why = format!("estimated {what} cost exceeds budget by factor of {factor} {HINT}");
        errors.push(FieldError::forbidden(at.as_str(), &why));
    }
    let total = rules.iter().fold(0u64, |total, (_, cost)| total.saturating_add(*cost));
    if total > SCHEMA_BUDGET {
        rules.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        let large = rules.iter().filter(|(_, cost)| *cost >= SCHEMA_BUDGET / 100);
        for (at, _) in large.take(MAX_CONTRIBUTORS) {
            let why =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(at.as_str(), why));
        }
        let why = format!(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of {} {HINT}",
            factor(total, SCHEMA_BUDGET)
        );
        errors.push(FieldError::forbidden(at, &why));
    }
    errors
}

/// Collects paths and costs of all rules of a schema and its nested schemas. `times` is the largest number of occurrences in an object, if it is bounded.
fn collect(rules: &mut Vec<(String, u64)>, at: &str, doc: &Value, times: Option<u64>) {
    // Unbounded values occur as often as fits into a request.
    let occurs = times.unwrap_or_else(|| MAX_REQUEST / (min_json_size(doc) + 1));
    let own = doc["x-kubernetes-validations"].as_array().map_or(&[][..], Vec::as_slice);
    for (i, rule) in own.iter().enumerate() {
        for name in ["rule", "messageExpression"] {
            let text = rule[name].as_str().filter(|text| !text.is_empty());
            if let Some(Ok(expression)) = text.map(Expression::compile) {
                let at = format!("{at}.x-kubernetes-validations[{i}].{name}");
                rules.push((at, estimate_rule(expression.ast(), doc).saturating_mul(occurs)));
            }
        }
    }
    let inner = |most: Option<u64>| Some(times?.saturating_mul(most?));
    for (name, property) in doc["properties"].as_object().into_iter().flatten() {
        collect(rules, &format!("{at}.properties[{name}]"), property, times);
    }
    if doc["additionalProperties"].is_object() {
        let most = inner(doc["maxProperties"].as_u64());
        collect(rules, &format!("{at}.additionalProperties"), &doc["additionalProperties"], most);
    }
    if doc["items"].is_object() {
        collect(rules, &format!("{at}.items"), &doc["items"], inner(doc["maxItems"].as_u64()));
    }
}

/// The cost of an expression in a schema.
fn estimate_rule(ast: &IdedExpr, doc: &Value) -> u64 {
    let value = SizedValue::Schema(doc);
    let mut scope = BTreeMap::from([("self".to_owned(), value.clone()), ("oldSelf".to_owned(), value)]);
    estimate(ast, &mut scope).0
}

fn factor(cost: u64, budget: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let factor = cost as f64 / budget as f64;
    match factor {
        _ if factor > 100.0 => "more than 100x".into(),
        // More digits, so that a small excess does not read as 1.0.
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    }
}

/// What is known about the size of a value.
#[derive(Clone)]
enum SizedValue<'d> {
    /// A value of this schema.
    Schema(&'d Value),
    /// At most so many bytes.
    Text(u64),
    /// At most so many elements.
    List(u64, Box<SizedValue<'d>>),
    /// Of any size, and maybe a text.
    Unknown,
    Scalar,
}

type Scope<'d> = BTreeMap<String, SizedValue<'d>>;

impl<'d> SizedValue<'d> {
    /// The largest size: bytes of a text, elements of a collection, 0 for a number.
    fn size(&self) -> u64 {
        match self {
            Self::Text(size) | Self::List(size, _) => *size,
            Self::Scalar => 0,
            Self::Unknown => u64::MAX,
            Self::Schema(doc) => match doc["type"].as_str() {
                Some("string") => max_text_size(doc),
                Some("array") => {
                    doc["maxItems"].as_u64().unwrap_or(MAX_BODY / (min_json_size(&doc["items"]) + 1))
                }
                Some("object") if doc["additionalProperties"].is_object() => {
                    let pair = min_json_size(&doc["additionalProperties"]) + 6;
                    doc["maxProperties"].as_u64().unwrap_or(MAX_BODY / pair)
                }
                _ => 0,
            },
        }
    }

    /// The elements that a loop iterates over.
    fn element(&self) -> Self {
        match self {
            Self::List(_, inner) => (**inner).clone(),
            Self::Schema(doc) if doc["items"].is_object() => Self::Schema(&doc["items"]),
            // The keys of a map.
            Self::Schema(doc) if doc["type"] == "object" => Self::Text(MAX_BODY),
            _ => Self::Scalar,
        }
    }

    fn indexed(&self) -> Self {
        match self {
            Self::Schema(doc) if doc["additionalProperties"].is_object() => {
                Self::Schema(&doc["additionalProperties"])
            }
            other => other.element(),
        }
    }

    fn member(&self, name: &str) -> Self {
        match self {
            Self::Schema(doc) => match doc["properties"].as_object().and_then(|all| all.get(name)) {
                Some(property) => Self::Schema(property),
                None => self.indexed(),
            },
            _ => Self::Scalar,
        }
    }

    fn is_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Schema(doc) => doc["type"] == "string",
            Self::List(..) | Self::Scalar | Self::Unknown => false,
        }
    }
}

/// A request without its outer brackets.
const MAX_BODY: u64 = MAX_REQUEST - 2;

/// The smallest JSON size of a value of this schema.
fn min_json_size(doc: &Value) -> u64 {
    let required = doc["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match doc["type"].as_str() {
        Some("boolean") => 4,
        Some("string" | "array") => 2,
        Some("object") => {
            2 + required
                .map(|name| name.len() as u64 + 4 + min_json_size(&doc["properties"][name]))
                .sum::<u64>()
        }
        _ => 1,
    }
}

fn max_text_size(doc: &Value) -> u64 {
    let named = doc["enum"].as_array().map(|all| all.iter().filter_map(Value::as_str).map(str::len).max());
    match (named, doc["format"].as_str(), doc["maxLength"].as_u64()) {
        (Some(longest), ..) => longest.unwrap_or(0) as u64,
        (None, Some("date"), _) => 10,
        (None, Some("date-time"), _) => 30,
        (None, Some("duration"), _) => 32,
        // A character may take four bytes.
        (None, _, Some(most)) => most.saturating_mul(4),
        (None, _, None) => MAX_BODY,
    }
}

/// The cost of reading a text.
fn steps(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_A_STEP)
}

fn estimate<'d>(expr: &IdedExpr, scope: &mut Scope<'d>) -> (u64, SizedValue<'d>) {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => (0, SizedValue::Text(text.inner().len() as u64)),
        Expr::Literal(_) | Expr::Unspecified => (0, SizedValue::Scalar),
        Expr::Ident(name) => (1, scope.get(name).cloned().unwrap_or(SizedValue::Scalar)),
        Expr::Select(select) => {
            let (cost, operand) = estimate(&select.operand, scope);
            if select.test { (cost, SizedValue::Scalar) } else { (cost + 1, operand.member(&select.field)) }
        }
        Expr::Call(made) => call(made, scope),
        Expr::Comprehension(looped) => comprehension(looped, scope),
        Expr::List(list) => {
            let parts: Vec<_> = list.elements.iter().map(|element| estimate(element, scope)).collect();
            let inner = parts.first().map_or(SizedValue::Scalar, |(_, shape)| shape.clone());
            (sum(&parts).saturating_add(10), SizedValue::List(parts.len() as u64, Box::new(inner)))
        }
        Expr::Map(map) => {
            let entries = map.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
            let parts: Vec<_> = entries.map(|part| estimate(part, scope)).collect();
            (sum(&parts).saturating_add(30), SizedValue::Scalar)
        }
        Expr::Struct(made) => {
            let entries = made.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
            let parts: Vec<_> = entries.map(|part| estimate(part, scope)).collect();
            (sum(&parts).saturating_add(40), SizedValue::Scalar)
        }
    }
}

fn sum(parts: &[(u64, SizedValue<'_>)]) -> u64 {
    parts.iter().fold(0u64, |sum, (cost, _)| sum.saturating_add(*cost))
}

fn call<'d>(call: &CallExpr, scope: &mut Scope<'d>) -> (u64, SizedValue<'d>) {
    let operands = call.target.as_deref().into_iter().chain(&call.args);
    let parts: Vec<(u64, SizedValue<'d>)> = operands.map(|operand| estimate(operand, scope)).collect();
    let size = |at: usize| parts.get(at).map_or(0, |(_, shape)| shape.size());
    let shape = |at: usize| parts.get(at).map_or(SizedValue::Scalar, |(_, shape)| shape.clone());
    let (own, result) = match call.func_name.as_str() {
        "_&&_" | "_||_" => (0, SizedValue::Scalar),
        "_?_:_" => {
            // Only one branch is taken.
            let branches = |at: usize| parts.get(at).map_or(0, |(cost, _)| *cost);
            let spared = branches(1).min(branches(2));
            return (sum(&parts).saturating_sub(spared), if size(1) > size(2) { shape(1) } else { shape(2) });
        }
        "_==_" | "_!=_" => (steps(size(0).min(size(1))), SizedValue::Scalar),
        "@in" | "_in_" if matches!(shape(1), SizedValue::List(..)) || shape(1).is_list() => {
            (size(1), SizedValue::Scalar)
        }
        "startsWith" | "endsWith" => (steps(size(1)), SizedValue::Scalar),
        "contains" => (steps(size(0)).saturating_mul(steps(size(1))), SizedValue::Scalar),
        "matches" => (steps(size(0) + 1).saturating_mul(size(1).div_ceil(4)), SizedValue::Scalar),
        "_+_" if shape(0).is_text() || shape(1).is_text() => {
            let both = size(0).saturating_add(size(1));
            (steps(both), SizedValue::Text(both))
        }
        "_+_" if matches!(shape(0), SizedValue::List(..)) || shape(0).is_list() => {
            (1, SizedValue::List(size(0).saturating_add(size(1)), Box::new(shape(1).element())))
        }
        "_[_]" => (1, shape(0).indexed()),
        "_<_" | "_<=_" | "_>_" | "_>=_" => (steps(size(0).min(size(1))).max(1), SizedValue::Scalar),
        "size" => (1, SizedValue::Scalar),
        "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "quote" => {
            (steps(size(0)).max(1), SizedValue::Text(size(0)))
        }
        "string" if shape(0).is_bytes() => (steps(size(0)).max(1), SizedValue::Text(size(0))),
        "string" => (steps(size(0)).max(1), UNKNOWN_TEXT),
        "charAt" | "format" | "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" => {
            (1, UNKNOWN_TEXT)
        }
        "value" | "orValue" => (1, SizedValue::Unknown),
        "join" if matches!(shape(0), SizedValue::List(..)) => (steps(u64::MAX), UNKNOWN_TEXT),
        "min" | "max" => (size(0).max(1), SizedValue::Unknown),
        "sum" | "isSorted" | "indexOf" | "lastIndexOf" | "join" | "split" | "find" | "findAll"
        | "reverse" | "flatten" | "sort" => {
            let steps = if shape(0).is_text() { steps(size(0)) } else { size(0) };
            (steps.max(1), SizedValue::List(size(0), Box::new(shape(0).element())))
        }
        _ => (1, SizedValue::Scalar),
    };
    (sum(&parts).saturating_add(own), result)
}

/// A text that may be of any size.
const UNKNOWN_TEXT: SizedValue<'_> = SizedValue::Text(u64::MAX);

impl SizedValue<'_> {
    fn is_bytes(&self) -> bool {
        matches!(self, Self::Schema(doc) if doc["format"] == "byte")
    }

    fn is_list(&self) -> bool {
        matches!(self, Self::Schema(doc) if doc["type"] == "array")
    }
}

fn comprehension<'d>(looped: &ComprehensionExpr, scope: &mut Scope<'d>) -> (u64, SizedValue<'d>) {
    let (range, over) = estimate(&looped.iter_range, scope);
    let (init, start) = estimate(&looped.accu_init, scope);
    let mut inner = scope.clone();
    let collects = matches!(start, SizedValue::List(..));
    let first = if looped.iter_var2.is_some() { SizedValue::Scalar } else { over.element() };
    inner.insert(looped.iter_var.clone(), first);
    if let Some(name) = &looped.iter_var2 {
        inner.insert(name.clone(), over.indexed());
    }
    inner.insert(looped.accu_var.clone(), start);
    let (condition, _) = estimate(&looped.loop_cond, &mut inner);
    let (step, grown) = estimate(&looped.loop_step, &mut inner);
    let collected = match (collects, grown) {
        (true, SizedValue::List(_, element)) => SizedValue::List(over.size(), element),
        (true, _) => SizedValue::List(over.size(), Box::new(SizedValue::Scalar)),
        (false, other) => other,
    };
    inner.insert(looped.accu_var.clone(), collected);
    let (end, result) = estimate(&looped.result, &mut inner);
    let loops = over.size().saturating_mul(condition.saturating_add(step));
    (range.saturating_add(init).saturating_add(loops).saturating_add(end), result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusals(spec: Value) -> Vec<String> {
        let doc = json!({"type": "object", "properties": {"spec": spec}});
        check("s", &doc).iter().map(ToString::to_string).collect()
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
        assert!(
            unlimited("self.a.all(x, x > 0 && x < 5 && x != 3)", numbers.clone())[0].contains("1.258291x")
        );
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
            assert!(
                refusals[2].starts_with("s: Forbidden: x-kubernetes-validations estimated"),
                "{refusals:?}"
            );
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
}
