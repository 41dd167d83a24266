//! Elements of a field path, and their spellings in `fieldsV1` and in messages.

use std::cmp::Ordering;
use std::fmt::{self, Write as _};

use serde_json::Value;

/// An element of a field path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A member of an object.
    Field(Box<str>),
    /// An element of a keyed list, by its key members (sorted by name).
    Key(Vec<(Box<str>, Scalar)>),
    /// An element of a set.
    Value(Scalar),
    /// An element of a list by index.
    Index(u64),
}

/// A JSON scalar with a total order; whole numbers are equal however they are written.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
}

impl Scalar {
    /// None for lists and objects.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => Self::Int(i),
                (None, f) => Self::from_float(f?),
            },
            Value::String(s) => Self::Text(s.as_str().into()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    fn from_float(f: f64) -> Self {
        const WHOLE: f64 = 9_007_199_254_740_992.0;
        #[allow(clippy::cast_possible_truncation)] // guarded: whole and within 2^53
        if f.fract() == 0.0 && f.abs() <= WHOLE { Self::Int(f as i64) } else { Self::Float(f) }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => (*b).into(),
            Self::Int(i) => (*i).into(),
            Self::Float(f) => (*f).into(),
            Self::Text(s) => s.as_ref().into(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Float(_) => 2,
            Self::Text(_) => 3,
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            // A `Float` is never whole and small, so the two are never equal; rounding ties are ordered by variant.
            #[allow(clippy::cast_precision_loss)]
            (Self::Int(a), Self::Float(b)) => (*a as f64).total_cmp(b).then(Ordering::Less),
            #[allow(clippy::cast_precision_loss)]
            (Self::Float(a), Self::Int(b)) => a.total_cmp(&(*b as f64)).then(Ordering::Greater),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scalar {}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_json())
    }
}

impl PathElement {
    /// A member of an object.
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The spelling of `fieldsV1`: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`.
    pub(crate) fn to_wire(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(members) => {
                let mut out = String::from("k:{");
                for (i, (name, value)) in members.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    // Writing into a String cannot fail.
                    let _ = write!(out, "{comma}{}:{}", wire(&name.as_ref().into()), wire(&value.to_json()));
                }
                out.push('}');
                out
            }
            Self::Value(value) => format!("v:{}", wire(&value.to_json())),
            Self::Index(at) => format!("i:{at}"),
        }
    }

    /// Parses the spelling of `fieldsV1`; the error says what is wrong with it.
    pub(crate) fn from_wire(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a step of a field path (f:, k:, v: or i:)");
        let (kind, rest) = text.split_once(':').ok_or_else(bad)?;
        match kind {
            "f" => Ok(Self::Field(rest.into())),
            "v" => {
                let value: Value = serde_json::from_str(rest).map_err(|_| bad())?;
                Scalar::from_json(&value).map(Self::Value).ok_or_else(bad)
            }
            "i" => rest.parse().map(Self::Index).map_err(|_| bad()),
            "k" => {
                let Ok(Value::Object(members)) = serde_json::from_str(rest) else { return Err(bad()) };
                let member = |(name, value): (&String, &Value)| {
                    Some((name.as_str().into(), Scalar::from_json(value)?))
                };
                let mut members = members.iter().map(member).collect::<Option<Vec<_>>>().ok_or_else(bad)?;
                members.sort();
                Ok(Self::Key(members))
            }
            _ => Err(bad()),
        }
    }
}

/// Go's JSON, in which characters with a meaning in HTML and line separators are escaped.
fn wire(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The spelling of messages: `.name`, `[port=80,protocol="TCP"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(members) => {
                f.write_char('[')?;
                for (i, (name, value)) in members.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_char(']')
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A whole path in the spelling of messages.
pub(crate) fn show(path: &[PathElement]) -> String {
    path.iter().map(PathElement::to_string).collect()
}
