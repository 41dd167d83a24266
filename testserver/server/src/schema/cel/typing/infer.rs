//! Walks an expression and infers the type of every part.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators,
};

use super::{
    failure::Failures,
    kind::{BOOL, INT, Kind, STRING},
    literals,
    position::Positions,
    refusal::{Refusal, Wanted},
    signature,
    types::Types,
    unify::Substitution,
};
use crate::schema::{
    cel::{Expression, ast::entry_parts, rewrite::Structs},
    model::Field,
};

/// Checks an expression over `self` and `oldSelf`, which are of the type of `field`.
pub(in crate::schema::cel) fn check<'f>(
    text: &str,
    expression: &Expression,
    field: &'f Field,
    expected_type: Wanted,
    optional_old: bool,
) -> Result<Types<'f>, Refusal> {
    let this = Kind::of(field, "selfType").ok_or(Refusal::Schema)?;
    let old = if optional_old { Kind::Optional(Box::new(this.clone())) } else { this.clone() };
    let scope = BTreeMap::from([("self".to_owned(), this), ("oldSelf".to_owned(), old)]);
    let types = infer(text, expression, scope, Structs::Refused)?;
    match (expected_type, types.kind(&expression.expanded().ast)) {
        (Wanted::Bool, Kind::Named("bool")) | (Wanted::String, Kind::Named("string")) => Ok(types),
        _ => Err(Refusal::Result),
    }
}

/// What an expression over `variables`, of whose types nothing is substitution, returns.
pub(in crate::schema::cel) fn returned(
    text: &str,
    expression: &Expression,
    variables: &[&str],
    structs: Structs,
) -> Result<Kind<'static>, String> {
    let scope = variables.iter().map(|name| ((*name).to_owned(), Kind::Dyn)).collect();
    let types = infer(text, expression, scope, structs).map_err(|refusal| match refusal {
        Refusal::Compilation(why) | Refusal::Instantiation(why) => why,
        Refusal::Result | Refusal::Schema => String::new(),
    })?;
    Ok(types.kind(&expression.expanded().ast))
}

fn infer<'f>(
    text: &str,
    expression: &Expression,
    scope: BTreeMap<String, Kind<'f>>,
    structs: Structs,
) -> Result<Types<'f>, Refusal> {
    let positions = Positions::of(text, expression);
    let (substitution, failures, types) = (Substitution::default(), Failures::default(), Types::default());
    let mut infer = Infer { positions: &positions, structs, scope, substitution, failures, types };
    for (arg, why) in &expression.expanded().refused {
        infer.fail(arg, why.clone());
    }
    if infer.failures.is_empty() {
        infer.expr(&expression.expanded().ast);
    }
    if let Some(why) = infer.failures.report(text) {
        return Err(Refusal::Compilation(why));
    }
    literals::check(text, expression.written(), &positions)?;
    Ok(infer.types.resolved(&infer.substitution))
}

struct Infer<'f, 'p> {
    positions: &'p Positions<'p>,
    structs: Structs,
    scope: BTreeMap<String, Kind<'f>>,
    substitution: Substitution<'f>,
    failures: Failures,
    types: Types<'f>,
}

impl<'f> Infer<'f, '_> {
    fn expr(&mut self, expr: &IdedExpr) -> Kind<'f> {
        let kind = self.kind(expr);
        self.types.set(expr, kind.clone());
        kind
    }

    fn kind(&mut self, expr: &IdedExpr) -> Kind<'f> {
        match &expr.expr {
            Expr::Unspecified => Kind::Dyn,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => BOOL,
                LiteralValue::Bytes(_) => Kind::Named("bytes"),
                LiteralValue::Double(_) => Kind::Named("double"),
                LiteralValue::Int(_) => INT,
                LiteralValue::Null => Kind::Null,
                LiteralValue::String(_) => STRING,
                LiteralValue::UInt(_) => Kind::Named("uint"),
            },
            Expr::Ident(name) => {
                let kind = self.scope.get(name).cloned().or_else(|| type_named(name));
                kind.unwrap_or_else(|| self.undeclared(expr, name))
            }
            Expr::Select(select) => self.select(expr, select),
            Expr::Call(call) => self.call(expr, call),
            Expr::Comprehension(comprehension) => self.comprehension(expr, comprehension),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(literal) if literal.type_name.starts_with("google.protobuf.") => Kind::Dyn,
            Expr::Struct(literal) if self.structs.permits(&literal.type_name) => {
                let fields = literal.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
                fields.for_each(|field| drop(self.expr(field)));
                Kind::Dyn
            }
            Expr::Struct(literal) => self.undeclared(expr, &literal.type_name),
        }
    }

    fn select(&mut self, expr: &IdedExpr, select: &SelectExpr) -> Kind<'f> {
        let type_name = qualified(expr).filter(|_| !self.starts_with_variable(expr));
        if let Some(kind) = type_name.and_then(|name| type_named(&name)) {
            self.types.set_constant(expr);
            return kind;
        }
        let operand = self.expr(&select.operand);
        let kind = self.member(expr, self.substitution.resolved(&operand), &select.field);
        if select.test { BOOL } else { kind }
    }

    fn member(&mut self, expr: &IdedExpr, operand: Kind<'f>, name: &str) -> Kind<'f> {
        match operand {
            Kind::Object(..) | Kind::Metadata(_) => match operand.member(name) {
                Some(kind) => kind,
                None => self.fail(expr, format!("undefined field '{name}'")),
            },
            Kind::Map(_, value) => *value,
            Kind::Optional(inner) => Kind::Optional(Box::new(self.member(expr, *inner, name))),
            Kind::Error => Kind::Error,
            Kind::Dyn | Kind::Var(_) => Kind::Dyn,
            other => self.fail(expr, format!("type '{other}' does not support field selection")),
        }
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) -> Kind<'f> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, args) => {
                for arg in args {
                    let kind = self.expr(arg);
                    self.expect(arg, &BOOL, &kind);
                }
                return BOOL;
            }
            (operators::OPT_SELECT, [operand, field]) => return self.optional_select(expr, operand, field),
            _ => {}
        }
        // Function names may contain dots.
        let namespace = call.target.as_deref().filter(|target| !self.starts_with_variable(target));
        let full = namespace.and_then(qualified).map(|namespace| format!("{namespace}.{name}"));
        let permitted =
            |full: &String| !signature::of(full).is_empty() && self.structs.permits_function(full);
        if let Some(full) = full.filter(permitted) {
            let args = self.each(&call.args);
            return self.resolve(expr, &full, false, args);
        }
        let target = call.target.as_deref().map(|target| self.expr(target));
        let (member, mut args) = (target.is_some(), self.arguments(name, &call.args));
        if signature::of(name).is_empty() {
            return self.undeclared(expr, name);
        }
        args.splice(0..0, target);
        self.resolve(expr, name, member, args)
    }

    fn arguments(&mut self, name: &str, args: &[IdedExpr]) -> Vec<Kind<'f>> {
        match args {
            // The arguments of a format may be of several types.
            [IdedExpr { expr: Expr::List(list), .. }] if name == "format" => {
                self.each(&list.elements);
                let kind = Kind::List(Box::new(Kind::Dyn));
                self.types.set(&args[0], kind.clone());
                vec![kind]
            }
            _ => self.each(args),
        }
    }

    fn each(&mut self, exprs: &[IdedExpr]) -> Vec<Kind<'f>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// The result of a function; dynamic if several signatures with different results fit.
    fn resolve(&mut self, expr: &IdedExpr, name: &str, member: bool, args: Vec<Kind<'f>>) -> Kind<'f> {
        let (mut result, mut fitting) = (None::<Kind<'f>>, Vec::new());
        for signature in signature::of(name).iter().filter(|signature| signature.member == member) {
            let (expected, returned) = signature.instance(&mut self.substitution);
            if self.substitution.all_fit(&expected, &args) {
                let returned = self.substitution.resolved(&returned);
                fitting.push(signature);
                result = Some(match result {
                    Some(before) if before.to_string() != returned.to_string() => Kind::Dyn,
                    _ => returned,
                });
            }
        }
        self.types.set_called(expr, name, member, fitting);
        result.unwrap_or_else(|| {
            let kinds: Vec<String> =
                args.iter().map(|arg| self.substitution.resolved(arg).to_string()).collect();
            let applied = match kinds.split_first() {
                Some((target, rest)) if member => format!("{target}.({})", rest.join(", ")),
                _ => format!("({})", kinds.join(", ")),
            };
            self.fail(expr, format!("found no matching overload for '{name}' applied to '{applied}'"))
        })
    }

    fn optional_select(&mut self, expr: &IdedExpr, operand: &IdedExpr, field: &IdedExpr) -> Kind<'f> {
        let operand = self.expr(operand);
        let name = match &field.expr {
            Expr::Literal(LiteralValue::String(name)) => name.inner().to_owned(),
            _ => String::new(),
        };
        match self.member(expr, self.substitution.resolved(&operand), &name) {
            kind @ (Kind::Optional(_) | Kind::Error) => kind,
            kind => Kind::Optional(Box::new(kind)),
        }
    }

    fn list(&mut self, list: &ListExpr) -> Kind<'f> {
        let mut common = None;
        for (i, element) in list.elements.iter().enumerate() {
            let kind = self.element(element, list.optional_indices.contains(&i));
            self.join(&mut common, element, kind);
        }
        Kind::List(Box::new(common.unwrap_or_else(|| self.substitution.fresh())))
    }

    fn map(&mut self, map: &MapExpr) -> Kind<'f> {
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
            let key = self.expr(&entry.key);
            self.join(&mut keys, &entry.key, key);
            let value = self.element(&entry.value, entry.optional);
            self.join(&mut values, &entry.value, value);
        }
        let mut known_or_fresh =
            |kind: Option<Kind<'f>>| Box::new(kind.unwrap_or_else(|| self.substitution.fresh()));
        Kind::Map(known_or_fresh(keys), known_or_fresh(values))
    }

    fn element(&mut self, expr: &IdedExpr, optional: bool) -> Kind<'f> {
        let kind = self.expr(expr);
        match self.substitution.resolved(&kind) {
            Kind::Optional(inner) if optional => *inner,
            kind => kind,
        }
    }

    /// All elements of a literal have one type.
    fn join(&mut self, common: &mut Option<Kind<'f>>, expr: &IdedExpr, kind: Kind<'f>) {
        match common {
            None => *common = Some(kind),
            Some(common) => self.expect(expr, &common.clone(), &kind),
        }
    }

    fn comprehension(&mut self, expr: &IdedExpr, comprehension: &ComprehensionExpr) -> Kind<'f> {
        let range = self.expr(&comprehension.iter_range);
        let (first, second) = match (self.substitution.resolved(&range), &comprehension.iter_var2) {
            (Kind::List(element), None) => (*element, Kind::Dyn),
            (Kind::List(element), Some(_)) => (INT, *element),
            (Kind::Map(key, value), _) => (*key, *value),
            (Kind::Dyn | Kind::Var(_), _) => (Kind::Dyn, Kind::Dyn),
            (Kind::Error, _) => (Kind::Error, Kind::Error),
            (other, _) => {
                let why = "cannot be range of a comprehension (must be list, map, or dynamic)";
                let why = format!("expression of type '{other}' {why}");
                (self.fail(&comprehension.iter_range, why), Kind::Error)
            }
        };
        self.types.set_variables(expr, first.clone(), second.clone());
        let start = self.expr(&comprehension.accu_init);
        let outer = self.scope.clone();
        self.scope.insert(comprehension.iter_var.clone(), first);
        if let Some(name) = &comprehension.iter_var2 {
            self.scope.insert(name.clone(), second);
        }
        self.scope.insert(comprehension.accu_var.clone(), start.clone());
        let condition = self.expr(&comprehension.loop_cond);
        self.expect(&comprehension.loop_cond, &BOOL, &condition);
        let step = self.expr(&comprehension.loop_step);
        self.expect(&comprehension.loop_step, &start, &step);
        let result = self.expr(&comprehension.result);
        self.scope = outer;
        self.substitution.resolved(&result)
    }

    fn expect(&mut self, expr: &IdedExpr, expected: &Kind<'f>, kind: &Kind<'f>) {
        if !self.substitution.fits(expected, kind) {
            let (expected, kind) = (self.substitution.resolved(expected), self.substitution.resolved(kind));
            self.fail(expr, format!("expected type '{expected}' but found '{kind}'"));
        }
    }

    fn undeclared(&mut self, expr: &IdedExpr, name: &str) -> Kind<'f> {
        self.fail(expr, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn fail(&mut self, expr: &IdedExpr, why: String) -> Kind<'f> {
        self.failures.add(self.positions.at(expr), why);
        Kind::Error
    }

    fn starts_with_variable(&self, expr: &IdedExpr) -> bool {
        match &expr.expr {
            Expr::Ident(name) => self.scope.contains_key(name),
            Expr::Select(select) => self.starts_with_variable(&select.operand),
            _ => true,
        }
    }
}

/// `a.b.c` as one name.
fn qualified(expr: &IdedExpr) -> Option<String> {
    match &expr.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

/// The name of a type as a value.
fn type_named<'f>(name: &str) -> Option<Kind<'f>> {
    let dynamic = || Box::new(Kind::Dyn);
    let kind = match name {
        "bool" => BOOL,
        "int" => INT,
        "string" => STRING,
        "uint" => Kind::Named("uint"),
        "double" => Kind::Named("double"),
        "bytes" => Kind::Named("bytes"),
        "google.protobuf.Timestamp" => Kind::Named("timestamp"),
        "google.protobuf.Duration" => Kind::Named("duration"),
        "null_type" => Kind::Null,
        "type" => Kind::Type(dynamic()),
        "list" => Kind::List(dynamic()),
        "map" => Kind::Map(dynamic(), dynamic()),
        "optional_type" => Kind::Optional(dynamic()),
        _ => return None,
    };
    Some(Kind::Type(Box::new(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::cel::Scope;

    /// A rule that passes the check must be able to run.
    #[test]
    fn every_function_can_be_called() {
        let operator = |name: &str| name.starts_with(['_', '@', '-', '!']);
        let missing =
            signature::names().into_iter().filter(|name| !operator(name) && !Scope::has_function(name));
        assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    }
}
