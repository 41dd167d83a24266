//! The message table, parsed once.

use std::{collections::HashMap, sync::LazyLock};

static TABLE: &str = include_str!("messages.txt");

pub(super) type Fields = HashMap<u64, Field>;

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
}

/// The encoding of a field and its JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Text { keep_empty: bool },
    Texts,
    Bool { keep_zero: bool },
    Int { keep_zero: bool },
    Ints,
    TextMap,
    BytesMap,
    Quantity,
    Quantities,
    Either,
    Message(&'static str),
    Messages(&'static str),
    Inline(&'static str),
    Ignored,
}

/// The fields of a message, or of the kind `apiVersion/Kind`.
pub(super) fn fields(message: &str) -> Option<&'static Fields> {
    static MESSAGES: LazyLock<HashMap<&'static str, Fields>> = LazyLock::new(|| {
        let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(':')).map(|(name, fields)| (name, read(fields))).collect()
    });
    MESSAGES.get(message)
}

fn read(fields: &'static str) -> Fields {
    fields.split(',').filter_map(field).collect()
}

fn field(text: &'static str) -> Option<(u64, Field)> {
    let mut words = text.split_whitespace();
    let (number, name, kind) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    Some((number, Field { name, kind: kind_of(kind) }))
}

fn kind_of(word: &'static str) -> FieldKind {
    match word {
        "text" | "text!" => FieldKind::Text { keep_empty: word.ends_with('!') },
        "texts" => FieldKind::Texts,
        "bool" | "bool!" => FieldKind::Bool { keep_zero: word.ends_with('!') },
        "int" | "int!" => FieldKind::Int { keep_zero: word.ends_with('!') },
        "ints" => FieldKind::Ints,
        "labels" => FieldKind::TextMap,
        "bytes" => FieldKind::BytesMap,
        "quantity" => FieldKind::Quantity,
        "quantities" => FieldKind::Quantities,
        "either" => FieldKind::Either,
        "-" => FieldKind::Ignored,
        message => match (message.strip_suffix('*'), message.strip_suffix('<')) {
            (Some(message), _) => FieldKind::Messages(message),
            (_, Some(message)) => FieldKind::Inline(message),
            _ => FieldKind::Message(message),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_parses_and_every_reference_resolves() {
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, text) = line.split_once(':').unwrap();
            let read = fields(name).unwrap();
            let written = text.split(',').filter(|field| !field.trim().is_empty()).count();
            assert_eq!(read.len(), written, "{name}");
            for field in read.values() {
                if let FieldKind::Message(of) | FieldKind::Messages(of) | FieldKind::Inline(of) = field.kind {
                    assert!(fields(of).is_some(), "{name}.{}: {of}", field.name);
                }
            }
        }
    }
}
