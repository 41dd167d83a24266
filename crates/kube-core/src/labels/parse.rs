//! Parses the text form of label selectors.

use std::collections::BTreeSet;

use super::{Expression, ParseExpressionError};

type Result<T> = std::result::Result<T, ParseExpressionError>;

/// Parses conditions separated by commas; blank text has none.
pub(super) fn selector(text: &str) -> Result<Vec<Expression>> {
    let mut input = Input { text, rest: skip_space(text) };
    let mut expressions = Vec::new();
    if input.rest.is_empty() {
        return Ok(expressions);
    }
    loop {
        expressions.push(expression(&mut input)?);
        if input.rest.is_empty() {
            return Ok(expressions);
        }
        if !input.consume(",") {
            return Err(input.unexpected("a comma or the end"));
        }
    }
}

fn expression(input: &mut Input<'_>) -> Result<Expression> {
    if input.consume("!") {
        return Ok(Expression::DoesNotExist(key(input)?));
    }
    let key = key(input)?;
    if input.rest.is_empty() || input.rest.starts_with(',') {
        return Ok(Expression::Exists(key));
    }
    if input.consume("==") || input.consume("=") {
        return Ok(Expression::Equal(key, value(input)?));
    }
    if input.consume("!=") {
        return Ok(Expression::NotEqual(key, value(input)?));
    }
    if input.rest.starts_with(['<', '>']) {
        return Err(
            input.unexpected("one of =, ==, !=, in, notin (comparisons of numbers are not supported)")
        );
    }
    match input.clone().token() {
        "in" => {
            input.token();
            Ok(Expression::In(key, values(input)?))
        }
        "notin" => {
            input.token();
            Ok(Expression::NotIn(key, values(input)?))
        }
        _ => Err(input.unexpected("one of =, ==, !=, in, notin")),
    }
}

fn key(input: &mut Input<'_>) -> Result<String> {
    let before = input.clone();
    let key = input.token();
    if key.is_empty() {
        return Err(before.unexpected("a label key"));
    }
    if !is_label_key(key) {
        return Err(ParseExpressionError(format!(
            "{key:?} is not a label key, expected up to 63 letters, digits, '-', '_' or '.', starting and ending with a \
             letter or digit, with an optional DNS name and '/' before it"
        )));
    }
    Ok(key.into())
}

/// A value, possibly empty.
fn value(input: &mut Input<'_>) -> Result<String> {
    let value = input.token();
    if value.is_empty() || is_label_name(value) {
        return Ok(value.into());
    }
    Err(ParseExpressionError(format!(
        "{value:?} is not a label value, expected nothing or up to 63 letters, digits, '-', '_' or '.', starting and ending \
         with a letter or digit"
    )))
}

fn values(input: &mut Input<'_>) -> Result<BTreeSet<String>> {
    if !input.consume("(") {
        return Err(input.unexpected("a list of values in parentheses"));
    }
    let mut values = BTreeSet::new();
    loop {
        values.insert(value(input)?);
        if input.consume(")") {
            return Ok(values);
        }
        if !input.consume(",") {
            return Err(input.unexpected("a comma or a closing parenthesis"));
        }
    }
}

/// The text, and the rest that is not parsed yet; leading white space of `rest` is skipped already.
#[derive(Clone)]
struct Input<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Input<'a> {
    fn consume(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = skip_space(rest);
                true
            }
            None => false,
        }
    }

    /// Consumes the text up to white space or a character of the syntax.
    fn token(&mut self) -> &'a str {
        let is_end = |c: char| SPACE.contains(&c) || "=!(),<>".contains(c);
        let (token, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = skip_space(rest);
        token
    }

    fn unexpected(&self, expected: &str) -> ParseExpressionError {
        let at = self.text.len() - self.rest.len();
        let found = if self.rest.is_empty() { "the end".to_owned() } else { format!("{:?}", self.rest) };
        ParseExpressionError(format!("{:?}: expected {expected} at byte {at}, found {found}", self.text))
    }
}

/// The white space that servers skip. Other white space is part of a key or value and makes it invalid.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(SPACE)
}

fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_name(prefix) && is_label_name(name),
        None => is_label_name(key),
    }
}

/// Up to 63 characters, letters and digits at both ends.
fn is_label_name(name: &str) -> bool {
    let ends = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    ends && name.len() <= 63 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn is_dns_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|b| is_plain(*b))
            && bytes.last().is_some_and(|b| is_plain(*b))
            && bytes.iter().all(|b| is_plain(*b) || *b == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}
