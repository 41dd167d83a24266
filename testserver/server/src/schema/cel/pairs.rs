//! Loops with two variables, which the `cel` crate does not evaluate: they become loops with one, over pairs of an index or a key and a
//! value.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{
    Context, ExecutionError, Value,
    common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators},
    extractors::This,
    objects::Map,
};

use super::{
    ast::each_part,
    macros::{MAP_INSERT, SORT_BY_KEYS},
};

const PAIRS: &str = "@pairs";

/// Adds the functions that macros and loops need.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function(PAIRS, pairs);
    context.add_function(MAP_INSERT, map_insert);
    context.add_function(SORT_BY_KEYS, sort_by_keys);
}

/// Replaces the loops with two variables.
pub(super) fn lower(expr: &mut IdedExpr) {
    each_part(expr, &mut lower);
    let id = expr.id;
    let Expr::Comprehension(comprehension) = &mut expr.expr else { return };
    let Some(second) = comprehension.iter_var2.take() else { return };
    let pair = format!("@pair{id}");
    for (at, name) in
        [std::mem::replace(&mut comprehension.iter_var, pair.clone()), second].into_iter().enumerate()
    {
        let part = at_index(&pair, if at == 0 { 0 } else { 1 });
        replace(&mut comprehension.loop_cond, &name, &part);
        replace(&mut comprehension.loop_step, &name, &part);
    }
    let range = std::mem::take(&mut comprehension.iter_range);
    comprehension.iter_range = call(PAIRS, vec![range]);
}

fn at_index(pair: &str, at: i64) -> IdedExpr {
    let pair = IdedExpr { id: 0, expr: Expr::Ident(pair.to_owned()) };
    let at = IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::Int(at.into())) };
    call(operators::INDEX, vec![pair, at])
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}

/// Replaces a variable, but not another one of that name in a loop.
fn replace(expr: &mut IdedExpr, name: &str, with: &IdedExpr) {
    match &mut expr.expr {
        Expr::Ident(variable) if variable == name => *expr = with.clone(),
        Expr::Comprehension(comprehension) => {
            replace(&mut comprehension.iter_range, name, with);
            replace(&mut comprehension.accu_init, name, with);
            if comprehension.accu_var == name {
                return;
            }
            if comprehension.iter_var != name {
                replace(&mut comprehension.loop_cond, name, with);
                replace(&mut comprehension.loop_step, name, with);
            }
            replace(&mut comprehension.result, name, with);
        }
        _ => each_part(expr, &mut |part| replace(part, name, with)),
    }
}

/// `[index, element]` of a list, `[key, value]` of a map.
fn pairs(collection: Value) -> Result<Value, ExecutionError> {
    let pair = |first: Value, second: &Value| Value::List(Arc::new(vec![first, second.clone()]));
    let all = match &collection {
        Value::List(list) => {
            let numbered = (0i64..).zip(list.iter());
            numbered.map(|(at, element)| pair(Value::Int(at), element)).collect::<Vec<_>>()
        }
        Value::Map(map) => {
            let mut entries: Vec<_> = map.map.iter().collect();
            // Always in one order, unlike the map.
            entries.sort_by_key(|(key, _)| key.to_string());
            entries.into_iter().map(|(key, value)| pair(key.into(), value)).collect()
        }
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Value::List(Arc::new(all)))
}

/// Adds a key and a value, or the entries of another map; a key that is there already is an error.
fn map_insert(args: kube_cel::cel::extractors::Arguments) -> Result<Value, ExecutionError> {
    let entries: Vec<_> = match args.0.as_slice() {
        [Value::Map(_), key, value] => {
            vec![(key.clone().try_into().map_err(|_| ExecutionError::NoSuchOverload)?, value.clone())]
        }
        [Value::Map(_), Value::Map(entry)] => {
            entry.map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let Some(Value::Map(map)) = args.0.first() else { return Err(ExecutionError::NoSuchOverload) };
    let mut all = (*map.map).clone();
    for (key, value) in entries {
        let key_text = key.to_string();
        if all.insert(key, value).is_some() {
            return Err(ExecutionError::function_error(
                MAP_INSERT,
                format!("insert failed: key {key_text} already exists"),
            ));
        }
    }
    Ok(Value::Map(Map { map: Arc::new(all) }))
}

/// The list in the order of its keys; equal keys keep their order.
fn sort_by_keys(This(list): This<Arc<Vec<Value>>>, keys: Arc<Vec<Value>>) -> Result<Value, ExecutionError> {
    let mut keyed: Vec<_> = keys.iter().zip(list.iter()).collect();
    let mut comparable = true;
    keyed.sort_by(|(one, _), (other, _)| {
        one.partial_cmp(other).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    match comparable {
        true => Ok(Value::List(Arc::new(keyed.into_iter().map(|(_, value)| value.clone()).collect()))),
        false => Err(ExecutionError::NoSuchOverload),
    }
}
