//! The entries of a helper attribute, such as `#[kube(group = "example.com", namespaced)]`, handed out by name.

use proc_macro2::{Delimiter, Group, Span, TokenTree};
use syn::{
    Attribute, Error, MacroDelimiter, Meta, MetaList, MetaNameValue, Path, Result, Token,
    meta::ParseNestedMeta,
    parse::ParseStream,
    spanned::Spanned,
    token::{Brace, Bracket, Paren},
};

use super::{
    errors::{Errors, missing, unknown_field},
    value::value_span,
};

/// The entries of all attributes of one name. Each reader takes the entries that it knows; [`finish`](Self::finish) reports those
/// that no reader has taken, and every error of the readers, in the order of the source.
pub(crate) struct Attributes {
    entries: Vec<Entry>,
    /// Where a missing entry is reported.
    owner: Span,
    /// Whether a syntax error has hidden entries, so that a missing one may be among them.
    incomplete: bool,
    known: Vec<&'static str>,
    /// Each with the position of its entry.
    errors: Vec<(usize, Error)>,
}

struct Entry {
    name: String,
    span: Span,
    /// An error if the value is not an expression.
    item: Result<Meta>,
}

impl Attributes {
    /// Reads all `#[helper(..)]` of the type or field `owner`.
    pub(super) fn of(attrs: &[Attribute], helper: &str, owner: Span) -> Self {
        let mut attributes = Self::empty(owner);
        for attr in attrs.iter().filter(|attr| attr.path().is_ident(helper)) {
            match &attr.meta {
                Meta::Path(_) => {}
                Meta::List(list) => attributes.append(list),
                Meta::NameValue(pair) => {
                    let error = Error::new(pair.span(), format!("expected `#[{helper}(..)]`"));
                    attributes.incomplete = true;
                    attributes.errors.push((attributes.entries.len(), error));
                }
            }
        }
        attributes
    }

    /// Reads `name(..)`.
    pub(super) fn of_list(list: &MetaList) -> Self {
        let mut attributes = Self::empty(list.span());
        attributes.append(list);
        attributes
    }

    fn empty(owner: Span) -> Self {
        Self { entries: Vec::new(), owner, incomplete: false, known: Vec::new(), errors: Vec::new() }
    }

    fn append(&mut self, list: &MetaList) {
        let parser = syn::meta::parser(|nested| {
            self.entries.push(Entry::parse(nested)?);
            Ok(())
        });
        if let Err(error) = list.parse_args_with(parser) {
            self.incomplete = true;
            self.errors.push((self.entries.len(), error));
        }
    }

    /// The values of all entries of this name.
    pub(super) fn many<T>(&mut self, name: &'static str, read: impl Fn(&Meta) -> Result<T>) -> Vec<T> {
        let positions = self.positions(name);
        positions.into_iter().filter_map(|position| self.read(position, &read)).collect()
    }

    /// The value of the only entry of this name.
    pub(super) fn one<T>(&mut self, name: &'static str, read: impl Fn(&Meta) -> Result<T>) -> Option<T> {
        let mut positions = self.positions(name).into_iter();
        let first = positions.next()?;
        for position in positions {
            let error = Error::new(self.entries[position].span, format!("Duplicate field `{name}`"));
            self.errors.push((position, error));
        }
        self.read(first, read)
    }

    /// The same of an entry that must exist. The default if there is an error, which [`finish`](Self::finish) returns.
    pub(super) fn required<T: Default>(
        &mut self,
        name: &'static str,
        read: impl Fn(&Meta) -> Result<T>,
    ) -> T {
        if self.lacks(name) {
            self.errors.push((usize::MAX, missing(self.owner, name)));
        }
        self.one(name, read).unwrap_or_default()
    }

    /// The entries in `name(..)`, passed to `read`; none if there is no such entry.
    pub(super) fn nested<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Self) -> T) -> T {
        let position = self.position(name).unwrap_or(usize::MAX);
        let list = self.one(name, |item| match item {
            Meta::List(list) => Ok(Self::of_list(list)),
            _ => Err(Error::new(item.span(), format!("expected `{name}(..)`"))),
        });
        let mut list = list.unwrap_or_else(|| Self::empty(self.owner));
        let value = read(&mut list);
        if let Err(error) = list.finish() {
            self.errors.push((position, error));
        }
        value
    }

    /// Whether there certainly is no entry of this name.
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.position(name).is_none() && !self.incomplete
    }

    /// Whether there is an entry of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Records an error at the value of an entry, or at its name if the value is not after `=`.
    pub(super) fn fail(&mut self, name: &str, message: impl std::fmt::Display) {
        let error = Error::new(self.span(name), message);
        self.errors.push((self.position(name).unwrap_or(usize::MAX), error));
    }

    /// Where [`fail`](Self::fail) reports an error.
    pub(super) fn span(&self, name: &str) -> Span {
        match self.position(name).map(|position| &self.entries[position]) {
            Some(Entry { item: Ok(item), .. }) => value_span(item),
            Some(entry) => entry.span,
            None => self.owner,
        }
    }

    /// All errors, with those of entries of unknown names.
    pub(super) fn finish(mut self) -> Result<()> {
        for (position, entry) in self.entries.iter().enumerate() {
            if !self.known.contains(&entry.name.as_str()) {
                self.errors.push((position, unknown_field(entry.span, &entry.name, &self.known)));
            }
        }
        self.errors.sort_by_key(|(position, _)| *position);
        let mut errors = Errors::default();
        errors.extend(self.errors.into_iter().map(|(_, error)| error));
        errors.finish()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }

    fn positions(&mut self, name: &'static str) -> Vec<usize> {
        self.known.push(name);
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| entry.name == name).map(|(position, _)| position).collect()
    }

    fn read<T>(&mut self, position: usize, read: impl Fn(&Meta) -> Result<T>) -> Option<T> {
        let item = self.entries[position].item.as_ref();
        let value = item.map_err(Error::clone).and_then(read);
        value.map_err(|error| self.errors.push((position, error))).ok()
    }
}

impl Entry {
    fn parse(nested: ParseNestedMeta<'_>) -> Result<Self> {
        let ParseNestedMeta { path, input, .. } = nested;
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let (name, span) = (segments.join("::"), path.span());
        let item = item(path, input).map_err(|error| {
            Error::new(error.span(), format!("the value of `{name}` is not an expression: {error}"))
        });
        if item.is_err() {
            // The other entries are still readable.
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
        }
        Ok(Self { name, span, item })
    }
}

/// What follows the name of an entry.
fn item(path: Path, input: ParseStream<'_>) -> Result<Meta> {
    if input.peek(Token![=]) {
        let eq_token = input.parse()?;
        return Ok(Meta::NameValue(MetaNameValue { path, eq_token, value: input.parse()? }));
    }
    if !input.peek(Paren) && !input.peek(Bracket) && !input.peek(Brace) {
        return Ok(Meta::Path(path));
    }
    let group: Group = input.parse()?;
    let span = group.delim_span();
    let delimiter = match group.delimiter() {
        Delimiter::Bracket => MacroDelimiter::Bracket(Bracket(span)),
        Delimiter::Brace => MacroDelimiter::Brace(Brace(span)),
        Delimiter::Parenthesis | Delimiter::None => MacroDelimiter::Paren(Paren(span)),
    };
    Ok(Meta::List(MetaList { path, delimiter, tokens: group.stream() }))
}
