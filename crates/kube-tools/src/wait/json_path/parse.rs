//! From the text of a JSON path to its steps, or to the error that says where it cannot be read.

use serde_json::Value;
use thiserror::Error;

use super::step::{Comparison, Filter, Operand, Slice, Step};

/// How deep filters may be inside each other: the parser calls itself for each.
const MAX_DEPTH: usize = 16;

/// A text that is not a JSON path of kubectl.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid JSON path `{path}`, at character {position}: {message}")]
#[non_exhaustive]
pub struct JsonPathError {
    /// The whole text.
    pub path: String,
    /// The character at which it cannot be read; the first is 1.
    pub position: usize,
    /// What was expected.
    pub message: String,
}

pub(super) fn parse(text: &str) -> Result<Vec<Step>, JsonPathError> {
    let mut parser = Parser { chars: text.chars().collect(), at: 0, depth: 0 };
    parser.whole().map_err(|(at, message)| JsonPathError { path: text.to_owned(), position: at + 1, message })
}

/// Where it failed, and what was expected there.
type Failure = (usize, String);

struct Parser {
    chars: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    /// The whole text, in braces or not.
    fn whole(&mut self) -> Result<Vec<Step>, Failure> {
        self.skip_spaces();
        if self.peek().is_none() {
            return Err(self.expected("a path, such as {.status.phase}"));
        }
        let braces = self.take('{');
        self.skip_spaces();
        let mut steps = Vec::new();
        if !matches!(self.peek(), Some('.' | '[' | '$' | '@' | '}')) {
            // `status.phase`: the first dot may be left out.
            steps.push(self.field()?);
        }
        steps.extend(self.steps()?);
        let end = self.at;
        self.skip_spaces();
        let closed = braces && self.take('}');
        match self.peek() {
            None if closed || !braces => Ok(steps),
            None => Err(self.expected("`}`")),
            Some(_) if closed => {
                Err(self.expected("the end: only one expression is supported, without text"))
            }
            Some(_) => Err((end, "expected `.`, `[` or the end of the path".into())),
        }
    }

    /// Steps, up to what cannot start one. `$` and `@` at the start are the value itself.
    fn steps(&mut self) -> Result<Vec<Step>, Failure> {
        if matches!(self.peek(), Some('$' | '@')) {
            self.at += 1;
        }
        let mut steps = Vec::new();
        loop {
            if self.take('[') {
                steps.push(self.bracket()?);
            } else if self.take('.') {
                if self.take('.') {
                    steps.push(Step::Descend);
                    if self.peek() == Some('[') {
                        continue;
                    }
                }
                steps.push(self.field()?);
            } else {
                return Ok(steps);
            }
        }
    }

    /// A field name, or `*`. A backslash makes any character part of the name.
    fn field(&mut self) -> Result<Step, Failure> {
        let start = self.at;
        let mut name = String::new();
        while let Some(next) = self.peek() {
            match next {
                '\\' => {
                    self.at += 1;
                    name.push(self.peek().ok_or_else(|| self.expected("a character after `\\`"))?);
                }
                '.' | ',' | '[' | ']' | '(' | ')' | '{' | '}' | '$' | '@' | '=' | '!' | '<' | '>' | '\''
                | '"' => break,
                space if space.is_whitespace() => break,
                other => name.push(other),
            }
            self.at += 1;
        }
        match &self.chars[start..self.at] {
            [] => Err(self.expected("a field name")),
            ['*'] => Ok(Step::Wildcard),
            _ => Ok(Step::Field(name)),
        }
    }

    /// What follows `[`.
    fn bracket(&mut self) -> Result<Step, Failure> {
        if self.take('?') {
            return self.filter();
        }
        let mut parts = Vec::new();
        loop {
            self.skip_spaces();
            parts.push(self.part()?);
            self.skip_spaces();
            if self.take(']') {
                break;
            }
            if !self.take(',') {
                return Err(self.expected("`]` or `,`"));
            }
        }
        // One step needs no union.
        match parts.as_mut_slice() {
            [only] if only.len() == 1 => Ok(only.remove(0)),
            _ => Ok(Step::Union(parts)),
        }
    }

    /// One of the alternatives in brackets.
    fn part(&mut self) -> Result<Vec<Step>, Failure> {
        match self.peek() {
            Some('*') => {
                self.at += 1;
                Ok(vec![Step::Wildcard])
            }
            Some('\'' | '"') => self.quoted_path(),
            Some('0'..='9' | '-' | ':') => Ok(vec![Step::Items(self.slice()?)]),
            _ => Err(self.expected("a position, a name in quotes, `*` or `?(`")),
        }
    }

    /// A path in quotes: `'a'`, `'a.b'`.
    fn quoted_path(&mut self) -> Result<Vec<Step>, Failure> {
        let start = self.at;
        let text = self.quoted()?;
        let mut inner = Parser { chars: text, at: 0, depth: self.depth };
        let mut steps = vec![inner.field().map_err(|(at, message)| (start + 1 + at, message))?];
        steps.extend(inner.steps().map_err(|(at, message)| (start + 1 + at, message))?);
        match inner.peek() {
            None => Ok(steps),
            Some(_) => Err((start + 1 + inner.at, "expected `.` or the closing quote".into())),
        }
    }

    /// The characters up to the same quote; a backslash and what follows it stay as they are.
    fn quoted(&mut self) -> Result<Vec<char>, Failure> {
        let start = self.at;
        let quote = self.chars[start];
        let mut end = start + 1;
        while let Some(&next) = self.chars.get(end) {
            match next {
                _ if next == quote => {
                    self.at = end + 1;
                    return Ok(self.chars[start + 1..end].to_vec());
                }
                '\\' => end += 2,
                _ => end += 1,
            }
        }
        Err((start, format!("expected a closing `{quote}`")))
    }

    /// `1`, `-1`, `1:3`, `::2`.
    fn slice(&mut self) -> Result<Slice, Failure> {
        let start = self.integer()?;
        if !self.take(':') {
            let start = start.ok_or_else(|| self.expected("a position"))?;
            // The last item is the range from -1 to the end.
            let end = (start != -1).then_some(start.saturating_add(1));
            return Ok(Slice { start: Some(start), end, step: 1 });
        }
        let end = self.integer()?;
        let mut step = 1;
        if self.take(':') {
            let at = self.at;
            if let Some(given) = self.integer()? {
                step = usize::try_from(given)
                    .ok()
                    .filter(|step| *step > 0)
                    .ok_or_else(|| (at, "expected a step of at least 1".to_owned()))?;
            }
        }
        Ok(Slice { start, end, step })
    }

    fn integer(&mut self) -> Result<Option<i64>, Failure> {
        let start = self.at;
        while matches!(self.peek(), Some('0'..='9' | '-')) {
            self.at += 1;
        }
        let text: String = self.chars[start..self.at].iter().collect();
        match text.as_str() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| (start, format!("`{text}` is not a position"))),
        }
    }

    /// What follows `[?`.
    fn filter(&mut self) -> Result<Step, Failure> {
        if !self.take('(') {
            return Err(self.expected("`(`"));
        }
        if self.depth == MAX_DEPTH {
            return Err(self.expected(&format!("at most {MAX_DEPTH} filters inside each other")));
        }
        self.depth += 1;
        let left = self.operand()?;
        let comparison = match self.comparison()? {
            Some(comparison) => Some((comparison, self.operand()?)),
            None => None,
        };
        for close in [')', ']'] {
            self.skip_spaces();
            if !self.take(close) {
                return Err(self.expected(&format!("`{close}`")));
            }
        }
        self.depth -= 1;
        Ok(Step::Filter(Filter { left, comparison }))
    }

    fn operand(&mut self) -> Result<Operand, Failure> {
        self.skip_spaces();
        let operand = match self.peek() {
            Some('@' | '.' | '$' | '[') => Operand::Path(self.steps()?),
            Some('\'' | '"') => {
                let text = self.quoted()?;
                let text: String = text.into_iter().collect();
                Operand::Literal(Value::String(text.replace('\\', "")))
            }
            _ => Operand::Literal(self.literal()?),
        };
        self.skip_spaces();
        Ok(operand)
    }

    /// A number, `true` or `false`.
    fn literal(&mut self) -> Result<Value, Failure> {
        let start = self.at;
        while self.peek().is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, '-' | '+' | '.'))
        {
            self.at += 1;
        }
        let text: String = self.chars[start..self.at].iter().collect();
        match serde_json::from_str(&text) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value),
            _ => Err((start, "expected a path, a string or a number".into())),
        }
    }

    fn comparison(&mut self) -> Result<Option<Comparison>, Failure> {
        let comparison = match (self.peek(), self.chars.get(self.at + 1)) {
            (Some('='), Some('=')) => Comparison::Equal,
            (Some('!'), Some('=')) => Comparison::NotEqual,
            (Some('<'), Some('=')) => Comparison::LessOrEqual,
            (Some('>'), Some('=')) => Comparison::GreaterOrEqual,
            (Some('<'), _) => Comparison::Less,
            (Some('>'), _) => Comparison::Greater,
            (Some('=' | '!'), _) => {
                return Err(self.expected("`==`, `!=`, `<`, `<=`, `>`, `>=` or `)`"));
            }
            _ => return Ok(None),
        };
        self.at += if matches!(comparison, Comparison::Less | Comparison::Greater) { 1 } else { 2 };
        Ok(Some(comparison))
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, expected: char) -> bool {
        let is_next = self.peek() == Some(expected);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn expected(&self, what: &str) -> Failure {
        (self.at, format!("expected {what}"))
    }
}
