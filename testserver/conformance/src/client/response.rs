//! A response and the checks of cases.

use http::HeaderMap;
use serde_json::Value;

use crate::check::{Failure, equal};

/// A response. Checks return it again, so that they chain.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) line: String,
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// The body as JSON; null if it is not JSON.
    pub(crate) body: Value,
}

type Checked<'a> = Result<&'a ApiResponse, Failure>;

impl ApiResponse {
    pub(crate) fn new(line: String, code: u16, headers: HeaderMap, body: &[u8]) -> Self {
        let value = serde_json::from_slice(body).unwrap_or(Value::Null);
        Self { line, code, headers, text: String::from_utf8_lossy(body).into_owned(), body: value }
    }

    /// Checks the status code.
    #[track_caller]
    pub(crate) fn is(&self, code: u16) -> Checked<'_> {
        if self.code == code {
            Ok(self)
        } else {
            Err(self.failure(&code.to_string(), &format!("{} {}", self.code, self.text)))
        }
    }

    /// Checks the value at a JSON pointer.
    #[track_caller]
    pub(crate) fn eq(&self, pointer: &str, want: impl Into<Value>) -> Checked<'_> {
        let want = want.into();
        let got = self.body.pointer(pointer);
        if got == Some(&want) {
            return Ok(self);
        }
        let got = got.map_or("absent".to_owned(), Value::to_string);
        Err(self.failure(&format!("{pointer} = {want}"), &format!("{got} ({} {})", self.code, self.text)))
    }

    /// Checks that nothing is at a JSON pointer.
    #[track_caller]
    pub(crate) fn absent(&self, pointer: &str) -> Checked<'_> {
        match self.body.pointer(pointer) {
            None => Ok(self),
            Some(v) => Err(self.failure(&format!("{pointer} absent"), &v.to_string())),
        }
    }

    /// Checks that something is at a JSON pointer.
    #[track_caller]
    pub(crate) fn has(&self, pointer: &str) -> Checked<'_> {
        match self.body.pointer(pointer) {
            Some(_) => Ok(self),
            None => Err(self.failure(&format!("{pointer} present"), &self.text)),
        }
    }

    /// The text at a JSON pointer; an error if there is none.
    #[track_caller]
    pub(crate) fn str(&self, pointer: &str) -> Result<String, Failure> {
        let text = self.body.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.failure(&format!("text at {pointer}"), &self.text))
    }

    #[track_caller]
    pub(crate) fn revision(&self) -> Result<String, Failure> {
        self.str("/metadata/resourceVersion")
    }

    /// Checks that the response is a `Status` with this code and reason.
    #[track_caller]
    pub(crate) fn fails(&self, code: u16, reason: &str) -> Checked<'_> {
        self.is(code)?.eq("/kind", "Status")?.eq("/apiVersion", "v1")?.eq("/status", "Failure")?;
        self.eq("/code", code)?.eq("/reason", reason)
    }

    /// Checks that `/message` equals this.
    #[track_caller]
    pub(crate) fn says(&self, message: &str) -> Checked<'_> {
        self.eq("/message", message)
    }

    /// Checks that `/message` contains this.
    #[track_caller]
    pub(crate) fn mentions(&self, part: &str) -> Checked<'_> {
        let message = self.body.pointer("/message").and_then(Value::as_str).unwrap_or(&self.text);
        if message.contains(part) {
            Ok(self)
        } else {
            Err(self.failure(&format!("a message with {part:?}"), message))
        }
    }

    /// Checks that `/details/causes` has an entry with this reason and field.
    #[track_caller]
    pub(crate) fn cause(&self, reason: &str, field: &str) -> Checked<'_> {
        let causes = self.body.pointer("/details/causes").and_then(Value::as_array);
        let found =
            causes.is_some_and(|all| all.iter().any(|c| c["reason"] == reason && c["field"] == field));
        if found { Ok(self) } else { Err(self.failure(&format!("a cause {reason} of {field}"), &self.text)) }
    }

    /// The text of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The texts of the `Warning` headers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let text = |value: &http::HeaderValue| {
            let quoted = value.to_str().ok()?.splitn(3, ' ').nth(2)?.to_owned();
            Some(quoted.strip_prefix('"')?.strip_suffix('"')?.replace("\\\"", "\""))
        };
        self.headers.get_all("warning").iter().filter_map(text).collect()
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self) -> Result<&Vec<Value>, Failure> {
        let items = self.body.pointer("/items").and_then(Value::as_array);
        items.ok_or_else(|| self.failure("a list with items", &self.text))
    }

    /// The names of a list's items, in order.
    #[track_caller]
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Ok(self.items()?.iter().map(name).collect())
    }

    /// Checks that the list has exactly these names in this order.
    #[track_caller]
    pub(crate) fn lists(&self, want: &[&str]) -> Checked<'_> {
        self.is(200)?;
        equal(&self.line, want, &self.names()?)?;
        Ok(self)
    }

    #[track_caller]
    pub(crate) fn failure(&self, expected: &str, actual: &str) -> Failure {
        Failure::new(&self.line, expected.to_owned(), actual.to_owned())
    }
}
