//! Checks constant arguments of calls: patterns, durations, times, format strings.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

use super::{failure::Failures, position::Positions, refusal::Refusal};
use crate::schema::{cel::ast::parts, golang, pattern, validate::format::date_time as is_date_time};

/// Checks constant arguments: patterns, durations, times, formats.
pub(super) fn check(text: &str, ast: &IdedExpr, positions: &Positions<'_>) -> Result<(), Refusal> {
    let (mut failures, mut instantiation) = (Failures::default(), None);
    walk(ast, &mut |expr, call| {
        let first = call.args.first();
        let constant = first.and_then(|arg| string(arg));
        match (call.func_name.as_str(), constant) {
            ("matches", _) => {
                let arg = call
                    .args
                    .last()
                    .filter(|arg| string(arg).is_some_and(|text| pattern::compile(text).is_err()));
                if let Some(arg) = arg {
                    failures.add(positions.at(arg), "invalid matches argument".into());
                }
            }
            (name @ ("duration" | "timestamp"), Some(constant)) => {
                let valid =
                    if name == "duration" { golang::is_duration(constant) } else { is_date_time(constant) };
                if let (false, Some(arg)) = (valid, first) {
                    failures.add(positions.at(arg), format!("invalid {name} argument"));
                }
            }
            ("find" | "findAll", Some(constant)) => {
                if let Err(why) = pattern::compile(constant) {
                    instantiation.get_or_insert(format!("error parsing regexp: {why}"));
                }
            }
            (name @ ("int" | "uint" | "double" | "bool"), Some(constant)) if !converts(name, constant) => {
                let why = format!("type conversion error from 'string' to '{name}'");
                instantiation.get_or_insert(why);
            }
            ("format", _) => format(expr, call, positions, &mut failures),
            _ => {}
        }
    });
    match (failures.report(text), instantiation) {
        (Some(why), _) => Err(Refusal::Compilation(why)),
        (None, Some(why)) => Err(Refusal::Instantiation(why)),
        (None, None) => Ok(()),
    }
}

/// The clauses of a constant format and their arguments.
fn format(expr: &IdedExpr, call: &CallExpr, positions: &Positions<'_>, failures: &mut Failures) {
    let Some(template) = call.target.as_deref().and_then(string) else { return };
    let Some(Expr::List(list)) = call.args.first().map(|arg| &arg.expr) else { return };
    let mut args = list.elements.iter();
    let mut used = 0;
    let mut fail = |why: String| failures.add(positions.at(expr), why);
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('%') {
        let clause = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Some(c) = clause.chars().next() else { return fail("unexpected end of string".into()) };
        rest = &clause[c.len_utf8()..];
        if !matches!(c, '%' | 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o') {
            let why = format!(
                "could not parse formatting clause: unrecognized formatting clause {:?}",
                c.to_string()
            );
            return fail(why);
        }
        if c == '%' {
            continue;
        }
        let Some(arg) = args.next() else { return fail(format!("index {used} out of range")) };
        used += 1;
        if c == 'd' && string(arg).is_some() {
            let why =
                "error during formatting: decimal clause can only be used on integers, was given string";
            failures.add(positions.at(arg), why.into());
            return;
        }
    }
    let given = list.elements.len();
    if used < given {
        fail(format!("too many arguments supplied to string.format (expected {used}, got {given})"));
    }
}

/// Whether a constant can be converted to the named type.
fn converts(name: &str, constant: &str) -> bool {
    match name {
        "int" => constant.parse::<i64>().is_ok(),
        "uint" => constant.parse::<u64>().is_ok(),
        "double" => constant.parse::<f64>().is_ok(),
        _ => matches!(
            constant,
            "1" | "t" | "T" | "true" | "TRUE" | "True" | "0" | "f" | "F" | "false" | "FALSE" | "False"
        ),
    }
}

fn string(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn walk<'e>(expr: &'e IdedExpr, visit: &mut impl FnMut(&'e IdedExpr, &'e CallExpr)) {
    if let Expr::Call(call) = &expr.expr {
        visit(expr, call);
    }
    for part in parts(expr) {
        walk(part, visit);
    }
}
