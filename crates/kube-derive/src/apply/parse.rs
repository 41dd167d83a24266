//! Reads `apply!(..)`. A mistake hides nothing but the part that it is in.

use proc_macro2::{Delimiter, Group, TokenTree};
use syn::{
    Attribute, Block, Error, Expr, Ident, Lit, Pat, Result, Stmt, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser, discouraged::Speculative},
    token::{Brace, Bracket, Paren},
};

use super::{
    braces::{Braces, group},
    literal::{Arm, Entry, Field, Item, Literal, Part, Value},
};
use crate::parse::kube_core_of;

/// Where control flow stands, for those who write it as a value.
const LOOP: &str = "`for` is no value: it stands among items, `[for value in values { value }]`, fields or entries, \
                    `{ for (key, value) in pairs { (key): value } }`";
const CONDITION: &str = "as a value, the braces of `if` and `match` have Rust code; fields and entries go into braces around it, \
                         `{ if condition { name: value } }`";
const ITEM: &str = "the braces have the fields of one item, `{ name: value }`, a value, or several items, `{ ..[value, value] }`";

impl Parse for Literal {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let kube_core = kube_core_of(&attributes)?;
        let of = input.parse()?;
        if !input.peek(Brace) {
            return Err(input.error("expected `{` and the fields, as in `apply!(Pod { spec: { .. } })`"));
        }
        let fields = parts.parse2(group(input)?.stream())?;
        let _ = input.parse::<Option<Token![,]>>()?;
        Ok(Self { kube_core, of, fields })
    }
}

/// What a struct, a map or a list has.
trait Element: Sized {
    /// One of them.
    fn element(input: ParseStream<'_>) -> Result<Part<Self>>;

    /// What control flow adds if it gets here: parts in braces.
    fn body(input: ParseStream<'_>) -> Result<Vec<Part<Self>>> {
        parts.parse2(group(input)?.stream())
    }

    /// The same after `=>`.
    fn arm(input: ParseStream<'_>) -> Result<Vec<Part<Self>>> {
        Self::body(input)
    }

    /// What is after `..`.
    fn all(input: ParseStream<'_>) -> Result<Part<Self>> {
        input.parse().map(Part::All)
    }
}

fn parts<E: Element>(input: ParseStream<'_>) -> Result<Vec<Part<E>>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        // A parser that fails may have stopped anywhere.
        let fork = input.fork();
        match part(&fork) {
            Ok((part, is_control)) => {
                input.advance_to(&fork);
                all.push(part);
                let is_next = input.is_empty() || is_control || input.peek(Token![,]);
                if !is_next {
                    all.push(Part::Wrong(input.error("expected `,`")));
                    skip(input)?;
                }
            }
            Err(error) => {
                all.push(Part::Wrong(error));
                skip(input)?;
            }
        }
        let _ = input.parse::<Option<Token![,]>>()?;
    }
    Ok(all)
}

/// One part, and whether it is control flow, which needs no comma after it.
fn part<E: Element>(input: ParseStream<'_>) -> Result<(Part<E>, bool)> {
    if input.peek(Token![if]) {
        return Ok((conditional(input)?, true));
    }
    if input.peek(Token![match]) {
        input.parse::<Token![match]>()?;
        let value = Expr::parse_without_eager_brace(input)?;
        return Ok((Part::Match { value, arms: arms.parse2(group(input)?.stream())? }, true));
    }
    if input.peek(Token![for]) {
        input.parse::<Token![for]>()?;
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        input.parse::<Token![in]>()?;
        let values = Expr::parse_without_eager_brace(input)?;
        return Ok((Part::For { pattern, values, body: E::body(input)? }, true));
    }
    if input.parse::<Option<Token![..]>>()?.is_some() {
        return Ok((E::all(input)?, false));
    }
    Ok((E::element(input)?, false))
}

fn conditional<E: Element>(input: ParseStream<'_>) -> Result<Part<E>> {
    input.parse::<Token![if]>()?;
    let condition = Expr::parse_without_eager_brace(input)?;
    let then = E::body(input)?;
    let otherwise = match input.parse::<Option<Token![else]>>()? {
        Some(_) if input.peek(Token![if]) => vec![conditional(input)?],
        Some(_) => E::body(input)?,
        None => Vec::new(),
    };
    Ok(Part::If { condition, then, otherwise })
}

fn arms<E: Element>(input: ParseStream<'_>) -> Result<Vec<Arm<E>>> {
    let mut arms = Vec::new();
    while !input.is_empty() {
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        let guard = input.parse::<Option<Token![if]>>()?.map(|_| input.parse()).transpose()?;
        input.parse::<Token![=>]>()?;
        arms.push(Arm { pattern, guard, body: E::arm(input)? });
        let _ = input.parse::<Option<Token![,]>>()?;
    }
    Ok(arms)
}

impl Element for Field {
    fn element(input: ParseStream<'_>) -> Result<Part<Self>> {
        if is_key(input) {
            let message = "expected the name of a field, without quotes: keys like this one are for maps";
            let error = Error::new(input.span(), message);
            skip(input)?;
            return Ok(Part::Wrong(error));
        }
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected the name of a field, `if`, `match`, `for` or `..`"));
        }
        let name = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![:]) && !input.peek(Token![::]) {
            input.parse::<Token![:]>()?;
            value(input)?
        } else if input.is_empty() || input.peek(Token![,]) {
            // `image` is `image: image`, as in a struct expression.
            Value::Expr(Box::new(syn::parse_quote!(#name)))
        } else {
            let error = Error::new(input.span(), format!("expected `:` and a value after `{name}`"));
            skip(input)?;
            Value::Wrong(error)
        };
        Ok(Part::Element(Self { name, value }))
    }
}

impl Element for Entry {
    fn element(input: ParseStream<'_>) -> Result<Part<Self>> {
        if !is_key(input) {
            let text = input.fork().call(Ident::parse_any).map_or("key".to_owned(), |name| name.to_string());
            let message = format!(
                "expected a key of the map: `\"{text}\": value`, or `({text}): value` for an expression"
            );
            return Err(input.error(message));
        }
        let key = if input.peek(Paren) {
            let group: Group = input.parse()?;
            syn::parse2(group.stream())?
        } else {
            Expr::Lit(input.parse()?)
        };
        input.parse::<Token![:]>()?;
        Ok(Part::Element(Self { key, value: value(input)? }))
    }
}

impl Element for Item {
    fn element(input: ParseStream<'_>) -> Result<Part<Self>> {
        Ok(Part::Element(Self(value(input)?)))
    }

    /// One item, or several after `..`.
    fn body(input: ParseStream<'_>) -> Result<Vec<Part<Self>>> {
        let braces = group(input)?;
        let several = |input: ParseStream<'_>| input.parse::<Token![..]>().and_then(|_| Self::all(input));
        if let Ok(several @ Part::Several(_)) = several.parse2(braces.stream()) {
            return Ok(vec![several]);
        }
        let value = in_braces(&braces, Braces::of_items(&braces)).map_err(|error| explained(&error, ITEM))?;
        Ok(vec![Part::Element(Self(value))])
    }

    fn arm(input: ParseStream<'_>) -> Result<Vec<Part<Self>>> {
        if input.peek(Brace) { Self::body(input) } else { Ok(vec![Part::Element(Self(value(input)?))]) }
    }

    fn all(input: ParseStream<'_>) -> Result<Part<Self>> {
        let fork = input.fork();
        if fork.peek(Bracket) {
            let list: Group = fork.parse()?;
            if is_end(&fork) {
                input.advance_to(&fork);
                return parts.parse2(list.stream()).map(Part::Several);
            }
        }
        input.parse().map(Part::All)
    }
}

/// A literal, or an expression in parentheses.
fn is_key(input: ParseStream<'_>) -> bool {
    input.peek(Lit) || input.peek(Paren)
}

fn value(input: ParseStream<'_>) -> Result<Value> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Value::Wrong(input.error("expected a value")));
    }
    if input.peek(Token![for]) {
        let error = input.error(LOOP);
        skip(input)?;
        return Ok(Value::Wrong(error));
    }
    // `{..}` and `[..]` alone are literals; `[a, b].concat()` is an expression.
    let fork = input.fork();
    if let Ok(TokenTree::Group(group)) = fork.parse()
        && is_end(&fork)
    {
        let value = match group.delimiter() {
            Delimiter::Brace => in_braces(&group, Braces::of(&group))?,
            Delimiter::Bracket => Value::List(parts.parse2(group.stream())?, group.span()),
            Delimiter::Parenthesis | Delimiter::None => return expression(input),
        };
        input.advance_to(&fork);
        return Ok(value);
    }
    expression(input)
}

fn in_braces(braces: &Group, kind: Braces) -> Result<Value> {
    Ok(match kind {
        Braces::Struct => Value::Struct(parts.parse2(braces.stream())?, braces.span()),
        Braces::Map => Value::Map(parts.parse2(braces.stream())?, braces.span()),
        Braces::Block => Value::Expr(Box::new(block(braces)?)),
    })
}

/// The expression in the braces, if it is alone: rustc warns of braces that are not needed.
fn block(braces: &Group) -> Result<Expr> {
    let block: Block = syn::parse2(TokenTree::from(braces.clone()).into())?;
    Ok(match <[Stmt; 1]>::try_from(block.stmts) {
        Ok([Stmt::Expr(expr, None)]) => expr,
        _ => syn::parse2(TokenTree::from(braces.clone()).into())?,
    })
}

fn expression(input: ParseStream<'_>) -> Result<Value> {
    let (start, fork) = (input.span(), input.fork());
    Ok(match fork.parse::<Expr>() {
        Ok(Expr::Path(path)) if path.path.is_ident("None") && is_end(&fork) => {
            input.advance_to(&fork);
            Value::Absent
        }
        Ok(expr) => {
            input.advance_to(&fork);
            Value::Expr(Box::new(expr))
        }
        Err(error) => {
            let is_control = input.peek(Token![if]) || input.peek(Token![match]);
            skip(input)?;
            // The end of braces has no position.
            let error = Error::new(if fork.is_empty() { start } else { error.span() }, error);
            Value::Wrong(if is_control { explained(&error, CONDITION) } else { error })
        }
    })
}

/// What is meant here, and what the parser of Rust says.
fn explained(error: &Error, meant: &str) -> Error {
    Error::new(error.span(), format!("{meant}: {error}"))
}

fn is_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// Passes over everything up to the next comma.
fn skip(input: ParseStream<'_>) -> Result<()> {
    while !is_end(input) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
