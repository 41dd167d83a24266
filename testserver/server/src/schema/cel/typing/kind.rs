//! The types of the expression language, and the type of a schema's field.

use std::fmt;

use kube_core::cel::{escape_property, is_reserved};

use crate::schema::model::{Field, Type as JsonType};

/// A type of the expression language.
#[derive(Clone)]
pub(in crate::schema::cel) enum Kind<'f> {
    /// Of no known type: fits everything.
    Dyn,
    /// Of an expression that has been refused: fits everything, so that one mistake is one error.
    Error,
    Null,
    /// A type without parameters, by its name: `int`, `string`, `kubernetes.URL`.
    Named(&'static str),
    /// A type as a value.
    Type(Box<Kind<'f>>),
    List(Box<Kind<'f>>),
    Map(Box<Kind<'f>>, Box<Kind<'f>>),
    Optional(Box<Kind<'f>>),
    /// An object of a schema, and its path in messages.
    Object(&'f Field, String),
    /// The names in metadata.
    Metadata(String),
    /// A type to be found: a parameter of a signature, or of an empty list.
    Var(usize),
}

pub(super) const BOOL: Kind<'_> = Kind::Named("bool");
pub(super) const INT: Kind<'_> = Kind::Named("int");
pub(super) const STRING: Kind<'_> = Kind::Named("string");

impl<'f> Kind<'f> {
    /// The type of a value at `path`; `None` if rules cannot use it.
    pub(super) fn of(field: &'f Field, path: &str) -> Option<Self> {
        let node = field.node();
        if node.int_or_string {
            return Some(Self::Dyn);
        }
        let format = node.rules.as_ref().and_then(|rules| rules.format.as_deref()).unwrap_or_default();
        Some(match node.ty? {
            JsonType::Boolean => BOOL,
            JsonType::Integer => INT,
            JsonType::Number => Self::Named("double"),
            JsonType::String => match format {
                "date" | "date-time" => Self::Named("timestamp"),
                "duration" => Self::Named("duration"),
                "byte" => Self::Named("bytes"),
                _ => STRING,
            },
            JsonType::Array => {
                Self::List(Box::new(Self::of(node.items.as_deref()?, &format!("{path}.@idx"))?))
            }
            JsonType::Object => match &node.additional {
                Some(inner) => {
                    let value = Self::of(inner, &format!("{path}.@elem"))?;
                    Self::Map(Box::new(STRING), Box::new(value))
                }
                None => Self::Object(field, path.to_owned()),
            },
        })
    }

    /// The type of a member of an object, by its name in rules.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        let (field, path) = match self {
            Self::Metadata(_) => return matches!(name, "name" | "generateName").then_some(STRING),
            Self::Object(field, path) => (field, path),
            _ => return None,
        };
        let node = field.node();
        if node.resource {
            match name {
                "metadata" => return Some(Self::Metadata(format!("{path}.metadata"))),
                "kind" | "apiVersion" => return Some(STRING),
                _ => {}
            }
        }
        let is_called = |property: &str| {
            escape_property(property).is_some_and(|escaped| escaped == name)
                || is_reserved(property) && property == name
        };
        let (property, member) = node.properties.iter().find(|(property, _)| is_called(property))?;
        Self::of(member, &format!("{path}.{property}"))
    }
}

impl Kind<'_> {
    /// Whether all values are of one size.
    pub(in crate::schema::cel) fn is_scalar(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Named(name) => {
                matches!(*name, "bool" | "int" | "uint" | "double" | "duration" | "timestamp")
            }
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// Whether the type is known to have members.
    pub(in crate::schema::cel) fn has_members(&self) -> bool {
        matches!(self, Self::Map(..) | Self::Object(..) | Self::Metadata(_) | Self::Var(_))
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Var(_) => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Named(name) => f.write_str(name),
            Self::Type(inner) => write!(f, "type({inner})"),
            Self::List(inner) => write!(f, "list({inner})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Object(_, path) | Self::Metadata(path) => f.write_str(path),
        }
    }
}
