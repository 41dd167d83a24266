//! The types of all parts of an expression.

use std::collections::{HashMap, HashSet};

use kube_cel::cel::common::ast::IdedExpr;

use super::{kind::Kind, signature::Signature, unify::Substitution};

/// The types of an expression's parts, and what its calls call.
#[derive(Default)]
pub(in crate::schema::cel) struct Types<'f> {
    kinds: HashMap<u64, Kind<'f>>,
    called: HashMap<u64, Called>,
    /// The types of the variables of loops.
    variables: HashMap<u64, (Kind<'f>, Kind<'f>)>,
    /// Qualified names of types.
    constants: HashSet<u64>,
}

/// A function and the ways to call it that fit the arguments.
pub(in crate::schema::cel) struct Called {
    /// The qualified name.
    pub(in crate::schema::cel) name: String,
    pub(in crate::schema::cel) member: bool,
    pub(in crate::schema::cel) signatures: Vec<&'static Signature>,
}

impl<'f> Types<'f> {
    pub(super) fn set(&mut self, expr: &IdedExpr, kind: Kind<'f>) {
        self.kinds.insert(expr.id, kind);
    }

    pub(super) fn set_called(
        &mut self,
        expr: &IdedExpr,
        name: &str,
        member: bool,
        signatures: Vec<&'static Signature>,
    ) {
        self.called.insert(expr.id, Called { name: name.to_owned(), member, signatures });
    }

    pub(super) fn set_variables(&mut self, expr: &IdedExpr, first: Kind<'f>, second: Kind<'f>) {
        self.variables.insert(expr.id, (first, second));
    }

    pub(super) fn set_constant(&mut self, expr: &IdedExpr) {
        self.constants.insert(expr.id);
    }

    /// With everything that is substitution filled in.
    pub(super) fn resolved(mut self, substitution: &Substitution<'f>) -> Self {
        let variables = self.variables.values_mut().flat_map(|(first, second)| [first, second]);
        for kind in self.kinds.values_mut().chain(variables) {
            *kind = substitution.resolved(kind);
        }
        self
    }

    pub(in crate::schema::cel) fn kind(&self, expr: &IdedExpr) -> Kind<'f> {
        self.kinds.get(&expr.id).cloned().unwrap_or(Kind::Dyn)
    }

    /// `None` for operators that every type has.
    pub(in crate::schema::cel) fn called(&self, expr: &IdedExpr) -> Option<&Called> {
        self.called.get(&expr.id)
    }

    /// The types of a loop's variables.
    pub(in crate::schema::cel) fn variables(&self, expr: &IdedExpr) -> (Kind<'f>, Kind<'f>) {
        self.variables.get(&expr.id).cloned().unwrap_or((Kind::Dyn, Kind::Dyn))
    }

    pub(in crate::schema::cel) fn is_constant(&self, expr: &IdedExpr) -> bool {
        self.constants.contains(&expr.id)
    }
}
