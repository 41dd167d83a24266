//! Type inference of expressions, enough to refuse a rule that names an unknown field, compares incompatible types, or does not return a bool. Anything that cannot be inferred is accepted.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::{
    Returns, Scope,
    program::{TYPES, entry_parts},
};
use crate::schema::model::{Field, Type as JsonType};
use kube_core::cel::{escape_property, is_reserved};

/// The required type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Bool,
    String,
}

impl Wanted {
    pub(super) fn refusal(self) -> &'static str {
        match self {
            Self::Bool => "cel expression must evaluate to a bool",
            Self::String => "messageExpression must evaluate to a string",
        }
    }
}

/// Checks an expression over `self` and `oldSelf`, which are of the type of `field`.
pub(super) fn check(
    text: &str,
    ast: &IdedExpr,
    field: &Field,
    wanted: Wanted,
    optional_old: bool,
) -> Result<(), String> {
    let this = Type::of(field);
    let old = if optional_old { Type::Dyn } else { this.clone() };
    let mut scope = BTreeMap::from([("self".to_owned(), this), ("oldSelf".to_owned(), old)]);
    let found = Infer { text }.expr(ast, &mut scope)?;
    let fits = match wanted {
        Wanted::Bool => matches!(found, Type::Bool | Type::Dyn),
        Wanted::String => matches!(found, Type::String | Type::Dyn),
    };
    if fits { Ok(()) } else { Err(wanted.refusal().into()) }
}

/// Whether an expression over `variables`, of whose types nothing is known, returns what it has to.
pub(super) fn returns(
    text: &str,
    ast: &IdedExpr,
    variables: &[&str],
    returns: Returns,
) -> Result<bool, String> {
    let mut scope = variables.iter().map(|name| ((*name).to_owned(), Type::Dyn)).collect();
    let found = Infer { text }.expr(ast, &mut scope)?;
    Ok(match returns {
        Returns::Anything => true,
        Returns::Bool => matches!(found, Type::Bool | Type::Dyn),
        Returns::String => matches!(found, Type::String | Type::Dyn),
    })
}

/// The error of a type that does not exist.
pub(super) fn undeclared(text: &str, name: &str) -> String {
    Infer { text }.undeclared(name, false)
}

#[derive(Clone)]
enum Type<'f> {
    /// Unknown or dynamic.
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Null,
    Timestamp,
    Duration,
    List(Box<Type<'f>>),
    Map(Box<Type<'f>>),
    Object(&'f Field),
}

impl<'f> Type<'f> {
    fn of(field: &'f Field) -> Self {
        let node = field.node();
        if node.int_or_string || node.preserve_unknown && node.properties.is_empty() {
            return Self::Dyn;
        }
        let format = node.rules.as_ref().and_then(|rules| rules.format.as_deref()).unwrap_or_default();
        match (node.ty, format) {
            (None, _) => Self::Dyn,
            (Some(JsonType::Boolean), _) => Self::Bool,
            (Some(JsonType::Integer), _) => Self::Int,
            (Some(JsonType::Number), _) => Self::Double,
            (Some(JsonType::String), "date" | "date-time") => Self::Timestamp,
            (Some(JsonType::String), "duration") => Self::Duration,
            (Some(JsonType::String), "byte") => Self::Bytes,
            (Some(JsonType::String), _) => Self::String,
            (Some(JsonType::Array), _) => {
                Self::List(Box::new(node.items.as_deref().map_or(Self::Dyn, Self::of)))
            }
            (Some(JsonType::Object), _) => match &node.additional {
                Some(inner) => Self::Map(Box::new(Self::of(inner))),
                None => Self::Object(field),
            },
        }
    }

    /// The name in messages. `None` for types that cannot be compared by name.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Bool => "bool".into(),
            Self::Int => "int".into(),
            Self::Uint => "uint".into(),
            Self::Double => "double".into(),
            Self::String => "string".into(),
            Self::Bytes => "bytes".into(),
            Self::Timestamp => "timestamp".into(),
            Self::Duration => "duration".into(),
            Self::List(inner) => format!("list({})", inner.name()?),
            Self::Map(inner) => format!("map(string, {})", inner.name()?),
            Self::Dyn | Self::Null | Self::Object(_) => return None,
        })
    }

    fn number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }
}

type Types<'f> = BTreeMap<String, Type<'f>>;

struct Infer<'t> {
    text: &'t str,
}

impl Infer<'_> {
    fn expr<'f>(&self, expr: &IdedExpr, scope: &mut Types<'f>) -> Result<Type<'f>, String> {
        match &expr.expr {
            Expr::Unspecified => Ok(Type::Dyn),
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::String,
                LiteralValue::UInt(_) => Type::Uint,
            }),
            Expr::Ident(name) => match scope.get(name) {
                Some(found) => Ok(found.clone()),
                None if TYPES.contains(&name.as_str()) => Ok(Type::Dyn),
                None => Err(self.undeclared(name, false)),
            },
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, scope),
            Expr::List(list) => {
                let mut inner = None;
                for element in &list.elements {
                    let found = self.expr(element, scope)?;
                    inner.get_or_insert(found);
                }
                Ok(Type::List(Box::new(inner.unwrap_or(Type::Dyn))))
            }
            Expr::Map(map) => {
                for part in map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)) {
                    self.expr(part, scope)?;
                }
                Ok(Type::Dyn)
            }
            Expr::Struct(_) => Ok(Type::Dyn),
        }
    }

    fn select<'f>(&self, select: &SelectExpr, scope: &mut Types<'f>) -> Result<Type<'f>, String> {
        let operand = match (self.expr(&select.operand, scope), qualified(&select.operand)) {
            // Function names may contain dots.
            (Err(_), Some(name)) if Scope::has_function(&format!("{name}.{}", select.field)) => {
                return Ok(Type::Dyn);
            }
            (operand, _) => operand?,
        };
        let found = match operand {
            Type::Object(field) => {
                member(field, &select.field).ok_or_else(|| self.undefined(&select.field))?
            }
            Type::Map(value) => *value,
            Type::Dyn | Type::Null => Type::Dyn,
            other => {
                let name = other.name().unwrap_or_default();
                let why = format!("type '{name}' does not support field selection");
                return Err(self.failure(&format!(".{}", select.field), &why));
            }
        };
        Ok(if select.test { Type::Bool } else { found })
    }

    fn call<'f>(&self, call: &CallExpr, scope: &mut Types<'f>) -> Result<Type<'f>, String> {
        let namespaced =
            call.target.as_deref().and_then(qualified).map(|name| format!("{name}.{}", call.func_name));
        let mut parts = Vec::new();
        if let Some(target) = &call.target {
            match self.expr(target, scope) {
                Ok(found) => parts.push(found),
                Err(_) if namespaced.as_deref().is_some_and(Scope::has_function) => parts.push(Type::Dyn),
                Err(why) => return Err(why),
            }
        }
        for argument in &call.args {
            parts.push(self.expr(argument, scope)?);
        }
        let name = call.func_name.as_str();
        match name {
            "_&&_" | "_||_" | "!_" => {
                let wrong = parts.iter().any(|part| !matches!(part, Type::Bool | Type::Dyn));
                if wrong { Err(self.no_overload(name, &parts)) } else { Ok(Type::Bool) }
            }
            "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => self.comparison(name, &parts),
            "@in" | "_in_" => Ok(Type::Bool),
            "_?_:_" => Ok(match (parts.get(1), parts.get(2)) {
                (Some(yes), Some(no)) if same(yes, no) => yes.clone(),
                _ => Type::Dyn,
            }),
            "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => self.arithmetic(name, parts),
            "-_" => Ok(parts.pop().unwrap_or(Type::Dyn)),
            "_[_]" => Ok(match parts.into_iter().next() {
                Some(Type::List(inner) | Type::Map(inner)) => *inner,
                _ => Type::Dyn,
            }),
            _ if name.starts_with(['_', '@']) => Ok(Type::Dyn),
            _ => self.function(name, namespaced.as_deref()),
        }
    }

    fn function<'f>(&self, name: &str, namespaced: Option<&str>) -> Result<Type<'f>, String> {
        let known = Scope::has_function(name) || namespaced.is_some_and(Scope::has_function);
        match name {
            _ if !known => Err(self.undeclared(name, true)),
            "size" | "int" | "indexOf" | "lastIndexOf" => Ok(Type::Int),
            "startsWith" | "endsWith" | "contains" | "matches" | "hasValue" | "isSorted" => Ok(Type::Bool),
            "string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "join" => Ok(Type::String),
            "double" => Ok(Type::Double),
            "timestamp" => Ok(Type::Timestamp),
            "duration" => Ok(Type::Duration),
            _ => Ok(Type::Dyn),
        }
    }

    fn comparison<'f>(&self, name: &str, parts: &[Type<'f>]) -> Result<Type<'f>, String> {
        match parts {
            [one, other] if one.name().is_some() && other.name().is_some() => {
                let ordered = !matches!(name, "_==_" | "_!=_");
                let fits = same(one, other) || ordered && one.number() && other.number();
                if fits { Ok(Type::Bool) } else { Err(self.no_overload(name, parts)) }
            }
            _ => Ok(Type::Bool),
        }
    }

    fn arithmetic<'f>(&self, name: &str, parts: Vec<Type<'f>>) -> Result<Type<'f>, String> {
        let scalar =
            |part: &Type<'_>| part.number() || matches!(part, Type::String | Type::Bool | Type::Bytes);
        match parts.as_slice() {
            [one, other] if scalar(one) && scalar(other) => {
                let text = matches!(one, Type::String | Type::Bytes);
                let fits = same(one, other) && !matches!(one, Type::Bool) && (name == "_+_" || !text);
                if fits { Ok(one.clone()) } else { Err(self.no_overload(name, &parts)) }
            }
            _ => Ok(Type::Dyn),
        }
    }

    fn comprehension<'f>(
        &self,
        comprehension: &ComprehensionExpr,
        scope: &mut Types<'f>,
    ) -> Result<Type<'f>, String> {
        let (first, second) = match self.expr(&comprehension.iter_range, scope)? {
            Type::List(inner) if comprehension.iter_var2.is_some() => (Type::Int, *inner),
            Type::List(inner) => (*inner, Type::Dyn),
            Type::Map(inner) => (Type::String, *inner),
            _ => (Type::Dyn, Type::Dyn),
        };
        let start = self.expr(&comprehension.accu_init, scope)?;
        // The element type of a collected list is not known before the loop.
        let collected = if matches!(start, Type::List(_)) { Type::List(Box::new(Type::Dyn)) } else { start };
        let mut inner = scope.clone();
        inner.insert(comprehension.iter_var.clone(), first);
        if let Some(name) = &comprehension.iter_var2 {
            inner.insert(name.clone(), second);
        }
        inner.insert(comprehension.accu_var.clone(), collected);
        self.expr(&comprehension.loop_cond, &mut inner)?;
        self.expr(&comprehension.loop_step, &mut inner)?;
        self.expr(&comprehension.result, &mut inner)
    }

    fn undefined(&self, field: &str) -> String {
        self.failure(&format!(".{field}"), &format!("undefined field '{field}'"))
    }

    fn undeclared(&self, name: &str, function: bool) -> String {
        let why = format!("undeclared reference to '{name}' (in container '')");
        // Errors of a call point to its arguments.
        let at = self.text.find(name).map_or(0, |at| if function { at + name.len() } else { at });
        failure(self.text, at, &why)
    }

    fn no_overload(&self, operator: &str, parts: &[Type<'_>]) -> String {
        let names: Vec<String> =
            parts.iter().map(|part| part.name().unwrap_or_else(|| "dyn".into())).collect();
        let why = format!("found no matching overload for '{operator}' applied to '({})'", names.join(", "));
        self.failure(operator.trim_matches('_'), &why)
    }

    fn failure(&self, needle: &str, why: &str) -> String {
        failure(self.text, self.text.find(needle).unwrap_or(0), why)
    }
}

/// Formats an error with its line and a marker.
fn failure(text: &str, at: usize, why: &str) -> String {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let (row, column) = (before.matches('\n').count() + 1, text[start..at].chars().count());
    format!("ERROR: <input>:{row}:{}: {why}\n | {line}\n | {}^", column + 1, ".".repeat(column))
}

/// The type of a member, by its name in rules; unknown for preserved unknown fields.
fn member<'f>(field: &'f Field, name: &str) -> Option<Type<'f>> {
    let node = field.node();
    if node.resource && name == "metadata" {
        return Some(Type::Dyn);
    }
    let is_called = |property: &str| {
        escape_property(property).is_some_and(|escaped| escaped == name)
            || (is_reserved(property) && property == name)
    };
    let found = node.properties.iter().find(|(property, _)| is_called(property));
    found.map(|(_, field)| Type::of(field))
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

fn same(one: &Type<'_>, other: &Type<'_>) -> bool {
    match (one, other) {
        (Type::Dyn, _) | (_, Type::Dyn) => true,
        (Type::List(one), Type::List(other)) | (Type::Map(one), Type::Map(other)) => same(one, other),
        (Type::Object(_), Type::Object(_)) => true,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
