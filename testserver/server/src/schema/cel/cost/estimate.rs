//! Walks an expression and adds up what its evaluation may cost at most.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};

use super::{
    functions,
    operand::Operand,
    size::{Place, Size, Step},
};
use crate::schema::cel::{
    ast::entry_parts,
    typing::{Kind, Types},
};

const LIST: u64 = 10;
const MAP: u64 = 30;
const STRUCT: u64 = 40;

/// The largest cost of an expression over a value of the schema `root`.
pub(super) fn estimate<'d, 'f>(ast: &IdedExpr, types: &Types<'f>, root: Place<'d>) -> u64 {
    Estimator { types, root, locals: Vec::new() }.expr(ast).cost
}

struct Estimator<'d, 'f, 't> {
    types: &'t Types<'f>,
    root: Place<'d>,
    locals: Vec<(String, Operand<'d, 'f>)>,
}

impl<'d, 'f> Estimator<'d, 'f, '_> {
    fn operand(&self, expr: &IdedExpr, cost: u64) -> Operand<'d, 'f> {
        Operand { cost, kind: self.types.kind(expr), place: None, computed: None, entry: None, number: None }
    }

    fn step(&self, from: Option<Place<'d>>, step: Step<'_>) -> Place<'d> {
        from.map_or(self.root, |place| place.step(step))
    }

    fn expr(&mut self, expr: &IdedExpr) -> Operand<'d, 'f> {
        match &expr.expr {
            Expr::Literal(literal) => self.literal(expr, literal),
            Expr::Unspecified => self.operand(expr, 0),
            Expr::Ident(name) => {
                let local = self.locals.iter().rev().find(|(local, _)| local == name);
                match local {
                    Some((_, value)) => Operand { cost: 1, ..value.clone() },
                    None => Operand { place: Some(self.root), ..self.operand(expr, 1) },
                }
            }
            Expr::Select(select) if self.types.is_constant(expr) => {
                Operand { place: Some(self.root), ..self.operand(expr, 1) }
            }
            Expr::Select(select) => {
                let operand = self.expr(&select.operand);
                if select.test {
                    return self.operand(expr, operand.cost);
                }
                let place = self.step(operand.place, Step::Member(&select.field));
                let own = u64::from(operand.kind.has_members());
                Operand { place: Some(place), ..self.operand(expr, operand.cost.saturating_add(own)) }
            }
            Expr::Call(call) => self.call(expr, call),
            Expr::Comprehension(comprehension) => self.comprehension(expr, comprehension),
            Expr::List(list) => {
                let elements: Vec<_> = list.elements.iter().map(|element| self.expr(element)).collect();
                let entry = common(elements.iter().map(Operand::size));
                let computed = Some(Size::exact(elements.len() as u64));
                Operand { computed, entry: Some(entry), ..self.operand(expr, total(&elements, LIST)) }
            }
            Expr::Map(map) => {
                let (mut all, mut values) = (Vec::new(), Vec::new());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    all.push(self.expr(&entry.key));
                    let value = self.expr(&entry.value);
                    values.push(value.size());
                    all.push(value);
                }
                let computed = Some(Size::exact(values.len() as u64));
                let entry = Some(common(values.into_iter()));
                Operand { computed, entry, ..self.operand(expr, total(&all, MAP)) }
            }
            Expr::Struct(literal) => {
                let fields = literal.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
                let fields: Vec<_> = fields.map(|field| self.expr(field)).collect();
                self.operand(expr, total(&fields, STRUCT))
            }
        }
    }

    fn literal(&self, expr: &IdedExpr, literal: &LiteralValue) -> Operand<'d, 'f> {
        let (computed, number) = match literal {
            LiteralValue::String(text) => (Some(Size::exact(text.inner().chars().count() as u64)), None),
            LiteralValue::Bytes(bytes) => (Some(Size::exact(bytes.inner().len() as u64)), None),
            LiteralValue::Int(number) => (None, Some(*number.inner())),
            _ => (None, None),
        };
        Operand { computed, number, ..self.operand(expr, 0) }
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) -> Operand<'d, 'f> {
        let called = self.types.called(expr);
        let target = call.target.as_deref().filter(|_| called.is_none_or(|called| called.member));
        let args: Vec<_> = target.into_iter().chain(&call.args).map(|operand| self.expr(operand)).collect();
        let spent = total(&args, 0);
        match (call.func_name.as_str(), args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::OPT_SELECT, _) => {
                let own = u64::from(call.func_name == operators::OPT_SELECT);
                self.operand(expr, spent.saturating_add(own))
            }
            (operators::CONDITIONAL, [condition, yes, no]) => {
                // Only one branch is taken.
                let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
                let entry = match (yes.entry, no.entry) {
                    (Some(yes), Some(no)) => Some(yes.or(no)),
                    _ => None,
                };
                let computed = Some(yes.size().or(no.size()));
                Operand { computed, entry, ..self.operand(expr, cost) }
            }
            ("dyn", [value]) => {
                Operand { computed: Some(value.size()), ..self.operand(expr, spent.saturating_add(1)) }
            }
            (name, _) => {
                let Some(called) = called else { return self.operand(expr, spent) };
                let estimates = called
                    .signatures
                    .iter()
                    .map(|signature| functions::estimate(name, &called.name, signature, &args));
                let (mut cost, mut computed) = (0, None::<Size>);
                for estimate in estimates {
                    cost = estimate.cost.max(cost);
                    computed = match (computed, estimate.size) {
                        (Some(one), Some(other)) => Some(one.or(other)),
                        (one, other) => one.or(other),
                    };
                }
                let result = Operand { computed, ..self.operand(expr, spent.saturating_add(cost)) };
                self.placed(name, &args, result)
            }
        }
    }

    /// The result of an operator that reads or joins collections.
    fn placed(&self, name: &str, args: &[Operand<'d, 'f>], result: Operand<'d, 'f>) -> Operand<'d, 'f> {
        match (name, args) {
            (operators::INDEX, [collection, _]) => {
                let step = match &collection.kind {
                    Kind::List(_) => Step::Items,
                    Kind::Optional(_) => return result,
                    _ => Step::Values,
                };
                Operand {
                    place: Some(self.step(collection.place, step)),
                    computed: collection.entry,
                    ..result
                }
            }
            (operators::ADD, [one, other]) => {
                let entry = one.entry.and_then(|entry| Some(entry.or(other.entry?)));
                Operand { entry, ..result }
            }
            _ => result,
        }
    }

    fn comprehension(&mut self, expr: &IdedExpr, comprehension: &ComprehensionExpr) -> Operand<'d, 'f> {
        let range = self.expr(&comprehension.iter_range);
        let start = self.expr(&comprehension.accu_init);
        let outer = self.locals.len();
        self.locals.push((comprehension.accu_var.clone(), start.clone()));
        let (first, second) = match (&range.kind, &comprehension.iter_var2) {
            (Kind::Map(..), _) => (Step::Keys, Step::Values),
            (_, None) => (Step::Items, Step::Items),
            (_, Some(_)) => (Step::Indices, Step::Items),
        };
        let (first_kind, second_kind) = self.types.variables(expr);
        let (first_place, second_place) = match (range.place, &comprehension.iter_var2) {
            (Some(place), Some(_)) => place.pair(first, second),
            (place, _) => (self.step(place, first), self.step(place, second)),
        };
        let variable = |place, kind| Operand { place: Some(place), kind, ..self.operand(expr, 0) };
        let first = (comprehension.iter_var.clone(), variable(first_place, first_kind));
        let second = comprehension.iter_var2.clone().map(|name| (name, variable(second_place, second_kind)));
        self.locals.push(first);
        self.locals.extend(second);
        let condition = self.expr(&comprehension.loop_cond);
        let step = self.expr(&comprehension.loop_step);
        self.locals.truncate(outer + 1);
        let result = self.expr(&comprehension.result);
        self.locals.truncate(outer);

        let count = range.size();
        let loops = count.max.saturating_mul(condition.cost.saturating_add(step.cost));
        let cost = [range.cost, start.cost, loops, result.cost].into_iter().fold(0, u64::saturating_add);
        let (computed, entry) = match &comprehension.accu_init.expr {
            Expr::List(_) | Expr::Map(_) => (Some(count), step.entry),
            Expr::Literal(_) => (start.computed, None),
            _ => (result.computed, result.entry),
        };
        Operand { computed, entry, ..self.operand(expr, cost) }
    }
}

fn total(operands: &[Operand<'_, '_>], own: u64) -> u64 {
    operands.iter().fold(own, |sum, operand| sum.saturating_add(operand.cost))
}

/// The size of any of several values.
fn common(sizes: impl Iterator<Item = Size>) -> Size {
    sizes.reduce(Size::or).unwrap_or(Size::exact(0))
}
