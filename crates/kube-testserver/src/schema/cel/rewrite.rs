//! Rewrites what the `cel` crate parses but cannot evaluate: struct literals such as `Object.spec{replicas: 3}` become map literals, and `authorizer.requestResource`, the name of a variable, one name.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, LiteralValue,
    MapEntryExpr, MapExpr, SelectExpr,
};

use super::types;

/// The variable for the resource of a request. Its name has a dot.
pub(crate) const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// Which types an expression may construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structs {
    Refused,
    /// `Object`, its fields, and `JSONPatch`.
    OfMutations,
}

impl Structs {
    /// Replaces the struct literals of an expression.
    pub(super) fn resolve(self, text: &str, expr: IdedExpr) -> Result<IdedExpr, String> {
        let each = |expr| self.resolve(text, expr);
        let boxed = |expr: Box<IdedExpr>| self.resolve(text, *expr).map(Box::new);
        let resolved = match expr.expr {
            Expr::Call(call) => Expr::Call(CallExpr {
                func_name: call.func_name,
                target: call.target.map(boxed).transpose()?,
                args: call.args.into_iter().map(each).collect::<Result<_, _>>()?,
            }),
            Expr::Comprehension(looped) => Expr::Comprehension(Box::new(ComprehensionExpr {
                iter_range: each(looped.iter_range)?,
                accu_init: each(looped.accu_init)?,
                loop_cond: each(looped.loop_cond)?,
                loop_step: each(looped.loop_step)?,
                result: each(looped.result)?,
                iter_var: looped.iter_var,
                iter_var2: looped.iter_var2,
                accu_var: looped.accu_var,
            })),
            Expr::List(list) => Expr::List(ListExpr {
                elements: list.elements.into_iter().map(each).collect::<Result<_, _>>()?,
                optional_indices: list.optional_indices,
            }),
            Expr::Select(select) if select.field == "requestResource" && is_authorizer(&select.operand) => {
                Expr::Ident(REQUEST_RESOURCE.to_owned())
            }
            Expr::Select(select) => Expr::Select(SelectExpr { operand: boxed(select.operand)?, ..select }),
            Expr::Map(map) => Expr::Map(MapExpr { entries: self.entries(text, map.entries)? }),
            Expr::Struct(made) if self.permits(&made.type_name) => {
                Expr::Map(MapExpr { entries: self.entries(text, made.entries)? })
            }
            Expr::Struct(made) => return Err(types::undeclared(text, &made.type_name)),
            other @ (Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified) => other,
        };
        Ok(IdedExpr { id: expr.id, expr: resolved })
    }

    fn permits(self, name: &str) -> bool {
        self == Self::OfMutations && (matches!(name, "Object" | "JSONPatch") || name.starts_with("Object."))
    }

    fn entries(self, text: &str, entries: Vec<IdedEntryExpr>) -> Result<Vec<IdedEntryExpr>, String> {
        let entry = |entry: IdedEntryExpr| {
            let (key, value, optional) = match entry.expr {
                EntryExpr::MapEntry(map) => (self.resolve(text, map.key)?, map.value, map.optional),
                EntryExpr::StructField(field) => {
                    let name = LiteralValue::String(field.field.as_str().into());
                    (IdedExpr { id: entry.id, expr: Expr::Literal(name) }, field.value, field.optional)
                }
            };
            let value = self.resolve(text, value)?;
            Ok(IdedEntryExpr {
                id: entry.id,
                expr: EntryExpr::MapEntry(MapEntryExpr { key, value, optional }),
            })
        };
        entries.into_iter().map(entry).collect()
    }
}

fn is_authorizer(expr: &IdedExpr) -> bool {
    matches!(&expr.expr, Expr::Ident(name) if name == "authorizer")
}
