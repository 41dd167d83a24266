//! From the steps of a JSON path to the values that it selects.

use std::cmp::Ordering;

use serde_json::Value;

use super::step::{Comparison, Filter, Operand, Slice, Step};

pub(super) fn select<'a>(steps: &[Step], value: &'a Value) -> Vec<&'a Value> {
    let mut values = vec![value];
    for step in steps {
        values = values.into_iter().flat_map(|value| take(step, value)).collect();
    }
    values
}

/// What one step selects in one value.
fn take<'a>(step: &Step, value: &'a Value) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Wildcard => children(value),
        Step::Descend => {
            let mut descendants = Vec::new();
            descend(value, &mut descendants);
            descendants
        }
        Step::Items(slice) => value.as_array().map(|items| in_slice(*slice, items)).unwrap_or_default(),
        Step::Union(paths) => paths.iter().flat_map(|path| select(path, value)).collect(),
        Step::Filter(filter) => {
            let items = value.as_array().into_iter().flatten();
            items.filter(|item| holds(filter, item)).collect()
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn descend<'a>(value: &'a Value, descendants: &mut Vec<&'a Value>) {
    descendants.push(value);
    for child in children(value) {
        descend(child, descendants);
    }
}

fn in_slice(slice: Slice, items: &[Value]) -> Vec<&Value> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |position: i64| if position < 0 { position.saturating_add(length) } else { position };
    let start = from_end(slice.start.unwrap_or(0));
    let end = from_end(slice.end.unwrap_or(length)).min(length);
    match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) if start < end => items[start..end].iter().step_by(slice.step).collect(),
        _ => Vec::new(),
    }
}

fn holds(filter: &Filter, item: &Value) -> bool {
    let left = operand(&filter.left, item);
    let Some((comparison, right)) = &filter.comparison else { return !left.is_empty() };
    let right = operand(right, item);
    let ([left], [right]) = (left.as_slice(), right.as_slice()) else { return false };
    let order = order(left, right);
    match comparison {
        Comparison::Equal => left == right || order == Some(Ordering::Equal),
        Comparison::NotEqual => left != right && order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn operand<'a>(operand: &'a Operand, item: &'a Value) -> Vec<&'a Value> {
    match operand {
        Operand::Path(steps) => select(steps, item),
        Operand::Literal(value) => vec![value],
    }
}

/// The order of two numbers or two strings; others have none.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
        },
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
