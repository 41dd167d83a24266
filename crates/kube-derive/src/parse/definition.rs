//! Attributes that stand in the definition as they are: columns, scale, deprecation.

use darling::{Error, FromMeta, ast::NestedMeta};
use serde_json::{Map, Value};
use syn::{Expr, ExprLit, Lit, Meta};

use super::located;

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
            name: String,
            type_: String,
            json_path: String,
            description: Option<String>,
            format: Option<String>,
            priority: Option<i32>,
        }
        let List { name, type_, json_path, description, format, priority } = FromMeta::from_list(items)?;
        Ok(Self { name, type_, json_path, description, format, priority })
    }

    fn from_string(json: &str) -> darling::Result<Self> {
        let mut object = JsonObject::parse(json)?;
        let column = Self {
            name: object.required("name"),
            type_: object.required("type"),
            json_path: object.required("jsonPath"),
            description: object.string("description"),
            format: object.string("format"),
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
            spec_replicas_path: String,
            status_replicas_path: String,
            label_selector_path: Option<String>,
        }
        let List { spec_replicas_path, status_replicas_path, label_selector_path } =
            FromMeta::from_list(items)?;
        Ok(Self { spec_replicas_path, status_replicas_path, label_selector_path })
    }

    fn from_string(json: &str) -> darling::Result<Self> {
        let mut object = JsonObject::parse(json)?;
        let scale = Self {
            spec_replicas_path: object.required("specReplicasPath"),
            status_replicas_path: object.required("statusReplicasPath"),
            label_selector_path: object.string("labelSelectorPath"),
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

/// The two forms that columns and scale have.
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

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        Expr::Group(group) => text(&group.expr),
        _ => None,
    }
}

/// A JSON text given in place of a list; its keys are taken out one by one, mistakes are gathered.
struct JsonObject {
    fields: Map<String, Value>,
    asked: Vec<&'static str>,
    errors: darling::error::Accumulator,
}

impl JsonObject {
    fn parse(json: &str) -> darling::Result<Self> {
        let fields = serde_json::from_str(json)
            .map_err(|error| Error::custom(format!("expected a JSON object: {error}")))?;
        Ok(Self { fields, asked: Vec::new(), errors: Error::accumulator() })
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
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

    /// The text of the key; the empty one where that is missing, which `finish` then refuses.
    fn required(&mut self, key: &'static str) -> String {
        if !self.fields.contains_key(key) {
            self.errors.push(Error::missing_field(key));
        }
        self.string(key).unwrap_or_default()
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
            self.errors.push(Error::unknown_field_with_alts(key, &self.asked));
        }
        self.errors.finish_with(value)
    }
}
