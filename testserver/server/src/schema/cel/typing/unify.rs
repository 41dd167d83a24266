//! Decides which arguments fit a signature, and what that says about unknown types.

use super::kind::Kind;

/// What is known about the types to be bound.
#[derive(Clone, Default)]
pub(super) struct Substitution<'f> {
    vars: Vec<Option<Kind<'f>>>,
}

impl<'f> Substitution<'f> {
    /// A new type to be bound.
    pub(super) fn fresh(&mut self) -> Kind<'f> {
        self.vars.push(None);
        Kind::Var(self.vars.len() - 1)
    }

    /// The type with everything that is known filled in.
    pub(super) fn resolved(&self, kind: &Kind<'f>) -> Kind<'f> {
        let inner = |kind: &Kind<'f>| Box::new(self.resolved(kind));
        match kind {
            Kind::Var(id) => match &self.vars[*id] {
                Some(bound) => self.resolved(bound),
                None => kind.clone(),
            },
            Kind::Type(kind) => Kind::Type(inner(kind)),
            Kind::List(kind) => Kind::List(inner(kind)),
            Kind::Optional(kind) => Kind::Optional(inner(kind)),
            Kind::Map(key, value) => Kind::Map(inner(key), inner(value)),
            other => other.clone(),
        }
    }

    /// Whether a value of type `given` can stand where `expected` is needed; remembers what follows for unknown types.
    pub(super) fn fits(&mut self, expected: &Kind<'f>, given: &Kind<'f>) -> bool {
        let before = self.clone();
        let fits = self.unify(expected, given);
        if !fits {
            *self = before;
        }
        fits
    }

    pub(super) fn all_fit(&mut self, expected: &[Kind<'f>], given: &[Kind<'f>]) -> bool {
        let before = self.clone();
        let fits = expected.len() == given.len()
            && expected.iter().zip(given).all(|(expected, given)| self.unify(expected, given));
        if !fits {
            *self = before;
        }
        fits
    }

    fn unify(&mut self, expected: &Kind<'f>, given: &Kind<'f>) -> bool {
        match (expected, given) {
            (Kind::Var(one), Kind::Var(other)) if one == other => true,
            (Kind::Var(id), other) | (other, Kind::Var(id)) => match self.vars[*id].clone() {
                Some(bound) => {
                    // A type that was bound with a dynamic value becomes dynamic.
                    if matches!(other, Kind::Dyn) && !matches!(bound, Kind::Var(_)) {
                        self.vars[*id] = Some(Kind::Dyn);
                        return true;
                    }
                    self.unify(&bound, other)
                }
                None => {
                    self.vars[*id] = Some(other.clone());
                    true
                }
            },
            (Kind::Dyn | Kind::Error, _) | (_, Kind::Dyn | Kind::Error) => true,
            (Kind::Null, other) | (other, Kind::Null) => takes_null(other),
            (Kind::Named(one), Kind::Named(other)) => one == other,
            (Kind::Type(_), Kind::Type(_)) => true,
            (Kind::List(one), Kind::List(other)) | (Kind::Optional(one), Kind::Optional(other)) => {
                self.unify(one, other)
            }
            (Kind::Map(key, value), Kind::Map(other_key, other_value)) => {
                self.unify(key, other_key) && self.unify(value, other_value)
            }
            (Kind::Object(_, one) | Kind::Metadata(one), Kind::Object(_, other) | Kind::Metadata(other)) => {
                one == other
            }
            _ => false,
        }
    }
}

/// Objects and the types of the language's library may be null.
fn takes_null(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Named(name) => matches!(*name, "timestamp" | "duration") || name.contains('.'),
        Kind::Null | Kind::Object(..) | Kind::Metadata(_) | Kind::Optional(_) => true,
        _ => false,
    }
}
