//! The table of Go types (`data/gotypes.txt`): the fields of each struct as Go's JSON encoding sees them.

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

static TABLE: &str = include_str!("../../data/gotypes.txt");

/// A struct of the table; its fields are parsed when first used.
pub(crate) struct GoStruct {
    /// Its name in OpenAPI documents without `io.k8s.`, such as `api.core.v1.Pod`.
    pub(crate) name: &'static str,
    line: &'static str,
    fields: OnceLock<Vec<GoField>>,
}

/// A field of a struct.
pub(crate) struct GoField {
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    pub(crate) ty: GoType,
}

/// When Go prints a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    /// `omitempty`: not if it is empty, which a struct never is.
    Unempty,
    /// `omitzero`: not if it is zero, which a struct may be.
    Unzero,
    /// Never: the feature gate of the field is off, so that servers read it and leave it out.
    Off,
}

/// A Go type. Named scalars have their Go name, such as `v1.Protocol`.
#[derive(Clone, Copy)]
pub(crate) enum GoType {
    Scalar(Scalar, &'static str),
    Pointer(&'static GoType),
    List(&'static GoType),
    /// A map with keys that are strings.
    Map(&'static GoType, &'static str),
    Struct(&'static GoStruct),
}

/// Types whose JSON is not a list or an object of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    Bool,
    Uint8,
    Int32,
    Int64,
    Float,
    Bytes,
    Quantity,
    Time,
    MicroTime,
    Duration,
    IntOrString,
    /// Any JSON: `RawExtension`, `FieldsV1`, and the JSON of definitions.
    Raw,
    /// A schema or a list of schemas, a schema or a list of strings.
    SchemaOr,
    SchemaOrBool,
}

static STRUCTS: LazyLock<HashMap<&'static str, GoStruct>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let (name, line) = line.split_once(' ').unwrap_or((line, ""));
        (name, GoStruct { name, line, fields: OnceLock::new() })
    };
    TABLE.lines().map(row).collect()
});

/// The struct with this name in OpenAPI documents, such as `io.k8s.api.core.v1.Pod`.
pub(crate) fn by_name(name: &str) -> Option<&'static GoStruct> {
    STRUCTS.get(name.strip_prefix("io.k8s.").unwrap_or(name))
}

impl GoStruct {
    pub(crate) fn fields(&'static self) -> &'static [GoField] {
        self.fields.get_or_init(|| self.line.split(' ').filter(|text| !text.is_empty()).map(field).collect())
    }

    pub(crate) fn field(&'static self, name: &str) -> Option<&'static GoField> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The type without its package, such as `PodSpec`.
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

fn field(text: &'static str) -> GoField {
    let end = text
        .find(['=', '?', '0', '-'])
        .expect("invariant: every field of the table has a flag, checked by a test");
    let presence = match &text[end..=end] {
        "=" => Presence::Always,
        "?" => Presence::Unempty,
        "-" => Presence::Off,
        _ => Presence::Unzero,
    };
    GoField { name: &text[..end], presence, ty: go_type(&text[end + 1..]) }
}

fn go_type(text: &'static str) -> GoType {
    // The table is parsed once per process, so that its types may live as long.
    let inner = |text| -> &'static GoType { Box::leak(Box::new(go_type(text))) };
    if let Some(rest) = text.strip_prefix('*') {
        return GoType::Pointer(inner(rest));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return GoType::List(inner(named(rest).1));
    }
    if let Some(rest) = text.strip_prefix("{}") {
        let (name, rest) = named(rest);
        return GoType::Map(inner(rest), name);
    }
    if let Some(name) = text.strip_prefix('@') {
        return GoType::Struct(
            by_name(name).expect("invariant: every struct is in the table, checked by a test"),
        );
    }
    let (letter, rest) = text.split_at(1);
    let scalar = match letter {
        "s" => Scalar::String,
        "b" => Scalar::Bool,
        "u" => Scalar::Uint8,
        "i" => Scalar::Int32,
        "l" => Scalar::Int64,
        "f" => Scalar::Float,
        "y" => Scalar::Bytes,
        "Q" => Scalar::Quantity,
        "T" => Scalar::Time,
        "U" => Scalar::MicroTime,
        "D" => Scalar::Duration,
        "I" => Scalar::IntOrString,
        "A" | "S" => Scalar::SchemaOr,
        "B" => Scalar::SchemaOrBool,
        _ => Scalar::Raw,
    };
    GoType::Scalar(scalar, named(rest).0)
}

/// Splits `<NAME>rest`.
fn named(text: &'static str) -> (&'static str, &'static str) {
    text.strip_prefix('<').and_then(|text| text.split_once('>')).unwrap_or(("", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_parses_and_every_struct_is_there() {
        assert!(STRUCTS.len() > 600);
        for structure in STRUCTS.values() {
            assert!(structure.fields().iter().all(|field| !field.name.is_empty()), "{}", structure.name);
        }
    }

    #[test]
    fn fields_are_those_of_go() {
        let spec = by_name("io.k8s.api.core.v1.PodSpec").unwrap();
        let field = spec.field("restartPolicy").unwrap();
        assert!(matches!(field.ty, GoType::Scalar(Scalar::String, "v1.RestartPolicy")));
        assert_eq!(field.presence, Presence::Unempty);
        assert_eq!(spec.field("containers").unwrap().presence, Presence::Always);
        assert!(matches!(
            spec.field("overhead").unwrap().ty,
            GoType::Map(GoType::Scalar(Scalar::Quantity, _), "v1.ResourceList")
        ));
        assert!(by_name("io.k8s.api.core.v1.Nothing").is_none());
    }
}
