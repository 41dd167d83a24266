//! The order of merged list elements.

use serde_json::Value;

use crate::{patch::PatchError, schema::golang};

/// Refuses a patch whose elements are not in the order of its `$setElementOrder`.
pub(super) fn check(named: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    let mut rest = order.iter();
    if named.iter().all(|element| rest.any(|o| same(o, element, key))) {
        return Ok(());
    }
    let show = |list: &[Value]| golang::plain(&Value::from(list.to_vec()));
    Err(PatchError::Failed(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        show(named),
        show(order)
    )))
}

/// Orders the elements named in `order`. Other elements keep their order, and precede a named element only if they did before.
pub(super) fn arrange(list: &mut Vec<Value>, before: &[Value], order: &[Value], key: Option<&str>) {
    let position = |among: &[Value], element: &Value| among.iter().position(|o| same(o, element, key));
    let (mut named, others): (Vec<_>, Vec<_>) =
        std::mem::take(list).into_iter().partition(|element| position(order, element).is_some());
    named.sort_by_key(|element| position(order, element));
    let mut others = others.into_iter().peekable();
    for element in named {
        let was = position(before, &element);
        while let Some(other) =
            others.next_if(|other| was.is_some_and(|was| position(before, other).is_some_and(|o| o < was)))
        {
            list.push(other);
        }
        list.push(element);
    }
    list.extend(others);
}

fn same(a: &Value, b: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        None => a == b,
    }
}
