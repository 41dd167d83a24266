//! The error between a type and a format, which keeps all that serde tells the format about it.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

/// A call of a constructor of `serde::de::Error`, repeated for the error type of the format as soon as that type is known.
#[derive(Debug)]
pub(super) enum Error {
    /// An error of the format. It is kept beside the deserializer, list or map that returned it; this is its text.
    Format(String),
    Custom(String),
    InvalidType {
        found: String,
        expected: String,
    },
    InvalidValue {
        found: String,
        expected: String,
    },
    InvalidLength {
        length: usize,
        expected: String,
    },
    UnknownVariant {
        variant: String,
        expected: &'static [&'static str],
    },
    UnknownField {
        field: String,
        expected: &'static [&'static str],
    },
    MissingField(&'static str),
    DuplicateField(&'static str),
}

impl Error {
    /// The error of the format: `kept` if the format returned it, else made by the same constructor.
    pub(super) fn into_format<E: de::Error>(self, kept: Option<E>) -> E {
        match (&self, kept) {
            (Self::Format(_), Some(kept)) => kept,
            _ => self.repeat(),
        }
    }

    fn repeat<E: de::Error>(&self) -> E {
        match self {
            Self::Format(text) | Self::Custom(text) => E::custom(text),
            Self::InvalidType { found, expected } => {
                E::invalid_type(Unexpected::Other(found), &expected.as_str())
            }
            Self::InvalidValue { found, expected } => {
                E::invalid_value(Unexpected::Other(found), &expected.as_str())
            }
            Self::InvalidLength { length, expected } => E::invalid_length(*length, &expected.as_str()),
            Self::UnknownVariant { variant, expected } => E::unknown_variant(variant, expected),
            Self::UnknownField { field, expected } => E::unknown_field(field, expected),
            Self::MissingField(field) => E::missing_field(field),
            Self::DuplicateField(field) => E::duplicate_field(field),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.repeat::<de::value::Error>().fmt(f)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::InvalidType { found: found.to_string(), expected: expected.to_string() }
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::InvalidValue { found: found.to_string(), expected: expected.to_string() }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::InvalidLength { length, expected: expected.to_string() }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::UnknownVariant { variant: variant.to_owned(), expected }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::UnknownField { field: field.to_owned(), expected }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::MissingField(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::DuplicateField(field)
    }
}
