//! The parts of an expression: for those that read it, and for those that change it.

use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedExpr};

/// The direct parts of an expression.
pub(super) fn parts(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(comprehension) => {
            vec![
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(literal) => literal.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

/// The expressions in an entry of a map or struct literal.
pub(super) fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Visits the direct parts of an expression.
pub(super) fn each_part(expr: &mut IdedExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut expr.expr {
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(visit),
        Expr::Comprehension(comprehension) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } =
                &mut **comprehension;
            [iter_range, accu_init, loop_cond, loop_step, result].into_iter().for_each(visit);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(visit),
        Expr::Select(select) => visit(&mut select.operand),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| each_of_entry(&mut entry.expr, visit)),
        Expr::Struct(literal) => {
            literal.entries.iter_mut().for_each(|entry| each_of_entry(&mut entry.expr, visit))
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn each_of_entry(entry: &mut EntryExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    match entry {
        EntryExpr::StructField(field) => visit(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            visit(&mut entry.key);
            visit(&mut entry.value);
        }
    }
}
