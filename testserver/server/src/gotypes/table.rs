//! The table of Go's structs (`data/gotypes.txt`): their fields as Go's JSON encoding and protobuf see them.

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

static TEXT: &str = include_str!("../../data/gotypes.txt");

/// The package of what is the same in every group.
const META: &str = "apimachinery.pkg.apis.meta.v1";
/// The embedded struct of the `apiVersion` and `kind` of a kind, as a word of the table.
const TYPE_META: &str = "TypeMeta";

/// A struct of the table; its fields are parsed when first used.
pub(crate) struct GoStruct {
    /// Its name in OpenAPI documents without `io.k8s.`, such as `api.core.v1.Pod`.
    pub(crate) name: &'static str,
    line: &'static str,
    fields: OnceLock<Vec<GoField>>,
    members: OnceLock<Vec<GoField>>,
}

/// A field of a struct.
#[derive(Clone, Copy)]
pub(crate) struct GoField {
    /// In protobuf; 0 if it is not there.
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) presence: Presence,
    /// Its feature gate is off, so that servers read it and leave it out.
    pub(crate) off: bool,
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
    /// Its members are those of the object around it.
    Inline,
    /// The object is the value of the one field that is set.
    Case,
}

/// A Go type. Named scalars have their Go name, such as `v1.Protocol`.
#[derive(Clone, Copy)]
pub(crate) enum GoType {
    Scalar(Scalar, &'static str),
    Pointer(&'static GoType),
    List(&'static GoType),
    /// A list that is a message of its own in protobuf.
    Items(&'static GoType),
    /// A map with keys that are strings.
    Map(&'static GoType, &'static str),
    Struct(&'static GoStruct),
    /// A schema or a list of schemas, a schema or a bool, a schema or a list of strings: the struct has a field for each.
    SchemaOr(&'static GoStruct),
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
    IntOrString,
    /// Any JSON: `RawExtension`, `FieldsV1`, and the JSON of definitions.
    Raw,
}

struct Table {
    structs: HashMap<&'static str, GoStruct>,
    /// Versions of groups, each with a package that has kinds of it.
    packages: Vec<(&'static str, &'static str)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(TEXT));

/// The struct with this name in OpenAPI documents, such as `io.k8s.api.core.v1.Pod`.
pub(crate) fn by_name(name: &str) -> Option<&'static GoStruct> {
    TABLE.structs.get(name.strip_prefix("io.k8s.").unwrap_or(name))
}

/// The struct of a kind. Options are the same in every version.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<&'static GoStruct> {
    let packages = TABLE.packages.iter().filter(|(version, _)| *version == api_version);
    let options = kind.ends_with("Options").then_some(META);
    let packages = packages.map(|(_, package)| *package).chain(options);
    packages.filter_map(|package| in_package(package, kind)).find(|kind| kind.line.starts_with(TYPE_META))
}

fn in_package(package: &str, name: &str) -> Option<&'static GoStruct> {
    by_name(&format!("{package}.{name}"))
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let mut table = Self { structs: HashMap::new(), packages: Vec::new() };
        for line in text.lines() {
            let (name, line) = line.split_once(' ').unwrap_or((line, ""));
            if name == "version" {
                table.packages.extend(line.split_once(' '));
            } else {
                let (fields, members) = (OnceLock::new(), OnceLock::new());
                table.structs.insert(name, GoStruct { name, line, fields, members });
            }
        }
        table
    }
}

impl GoStruct {
    /// The fields of its JSON object, those of embedded structs in their place.
    pub(crate) fn fields(&'static self) -> &'static [GoField] {
        self.fields.get_or_init(|| {
            let mut fields = Vec::new();
            for field in self.parse() {
                match field.ty {
                    GoType::Struct(inner) if field.presence == Presence::Inline => {
                        fields.extend(inner.fields());
                    }
                    _ => fields.push(field),
                }
            }
            fields
        })
    }

    /// The fields of its protobuf message, in the order of their numbers.
    pub(crate) fn members(&'static self) -> &'static [GoField] {
        self.members.get_or_init(|| {
            let mut members: Vec<GoField> = self.parse().filter(|field| field.number > 0).collect();
            members.sort_by_key(|field| field.number);
            members
        })
    }

    pub(crate) fn field(&'static self, name: &str) -> Option<&'static GoField> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The type without its package, such as `PodSpec`.
    pub(crate) fn short_name(&self) -> &'static str {
        self.split_name().1
    }

    fn split_name(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    fn parse(&self) -> impl Iterator<Item = GoField> {
        let (package, mut number) = (self.split_name().0, 0);
        self.line.split_ascii_whitespace().map(move |word| {
            let field = GoField::parse(word, number + 1, package)
                .expect("invariant: a generated word, as a test checks of each");
            number = field.number;
            field
        })
    }
}

impl GoField {
    /// Parses a word of a line: its number if it is not the next one, its name, when Go prints it, and its type.
    fn parse(word: &'static str, next: u32, package: &str) -> Option<Self> {
        if word == TYPE_META {
            let ty = GoType::Struct(in_package(META, word)?);
            return Some(Self { number: 0, name: word, presence: Presence::Inline, off: false, ty });
        }
        let start = word.find(|c: char| !c.is_ascii_digit())?;
        let number = if start > 0 { word[..start].parse().ok()? } else { next };
        let end = word.find(['=', '?', '!', '+', '|'])?;
        let presence = match &word[end..=end] {
            "=" => Presence::Always,
            "?" => Presence::Unempty,
            "!" => Presence::Unzero,
            "+" => Presence::Inline,
            _ => Presence::Case,
        };
        let ty = &word[end + 1..];
        let gated = ty.strip_prefix('-');
        let ty = GoType::parse(gated.unwrap_or(ty), package)?;
        let name = match (&word[start..end], ty) {
            ("", GoType::Struct(embedded)) => embedded.short_name(),
            (name, _) => name,
        };
        Some(Self { number, name, presence, off: gated.is_some(), ty })
    }
}

impl GoType {
    /// Whether Go has a struct in its place, which `omitempty` never finds empty.
    pub(crate) fn is_struct(&self) -> bool {
        match self {
            Self::Struct(_) | Self::SchemaOr(_) => true,
            Self::Scalar(scalar, _) => matches!(
                scalar,
                Scalar::Quantity | Scalar::Time | Scalar::MicroTime | Scalar::IntOrString | Scalar::Raw
            ),
            _ => false,
        }
    }

    fn parse(text: &'static str, package: &str) -> Option<Self> {
        // The table is parsed once per process, so that its types may live as long.
        let inner = |text| Some(&*Box::leak(Box::new(Self::parse(text, package)?)));
        let structure =
            |name: &str| if name.contains('.') { by_name(name) } else { in_package(package, name) };
        if let Some(rest) = text.strip_prefix('*') {
            return inner(rest).map(Self::Pointer);
        }
        if let Some(rest) = text.strip_prefix("[]") {
            return inner(rest).map(Self::List);
        }
        if let Some(rest) = text.strip_prefix("[@]") {
            return inner(rest).map(Self::Items);
        }
        if let Some(rest) = text.strip_prefix("{}") {
            let (name, rest) = named(rest);
            return Some(Self::Map(inner(rest)?, name));
        }
        let (letter, rest) = text.split_at_checked(1)?;
        let scalar = match letter {
            "@" => return structure(rest).map(Self::Struct),
            "~" => return structure(rest).map(Self::SchemaOr),
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
            "I" => Scalar::IntOrString,
            "R" => Scalar::Raw,
            _ => return None,
        };
        Some(Self::Scalar(scalar, named(rest).0))
    }
}

/// Splits `<NAME>rest`.
fn named(text: &'static str) -> (&'static str, &'static str) {
    text.strip_prefix('<').and_then(|text| text.split_once('>')).unwrap_or(("", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{object::meta, scheme::builtin};

    #[test]
    fn every_word_of_the_table_is_a_field() {
        assert!(TABLE.structs.len() > 1200);
        for structure in TABLE.structs.values() {
            let words = structure.line.split_ascii_whitespace();
            let numbered = words.filter(|word| *word != TYPE_META).count();
            assert_eq!(structure.members().len(), numbered, "{}", structure.name);
            assert!(structure.members().windows(2).all(|pair| pair[0].number < pair[1].number));
            assert!(structure.fields().iter().all(|field| !field.name.is_empty()), "{}", structure.name);
        }
    }

    #[test]
    fn fields_are_those_of_go() {
        let spec = by_name("io.k8s.api.core.v1.PodSpec").unwrap();
        let field = spec.field("restartPolicy").unwrap();
        assert!(matches!(field.ty, GoType::Scalar(Scalar::String, "v1.RestartPolicy")));
        assert_eq!((field.number, field.presence), (3, Presence::Unempty));
        assert_eq!(spec.field("containers").unwrap().presence, Presence::Always);
        assert!(matches!(
            spec.field("overhead").unwrap().ty,
            GoType::Map(GoType::Scalar(Scalar::Quantity, _), "v1.ResourceList")
        ));
        let schema = by_name("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").unwrap();
        let ty = schema.field("x-kubernetes-embedded-resource").map(|field| field.ty);
        assert!(matches!(ty, Some(GoType::Scalar(Scalar::Bool, ""))), "a name with dashes");
        assert!(by_name("io.k8s.api.core.v1.Nothing").is_none());
    }

    #[test]
    fn kinds_are_found_by_their_version() {
        let name = |version: &str, kind: &str| of_kind(version, kind).map(|structure| structure.name);
        assert_eq!(name("v1", "Pod"), Some("api.core.v1.Pod"));
        assert_eq!(name("v1", "Status"), Some("apimachinery.pkg.apis.meta.v1.Status"));
        assert_eq!(name("apps/v1", "DeleteOptions"), name("v1", "DeleteOptions"));
        assert_eq!(name("v1", "PodSpec"), None, "no kind");
        assert_eq!(name("apps/v1", "Pod"), None, "of another group");
    }

    /// Alpha versions come and go: the table has those of 1.37.
    #[test]
    fn every_served_kind_has_a_struct() {
        let mut missing = Vec::new();
        for served in builtin::kinds().iter().filter(|kind| !kind.version.contains("alpha")) {
            let api_version = meta::api_version(served.group, served.version);
            for kind in [served.kind, served.list_kind] {
                if !kind.is_empty() && of_kind(&api_version, kind).is_none() {
                    missing.push(format!("{api_version}/{kind}"));
                }
            }
        }
        assert_eq!(missing, [] as [String; 0]);
    }
}
