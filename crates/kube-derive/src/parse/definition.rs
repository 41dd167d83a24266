//! Attributes that are copied to the definition: columns, scale, deprecation.

use proc_macro2::Span;
use serde_json::{Map, Value};
use syn::{Error, Expr, Meta, MetaNameValue, Result, spanned::Spanned};

use super::{
    Attributes,
    allowed::{
        Check, checked, column_format, column_path, column_type, name, selector_path, spec_path, status_path,
    },
    errors::{Errors, missing, unknown_field},
    fields::text,
    value::{number, string},
};

/// A column of `kubectl get`.
#[derive(Debug)]
pub(crate) struct PrintColumn {
    pub(crate) name: String,
    pub(crate) type_: String,
    pub(crate) json_path: String,
    pub(crate) description: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) priority: Option<i32>,
}

impl PrintColumn {
    pub(super) fn read(item: &Meta) -> Result<Self> {
        list_or_json(item, Self::from_list, Self::from_json)
    }

    fn from_list(list: &mut Attributes) -> Self {
        Self {
            name: list.required("name", checked(name)),
            type_: list.required("type_", checked(column_type)),
            json_path: list.required("json_path", checked(column_path)),
            description: list.one("description", string),
            format: list.one("format", checked(column_format)),
            priority: list.one("priority", number),
        }
    }

    fn from_json(object: &mut JsonObject) -> Self {
        Self {
            name: object.required("name", name),
            type_: object.required("type", column_type),
            json_path: object.required("jsonPath", column_path),
            description: object.string("description"),
            format: object.checked("format", column_format),
            priority: object.number("priority"),
        }
    }
}

/// The scale subresource.
#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) spec_replicas_path: String,
    pub(crate) status_replicas_path: String,
    pub(crate) label_selector_path: Option<String>,
}

impl Scale {
    pub(super) fn read(item: &Meta) -> Result<Self> {
        list_or_json(item, Self::from_list, Self::from_json)
    }

    fn from_list(list: &mut Attributes) -> Self {
        Self {
            spec_replicas_path: list.required("spec_replicas_path", checked(spec_path)),
            status_replicas_path: list.required("status_replicas_path", checked(status_path)),
            label_selector_path: list.one("label_selector_path", checked(selector_path)),
        }
    }

    fn from_json(object: &mut JsonObject) -> Self {
        Self {
            spec_replicas_path: object.required("specReplicasPath", spec_path),
            status_replicas_path: object.required("statusReplicasPath", status_path),
            label_selector_path: object.checked("labelSelectorPath", selector_path),
        }
    }
}

/// `deprecated` or `deprecated = "what to use instead"`.
pub(crate) enum Deprecated {
    Plain,
    Warning(String),
}

impl Deprecated {
    pub(super) fn read(item: &Meta) -> Result<Self> {
        match item {
            Meta::Path(_) => Some(Self::Plain),
            Meta::NameValue(pair) => text(&pair.value).map(Self::Warning),
            Meta::List(_) => None,
        }
        .ok_or_else(|| Error::new(item.span(), r#"expected `deprecated` or `deprecated = "text"`"#))
    }
}

/// Columns and scale have two forms: a list, and a JSON string.
fn list_or_json<T>(
    item: &Meta,
    from_list: fn(&mut Attributes) -> T,
    from_json: fn(&mut JsonObject) -> T,
) -> Result<T> {
    if let Meta::List(list) = item {
        let mut list = Attributes::of_list(list);
        let value = from_list(&mut list);
        return list.finish().map(|()| value);
    }
    let Some((json, literal)) = json(item) else {
        return Err(Error::new(item.span(), "expected a list in parentheses, or a JSON object in quotes"));
    };
    let mut object = JsonObject::parse(&json, literal.span())?;
    let value = from_json(&mut object);
    object.finish().map(|()| value)
}

fn json(item: &Meta) -> Option<(String, &Expr)> {
    match item {
        Meta::NameValue(MetaNameValue { value, .. }) => Some((text(value)?, value)),
        Meta::Path(_) | Meta::List(_) => None,
    }
}

/// A JSON string instead of a list. Keys are removed one by one and errors are accumulated.
struct JsonObject {
    fields: Map<String, Value>,
    span: Span,
    known: Vec<&'static str>,
    errors: Errors,
}

impl JsonObject {
    fn parse(json: &str, span: Span) -> Result<Self> {
        let fields = serde_json::from_str(json)
            .map_err(|error| Error::new(span, format!("expected a JSON object: {error}")))?;
        Ok(Self { fields, span, known: Vec::new(), errors: Errors::default() })
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.fields.remove(key)
    }

    fn fail(&mut self, message: String) {
        self.errors.push(Error::new(self.span, message));
    }

    fn string(&mut self, key: &'static str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                self.fail(format!("`{key}` must be a string, found {other}"));
                None
            }
        }
    }

    /// The text of the key; empty if it is missing, which `finish` reports.
    fn required(&mut self, key: &'static str, check: Check) -> String {
        if !self.fields.contains_key(key) {
            self.errors.push(missing(self.span, key));
        }
        self.checked(key, check).unwrap_or_default()
    }

    fn checked(&mut self, key: &'static str, check: Check) -> Option<String> {
        let text = self.string(key)?;
        if let Err(expected) = check(&text) {
            self.fail(format!("`{key}` must be {expected}, found {text:?}"));
        }
        Some(text)
    }

    fn number(&mut self, key: &'static str) -> Option<i32> {
        let value = self.take(key)?;
        let number = value.as_i64().and_then(|number| number.try_into().ok());
        if number.is_none() {
            self.fail(format!("`{key}` must be a 32-bit integer, found {value}"));
        }
        number
    }

    fn finish(mut self) -> Result<()> {
        let unknown = self.fields.keys().map(|key| unknown_field(self.span, key, &self.known));
        self.errors.extend(unknown);
        self.errors.finish()
    }
}
