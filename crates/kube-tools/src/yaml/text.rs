//! From text to documents: YAML or JSON, with limits.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::error::Category;

use super::compose::{Fault, compose};
use super::error::ReadError;
use super::source::Source;
use super::unique_keys::UniqueKeys;

/// The documents of a text in their order. Empty ones, which are null, are left out.
///
/// Text that begins as JSON is read as JSON. What is not JSON, and all that follows it, may still be YAML, such as YAML in braces.
pub(super) fn documents(file: &Arc<str>, text: &str) -> Result<Vec<(Value, Source)>, ReadError> {
    let mut documents = Documents { file, read: Vec::new() };
    if text.trim_start().starts_with('{') {
        if let Err(NotJson { category, rest, line, error }) = documents.add_json(text) {
            if !matches!(category, Category::Syntax | Category::Eof) {
                return Err(error);
            }
            let is_json = rest.trim_start().starts_with('{');
            documents.add_yaml(rest, line).map_err(|err| if is_json { error } else { err })?;
        }
    } else {
        documents.add_yaml(text, 1)?;
    }
    Ok(documents.read)
}

struct Documents<'a> {
    file: &'a Arc<str>,
    read: Vec<(Value, Source)>,
}

/// Where JSON ends, and why.
struct NotJson<'a> {
    category: Category,
    /// What follows the last document of JSON, and its line.
    rest: &'a str,
    line: usize,
    error: ReadError,
}

impl Documents<'_> {
    /// One after the other, as `kubectl get -o json` of several clusters in one file.
    fn add_json<'a>(&mut self, text: &'a str) -> Result<(), NotJson<'a>> {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<UniqueKeys>();
        let (mut line, mut begin) = (1, 0);
        loop {
            let end = stream.byte_offset();
            let next = text.len() - text[end..].trim_start().len();
            let end_line = line + line_ends(&text[begin..end]);
            line = end_line + line_ends(&text[end..next]);
            begin = next;
            match stream.next() {
                Some(Ok(UniqueKeys(value))) => {
                    let at = self.source(line);
                    self.read.push((value, at));
                }
                Some(Err(err)) => {
                    let at = self.source(err.line());
                    let error = ReadError::Syntax { at, reason: err.to_string() };
                    let (rest, line) = match text[end..].split_once('\n') {
                        Some((blank, rest)) if end > 0 && blank.trim().is_empty() => (rest, end_line + 1),
                        _ => (&text[end..], end_line),
                    };
                    return Err(NotJson { category: category(&text[next..], &err), rest, line, error });
                }
                None => return Ok(()),
            }
        }
    }

    /// `text` begins in this line of the file.
    fn add_yaml(&mut self, text: &str, begin: usize) -> Result<(), ReadError> {
        let read = compose(&without_byte_order_marks(text), |(document, line)| {
            if !document.is_null() {
                let at = self.source(begin + line - 1);
                self.read.push((document, at));
            }
        });
        read.map_err(|Fault { line, reason }| {
            let at = self.source(begin + line - 1);
            ReadError::Syntax { at, reason }
        })
    }

    /// Of the next document.
    fn source(&self, line: usize) -> Source {
        let document = self.read.len() + 1;
        Source { file: Arc::clone(self.file), document, line: line as u64, items: Vec::new() }
    }
}

/// A fault of the syntax, or of a value in a text that is JSON, such as a number that is too large.
fn category(text: &str, err: &serde_json::Error) -> Category {
    let is_json =
        matches!(serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().next(), Some(Ok(_)));
    if is_json { Category::Data } else { err.classify() }
}

fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Each document may begin with one, where files were put together.
fn without_byte_order_marks(text: &str) -> Cow<'_, str> {
    const MARK: char = '\u{feff}';
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut is_first = true;
    let lines = text.split_inclusive('\n').map(|line| {
        let line = if is_first { line.trim_start_matches(MARK) } else { line };
        is_first = line.starts_with("---");
        line
    });
    Cow::Owned(lines.collect())
}
