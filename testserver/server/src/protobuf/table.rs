//! The table of messages, which `generators/protobuf` writes, read when the first body in protobuf arrives.

use std::{collections::HashMap, sync::LazyLock};

static TEXT: &str = include_str!("../../data/messages.txt");

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// In the order of their numbers.
    pub(super) fields: Vec<Field>,
}

/// The JSON of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    /// The list in the only field.
    List,
    /// Go reads and writes it with code of its own.
    Custom,
    /// That of the field which the message has.
    OneOf,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// In JSON.
    pub(super) name: &'static str,
    pub(super) cardinality: Cardinality,
    pub(super) value: ValueType,
    /// Go may have nil.
    pub(super) pointer: bool,
    pub(super) omit_empty: bool,
    pub(super) omit_zero: bool,
    /// Its members are those of the object around it.
    pub(super) inline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    One,
    List,
    /// From texts.
    Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Text,
    Bool,
    Int,
    Double,
    Bytes,
    Message(MessageId),
}

/// A position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(usize);

struct Table {
    messages: Vec<Message>,
    by_name: HashMap<&'static str, MessageId>,
    by_kind: HashMap<&'static str, MessageId>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(TEXT));

impl MessageId {
    pub(super) fn get(self) -> &'static Message {
        &TABLE.messages[self.0]
    }
}

/// The message of a kind. Options are the same in every version.
pub(super) fn of_kind(api_version: &str, kind: &str) -> Option<&'static Message> {
    let found = TABLE.by_kind.get(format!("{api_version}/{kind}").as_str());
    let options = || kind.ends_with("Options").then(|| TABLE.by_kind.get(format!("v1/{kind}").as_str()))?;
    found.or_else(options).map(|id| id.get())
}

/// A message by its name in OpenAPI documents.
pub(super) fn by_name(name: &str) -> Option<&'static Message> {
    TABLE.by_name.get(name).map(|id| id.get())
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter_map(|line| line.strip_prefix("message ")?.split(' ').next());
        let by_name: HashMap<_, _> = names.enumerate().map(|(at, name)| (name, MessageId(at))).collect();
        let kind = |line: &'static str| {
            let (kind, message) = line.strip_prefix("kind ")?.split_once(' ')?;
            Some((kind, *by_name.get(message)?))
        };
        let by_kind = lines().filter_map(kind).collect();
        let mut messages: Vec<Message> = Vec::with_capacity(by_name.len());
        for line in lines() {
            if let Some(head) = line.strip_prefix("message ") {
                messages.push(Message::parse(head));
            } else if let (Some(message), Some(field)) = (messages.last_mut(), line.strip_prefix(' ')) {
                let field = Field::parse(field, &by_name);
                message.fields.push(field.expect("invariant: a generated line"));
            }
        }
        Self { messages, by_name, by_kind }
    }
}

impl Message {
    fn parse(head: &'static str) -> Self {
        let (name, shape) = head.split_once(' ').unwrap_or((head, ""));
        let shape = match shape {
            "list" => Shape::List,
            "custom" => Shape::Custom,
            "oneof" => Shape::OneOf,
            _ => Shape::Object,
        };
        Self { name, shape, fields: Vec::new() }
    }

    /// The field with a number, and its position.
    pub(super) fn field(&self, number: u32) -> Option<(usize, &Field)> {
        let at = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        Some((at, &self.fields[at]))
    }
}

impl Field {
    fn parse(line: &'static str, messages: &HashMap<&'static str, MessageId>) -> Option<Self> {
        let mut words = line.split(' ');
        let (number, name, cardinality) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
        let value = match words.next()? {
            "string" => ValueType::Text,
            "bool" => ValueType::Bool,
            "int32" | "int64" => ValueType::Int,
            "double" => ValueType::Double,
            "bytes" => ValueType::Bytes,
            message => ValueType::Message(*messages.get(message)?),
        };
        let cardinality = match cardinality {
            "list" => Cardinality::List,
            "map" => Cardinality::Map,
            _ => Cardinality::One,
        };
        let flags: Vec<&str> = words.collect();
        let has = |flag| flags.contains(&flag);
        Some(Self {
            number,
            name,
            cardinality,
            value,
            pointer: has("pointer"),
            omit_empty: has("omitempty"),
            omit_zero: has("omitzero"),
            inline: has("inline"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{object::meta, scheme::builtin};

    #[test]
    fn every_line_is_read() {
        let table = Table::parse(TEXT);
        let fields: usize = table.messages.iter().map(|message| message.fields.len()).sum();
        let count = |start: &str| TEXT.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!((fields, table.messages.len()), (count(" "), count("message ")));
        assert_eq!(table.by_kind.len(), count("kind "));
        for message in &table.messages {
            assert!(message.fields.is_sorted_by_key(|field| field.number), "{}", message.name);
        }
    }

    /// Alpha versions come and go: the table has those of 1.37.
    #[test]
    fn every_served_kind_has_a_message() {
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
