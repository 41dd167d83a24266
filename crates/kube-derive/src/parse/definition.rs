//! Attributes that are copied to the definition: columns, scale, deprecation.

use darling::{Error, FromMeta, ast::NestedMeta};
use serde_json::{Map, Value};
use syn::Meta;

use super::{
    allowed::{
        Check, Checked, ColumnFormat, ColumnPath, ColumnType, Name, SelectorPath, SpecPath, StatusPath,
    },
    fields::text,
    located,
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

impl FromMeta for PrintColumn {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        list_or_json(item, Self::from_list, Self::from_string)
    }

    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        #[derive(FromMeta)]
        struct List {
            name: Checked<Name>,
            type_: Checked<ColumnType>,
            json_path: Checked<ColumnPath>,
            description: Option<String>,
            format: Option<Checked<ColumnFormat>>,
            priority: Option<i32>,
        }
        let List { name, type_, json_path, description, format, priority } = FromMeta::from_list(items)?;
        let format = format.map(Checked::into);
        Ok(Self {
            name: name.into(),
            type_: type_.into(),
            json_path: json_path.into(),
            description,
            format,
            priority,
        })
    }

    fn from_string(json: &str) -> darling::Result<Self> {
        let mut object = JsonObject::parse(json)?;
        let column = Self {
            name: object.required::<Name>("name"),
            type_: object.required::<ColumnType>("type"),
            json_path: object.required::<ColumnPath>("jsonPath"),
            description: object.string("description"),
            format: object.checked::<ColumnFormat>("format"),
            priority: object.number("priority"),
        };
        object.finish(column)
    }
}

/// The scale subresource.
#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) spec_replicas_path: String,
    pub(crate) status_replicas_path: String,
    pub(crate) label_selector_path: Option<String>,
}

impl FromMeta for Scale {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        list_or_json(item, Self::from_list, Self::from_string)
    }

    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        #[derive(FromMeta)]
        struct List {
            spec_replicas_path: Checked<SpecPath>,
            status_replicas_path: Checked<StatusPath>,
            label_selector_path: Option<Checked<SelectorPath>>,
        }
        let List { spec_replicas_path, status_replicas_path, label_selector_path } =
            FromMeta::from_list(items)?;
        Ok(Self {
            spec_replicas_path: spec_replicas_path.into(),
            status_replicas_path: status_replicas_path.into(),
            label_selector_path: label_selector_path.map(Checked::into),
        })
    }

    fn from_string(json: &str) -> darling::Result<Self> {
        let mut object = JsonObject::parse(json)?;
        let scale = Self {
            spec_replicas_path: object.required::<SpecPath>("specReplicasPath"),
            status_replicas_path: object.required::<StatusPath>("statusReplicasPath"),
            label_selector_path: object.checked::<SelectorPath>("labelSelectorPath"),
        };
        object.finish(scale)
    }
}

/// `deprecated` or `deprecated = "what to use instead"`.
pub(crate) enum Deprecated {
    Plain,
    Warning(String),
}

impl FromMeta for Deprecated {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        match item {
            Meta::Path(_) => Some(Self::Plain),
            Meta::NameValue(pair) => text(&pair.value).map(Self::Warning),
            Meta::List(_) => None,
        }
        .ok_or_else(|| Error::custom(r#"expected `deprecated` or `deprecated = "text"`"#).with_span(item))
    }
}

/// Columns and scale have two forms: a list, and a JSON string.
fn list_or_json<T>(
    item: &Meta,
    from_list: fn(&[NestedMeta]) -> darling::Result<T>,
    from_json: fn(&str) -> darling::Result<T>,
) -> darling::Result<T> {
    match item {
        Meta::List(list) => from_list(&NestedMeta::parse_meta_list(list.tokens.clone())?),
        Meta::NameValue(pair) => match text(&pair.value) {
            Some(json) => return from_json(&json).map_err(|error| located(error, &pair.value)),
            None => Err(Error::custom("expected a list in parentheses, or a JSON object in quotes")),
        },
        Meta::Path(_) => Err(Error::custom("expected a list in parentheses, or a JSON object in quotes")),
    }
    .map_err(|error| located(error, item))
}

/// A JSON string instead of a list. Keys are removed one by one and errors are accumulated.
struct JsonObject {
    fields: Map<String, Value>,
    known: Vec<&'static str>,
    errors: darling::error::Accumulator,
}

impl JsonObject {
    fn parse(json: &str) -> darling::Result<Self> {
        let fields = serde_json::from_str(json)
            .map_err(|error| Error::custom(format!("expected a JSON object: {error}")))?;
        Ok(Self { fields, known: Vec::new(), errors: Error::accumulator() })
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.fields.remove(key)
    }

    fn string(&mut self, key: &'static str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                self.errors.push(Error::custom(format!("`{key}` must be a string, found {other}")));
                None
            }
        }
    }

    /// The text of the key; empty if it is missing, which `finish` reports.
    fn required<C: Check>(&mut self, key: &'static str) -> String {
        if !self.fields.contains_key(key) {
            self.errors.push(Error::missing_field(key));
        }
        self.checked::<C>(key).unwrap_or_default()
    }

    fn checked<C: Check>(&mut self, key: &'static str) -> Option<String> {
        let text = self.string(key)?;
        if let Err(expected) = C::check(&text) {
            self.errors.push(Error::custom(format!("`{key}` must be {expected}, found {text:?}")));
        }
        Some(text)
    }

    fn number(&mut self, key: &'static str) -> Option<i32> {
        let value = self.take(key)?;
        let number = value.as_i64().and_then(|number| number.try_into().ok());
        if number.is_none() {
            self.errors.push(Error::custom(format!("`{key}` must be a 32-bit integer, found {value}")));
        }
        number
    }

    fn finish<T>(mut self, value: T) -> darling::Result<T> {
        for key in self.fields.keys() {
            self.errors.push(Error::unknown_field_with_alts(key, &self.known));
        }
        self.errors.finish_with(value)
    }
}
