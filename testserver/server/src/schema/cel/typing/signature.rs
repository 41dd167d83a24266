//! The signatures of functions, read from the table in `functions`.

use std::{collections::HashMap, sync::LazyLock};

use super::{functions::TABLE, kind::Kind, unify::Substitution};

/// One way to call a function.
#[derive(Debug)]
pub(in crate::schema::cel) struct Signature {
    /// Called on its first argument: `text.size()`.
    pub(super) member: bool,
    args: Vec<Term>,
    result: Term,
}

/// A type in a signature.
#[derive(Debug)]
enum Term {
    Dyn,
    Named(&'static str),
    Param(usize),
    Type(Box<Term>),
    List(Box<Term>),
    Map(Box<Term>, Box<Term>),
    Optional(Box<Term>),
}

static SIGNATURES: LazyLock<HashMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()).flat_map(each) {
        let (name, signature) = read(line);
        all.entry(name).or_default().push(signature);
    }
    all
});

/// The ways to call a function; none if there is no such function.
pub(super) fn of(name: &str) -> &'static [Signature] {
    SIGNATURES.get(name).map_or(&[], Vec::as_slice)
}

/// All names, for tests.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    SIGNATURES.keys().copied().collect()
}

impl Signature {
    /// The types of arguments and result, with new types to be found for its parameters.
    pub(super) fn instance<'f>(&self, substitution: &mut Substitution<'f>) -> (Vec<Kind<'f>>, Kind<'f>) {
        let params = [substitution.fresh(), substitution.fresh()];
        (self.args.iter().map(|term| term.kind(&params)).collect(), self.result.kind(&params))
    }
}

impl Signature {
    /// Whether the first argument is of the named type.
    pub(in crate::schema::cel) fn takes(&self, type_name: &str) -> bool {
        matches!(self.args.first(), Some(Term::Named(name)) if *name == type_name)
    }

    /// Whether the first argument is a list.
    pub(in crate::schema::cel) fn takes_list(&self) -> bool {
        matches!(self.args.first(), Some(Term::List(_)))
    }

    /// Whether the last argument is a list.
    pub(in crate::schema::cel) fn ends_with_list(&self) -> bool {
        matches!(self.args.last(), Some(Term::List(_)))
    }

    /// Whether the last argument is a list of texts.
    pub(in crate::schema::cel) fn ends_with_texts(&self) -> bool {
        match self.args.last() {
            Some(Term::List(element)) => matches!(**element, Term::Named("string" | "bytes")),
            _ => false,
        }
    }
}

impl Term {
    fn kind<'f>(&self, params: &[Kind<'f>; 2]) -> Kind<'f> {
        let inner = |term: &Self| Box::new(term.kind(params));
        match self {
            Self::Dyn => Kind::Dyn,
            Self::Named(name) => Kind::Named(name),
            Self::Param(i) => params[*i].clone(),
            Self::Type(term) => Kind::Type(inner(term)),
            Self::List(term) => Kind::List(inner(term)),
            Self::Optional(term) => Kind::Optional(inner(term)),
            Self::Map(key, value) => Kind::Map(inner(key), inner(value)),
        }
    }
}

/// The signatures of a line.
fn each(line: &'static str) -> Vec<&'static str> {
    let Some((pattern, words)) = line.split_once(" for ") else { return vec![line] };
    // The table is read once per process.
    words.split(' ').map(|word| &*pattern.replace('$', word).leak()).collect()
}

/// Reads `string.startsWith(string) bool`; the name of a function may contain dots: `:math.abs(int) int`.
fn read(line: &'static str) -> (&'static str, Signature) {
    let (call, result) = line.rsplit_once(") ").expect("invariant: a signature has a result");
    let (head, member) = match call.strip_prefix(':') {
        Some(head) => (head, false),
        None => (call, true),
    };
    let (mut args, name, rest) = if member {
        let (target, rest) = term(head);
        let (name, rest) = rest[1..].split_once('(').expect("invariant: a signature has arguments");
        (vec![target], name, rest)
    } else {
        let (name, rest) = head.split_once('(').expect("invariant: a signature has arguments");
        (Vec::new(), name, rest)
    };
    let mut rest = rest;
    while !rest.is_empty() {
        let (arg, after) = term(rest);
        args.push(arg);
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    (name, Signature { member, args, result: term(result).0 })
}

fn term(text: &'static str) -> (Term, &'static str) {
    let end = text.find(['.', ',', '(', ')']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(inner) = rest.strip_prefix('(') else { return (named(name), rest) };
    let (first, rest) = term(inner);
    let first = Box::new(first);
    if let Some(second) = rest.strip_prefix(", ") {
        let (second, rest) = term(second);
        return (Term::Map(first, Box::new(second)), &rest[1..]);
    }
    let term = match name {
        "list" => Term::List(first),
        "type" => Term::Type(first),
        _ => Term::Optional(first),
    };
    (term, &rest[1..])
}

fn named(name: &'static str) -> Term {
    match name {
        "A" => Term::Param(0),
        "B" => Term::Param(1),
        "dyn" => Term::Dyn,
        "URL" => Term::Named("kubernetes.URL"),
        "Quantity" => Term::Named("kubernetes.Quantity"),
        "IP" => Term::Named("net.IP"),
        "CIDR" => Term::Named("net.CIDR"),
        "Format" => Term::Named("kubernetes.NamedFormat"),
        "Semver" => Term::Named("kubernetes.Semver"),
        "Authorizer" => Term::Named("kubernetes.authorization.Authorizer"),
        "PathCheck" => Term::Named("kubernetes.authorization.PathCheck"),
        "GroupCheck" => Term::Named("kubernetes.authorization.GroupCheck"),
        "ResourceCheck" => Term::Named("kubernetes.authorization.ResourceCheck"),
        "Decision" => Term::Named("kubernetes.authorization.Decision"),
        name => Term::Named(name),
    }
}
