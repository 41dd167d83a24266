//! Rewrites what the `cel` crate parses but cannot evaluate: struct literals such as `Object.spec{replicas: 3}` become map literals, and
//! `authorizer.requestResource`, the name of a variable, one name.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue,
    MapEntryExpr, MapExpr, SelectExpr,
};

use crate::schema::REQUEST_RESOURCE;

/// Which types an expression may construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structs {
    Refused,
    /// `Object`, its fields, and `JSONPatch`.
    OfMutations,
}

impl Structs {
    /// Whether an expression may construct a type of this name.
    pub(super) fn permits(self, name: &str) -> bool {
        self == Self::OfMutations && (matches!(name, "Object" | "JSONPatch") || name.starts_with("Object."))
    }

    /// Whether an expression may call a function: those for patches are there for mutations alone.
    pub(super) fn permits_function(self, name: &str) -> bool {
        self == Self::OfMutations || !name.starts_with("jsonpatch.")
    }
}

/// The expression with its struct literals replaced. One that is not permitted becomes an undeclared name, so that its evaluation fails.
pub(super) fn resolved(expr: IdedExpr, structs: Structs) -> IdedExpr {
    let each = |expr| resolved(expr, structs);
    let boxed = |expr: Box<IdedExpr>| Box::new(resolved(*expr, structs));
    let rewritten = match expr.expr {
        Expr::Call(call) => Expr::Call(CallExpr {
            func_name: call.func_name,
            target: call.target.map(boxed),
            args: call.args.into_iter().map(each).collect(),
        }),
        Expr::Comprehension(looped) => Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: each(looped.iter_range),
            accu_init: each(looped.accu_init),
            loop_cond: each(looped.loop_cond),
            loop_step: each(looped.loop_step),
            result: each(looped.result),
            iter_var: looped.iter_var,
            iter_var2: looped.iter_var2,
            accu_var: looped.accu_var,
        })),
        Expr::List(list) => Expr::List(ListExpr {
            elements: list.elements.into_iter().map(each).collect(),
            optional_indices: list.optional_indices,
        }),
        Expr::Select(select) if select.field == "requestResource" && is_authorizer(&select.operand) => {
            Expr::Ident(REQUEST_RESOURCE.to_owned())
        }
        Expr::Select(select) => Expr::Select(SelectExpr { operand: boxed(select.operand), ..select }),
        Expr::Map(map) => Expr::Map(MapExpr { entries: entries(map.entries, structs) }),
        Expr::Struct(literal) if structs.permits(&literal.type_name) => {
            Expr::Map(MapExpr { entries: entries(literal.entries, structs) })
        }
        Expr::Struct(literal) => Expr::Ident(literal.type_name),
        other @ (Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified) => other,
    };
    IdedExpr { id: expr.id, expr: rewritten }
}

fn entries(entries: Vec<IdedEntryExpr>, structs: Structs) -> Vec<IdedEntryExpr> {
    let entry = |entry: IdedEntryExpr| {
        let (key, value, optional) = match entry.expr {
            EntryExpr::MapEntry(map) => (resolved(map.key, structs), map.value, map.optional),
            EntryExpr::StructField(field) => {
                let name = LiteralValue::String(field.field.as_str().into());
                (IdedExpr { id: entry.id, expr: Expr::Literal(name) }, field.value, field.optional)
            }
        };
        let value = resolved(value, structs);
        IdedEntryExpr { id: entry.id, expr: EntryExpr::MapEntry(MapEntryExpr { key, value, optional }) }
    };
    entries.into_iter().map(entry).collect()
}

fn is_authorizer(expr: &IdedExpr) -> bool {
    matches!(&expr.expr, Expr::Ident(name) if name == "authorizer")
}
