//! What a record contains.

/// What a value has to be. It decides which method of the deserializer is called, and by that whether YAML's `12345` is text or a number.
#[derive(Clone, Copy)]
pub(crate) enum DataType {
    /// Anything, kept as it is.
    Any,
    /// Anything, dropped.
    Ignored,
    /// Text. In YAML also what looks like a number or a boolean.
    Text,
    /// Text in base64, or null.
    Base64,
    /// A boolean. In YAML also in quotes.
    Bool,
    /// The boolean of this key, or null. In quotes it is an error, as for kubectl: a quoted `"no"` that is read as true could turn off
    /// certificate verification.
    UnquotedBool(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The value, or null.
    Optional(&'static DataType),
    /// A list of such elements.
    List(&'static DataType),
    /// A map from any text to such values.
    Map(&'static DataType),
    /// A record.
    Record(&'static RecordType),
}

/// A map with known keys.
pub(crate) struct RecordType {
    /// Name of the Rust type, for errors.
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
    pub(crate) unknown: UnknownKeys,
}

/// What becomes of keys that are not in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownKeys {
    Kept,
    Ignored,
}

/// A known key of a record.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) data_type: DataType,
    /// Whether it is an error if the key is missing.
    pub(crate) required: bool,
}

impl Field {
    /// A key that has to be there.
    pub(crate) const fn required(name: &'static str, data_type: DataType) -> Self {
        Self { name, data_type, required: true }
    }

    /// A key that may be missing, but not null unless its type allows that.
    pub(crate) const fn new(name: &'static str, data_type: DataType) -> Self {
        Self { name, data_type, required: false }
    }

    /// A key that may be missing or null.
    pub(crate) const fn optional(name: &'static str, data_type: &'static DataType) -> Self {
        Self::new(name, DataType::Optional(data_type))
    }

    /// Text that may be missing or null.
    pub(crate) const fn text(name: &'static str) -> Self {
        Self::optional(name, &DataType::Text)
    }

    /// A boolean that may be missing or null, but must not be in quotes.
    pub(crate) const fn unquoted_bool(name: &'static str) -> Self {
        Self::new(name, DataType::UnquotedBool(name))
    }
}
