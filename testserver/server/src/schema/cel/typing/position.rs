//! Finds the place in the text of every node of an expression, for error messages.

use std::collections::HashMap;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};

use super::token::{Token, tokens};
use crate::schema::cel::Expression;

/// The place of every node of an expression, by the node's id. The parser does not tell: nodes are matched with the tokens, in the order of
/// the text.
pub(super) struct Positions<'o> {
    by_id: HashMap<u64, usize>,
    /// The macros of nodes that are not in the text.
    origins: &'o HashMap<u64, u64>,
}

impl<'o> Positions<'o> {
    pub(super) fn of(text: &str, expression: &'o Expression) -> Self {
        let mut walk = Walk { tokens: tokens(text), next: 0, by_id: HashMap::new(), made_by: 0 };
        walk.expr(expression.written());
        Self { by_id: walk.by_id, origins: &expression.expanded().origins }
    }

    pub(super) fn at(&self, expr: &IdedExpr) -> usize {
        let id = self.origins.get(&expr.id).unwrap_or(&expr.id);
        self.by_id.get(id).copied().unwrap_or_default()
    }
}

struct Walk<'t> {
    tokens: Vec<Token<'t>>,
    /// The first token that has not been matched.
    next: usize,
    by_id: HashMap<u64, usize>,
    /// The place of the macro that comprehension the current node.
    made_by: usize,
}

impl Walk<'_> {
    /// Moves behind the next token with this text.
    fn pass(&mut self, wanted: impl Fn(&str) -> bool) -> Option<usize> {
        let offset = self.tokens[self.next..].iter().position(|(_, text)| wanted(text))?;
        self.next += offset + 1;
        Some(self.tokens[self.next - 1].0)
    }

    fn set(&mut self, expr: &IdedExpr, at: Option<usize>) {
        self.by_id.insert(expr.id, at.unwrap_or(self.made_by));
    }

    fn expr(&mut self, expr: &IdedExpr) {
        match &expr.expr {
            Expr::Unspecified => {}
            Expr::Literal(literal) => {
                let at = self.literal(literal);
                self.set(expr, at);
            }
            Expr::Ident(name) => {
                let at = self.pass(|text| text == name);
                self.set(expr, at);
            }
            Expr::Select(select) => {
                let has = select.test.then(|| self.pass(|text| text == "has")).flatten();
                let open = has.and_then(|_| self.pass(|text| text == "("));
                self.expr(&select.operand);
                let dot = self.pass(|text| text == ".");
                self.pass(|text| text == select.field);
                self.set(expr, open.or(dot));
            }
            Expr::Call(call) => self.call(expr, call),
            Expr::Comprehension(comprehension) => self.comprehension(expr, comprehension),
            Expr::List(list) => {
                let at = self.pass(|text| text == "[");
                self.set(expr, at);
                list.elements.iter().for_each(|element| self.expr(element));
            }
            Expr::Map(map) => {
                let at = self.pass(|text| text == "{");
                self.set(expr, at);
                map.entries.iter().for_each(|entry| self.entry(&entry.expr));
            }
            Expr::Struct(literal) => {
                let at = self.pass(|text| text == "{");
                self.set(expr, at);
                literal.entries.iter().for_each(|entry| self.entry(&entry.expr));
            }
        }
    }

    fn entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.expr(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.expr(&entry.key);
                self.expr(&entry.value);
            }
        }
    }

    fn literal(&mut self, literal: &LiteralValue) -> Option<usize> {
        let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        match literal {
            LiteralValue::Boolean(_) => self.pass(|text| matches!(text, "true" | "false")),
            LiteralValue::Null => self.pass(|text| text == "null"),
            LiteralValue::String(_) | LiteralValue::Bytes(_) => self.pass(|text| text.ends_with(['\'', '"'])),
            LiteralValue::Double(_) => self.pass(|text| digit(text) || text == "."),
            LiteralValue::Int(_) | LiteralValue::UInt(_) => self.pass(digit),
        }
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) {
        let name = call.func_name.as_str();
        if let Some(target) = &call.target {
            self.expr(target);
            self.function(expr, name, &call.args);
            return;
        }
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_NOT | operators::NEGATE, [operand]) => {
                let at = self.pass(|text| text == &name[..1]);
                self.set(expr, at);
                self.expr(operand);
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.expr(condition);
                let at = self.pass(|text| text == "?");
                self.set(expr, at);
                self.expr(yes);
                self.expr(no);
            }
            (operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                self.expr(operand);
                let at = self.pass(|text| text == "[");
                self.set(expr, at);
                self.expr(index);
            }
            (operators::OPT_SELECT, [operand, field]) => {
                self.expr(operand);
                let at = self.pass(|text| text == ".");
                self.set(expr, at);
                self.set(field, at);
            }
            (operator, [left, right]) if operator.starts_with('_') || operator == operators::IN => {
                self.expr(left);
                let symbol = operator.trim_matches('_').trim_start_matches('@');
                let at = self.pass(|text| text == symbol);
                self.set(expr, at);
                self.expr(right);
            }
            (function, args) => self.function(expr, function, args),
        }
    }

    /// Errors of a function point to its arguments.
    fn function(&mut self, expr: &IdedExpr, name: &str, args: &[IdedExpr]) {
        let at = self.pass(|text| text == name).and_then(|_| self.pass(|text| text == "("));
        self.set(expr, at);
        args.iter().for_each(|arg| self.expr(arg));
    }

    /// A macro: only its range and its arguments are in the text.
    fn comprehension(&mut self, expr: &IdedExpr, comprehension: &ComprehensionExpr) {
        self.expr(&comprehension.iter_range);
        let outer = self.made_by;
        self.pass(|text| MACROS.contains(&text));
        let filters =
            self.tokens.get(self.next.wrapping_sub(1)).is_some_and(|(_, text)| *text == operators::FILTER);
        self.made_by = self.pass(|text| text == "(").unwrap_or(outer);
        self.mark(expr);
        self.pass(|text| text == comprehension.iter_var);
        for part in arguments(&comprehension.loop_step, filters) {
            self.expr(part);
        }
        self.made_by = outer;
    }

    /// Gives nodes that are not in the text the place of their macro.
    fn mark(&mut self, expr: &IdedExpr) {
        self.set(expr, None);
        match &expr.expr {
            Expr::Call(call) => call.args.iter().for_each(|arg| self.mark(arg)),
            Expr::List(list) => list.elements.iter().for_each(|element| self.mark(element)),
            Expr::Comprehension(comprehension) => {
                for part in [
                    &comprehension.accu_init,
                    &comprehension.loop_cond,
                    &comprehension.loop_step,
                    &comprehension.result,
                ] {
                    self.mark(part);
                }
            }
            _ => {}
        }
    }
}

const MACROS: [&str; 6] = [
    operators::ALL,
    operators::EXISTS,
    operators::EXISTS_ONE,
    "existsOne",
    operators::MAP,
    operators::FILTER,
];

/// The arguments of a macro in its step, in the order of the text.
fn arguments(step: &IdedExpr, filters: bool) -> Vec<&IdedExpr> {
    let Expr::Call(call) = &step.expr else { return Vec::new() };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::CONDITIONAL, [condition, collected, _]) => {
            let inner = if filters { Vec::new() } else { arguments(collected, filters) };
            [condition].into_iter().chain(inner).collect()
        }
        (_, [_, argument]) => match &argument.expr {
            // The list around what `map` collects.
            Expr::List(list) if call.func_name == operators::ADD => list.elements.iter().collect(),
            Expr::Literal(_) if call.func_name == operators::ADD => Vec::new(),
            _ => vec![argument],
        },
        _ => Vec::new(),
    }
}
