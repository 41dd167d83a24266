//! From YAML events to JSON values, as kubectl composes them: tags, anchors, merge keys, and limits.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};
use serde_json::{Map, Value};

use super::repair::repaired;
use super::scalar::Scalar;

/// A document that has been read to its end, and the line in which it begins, from 1.
pub(super) type Document = (Value, usize);

/// Why a document cannot be read, and the line.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) reason: String,
}

/// Calls `on_document` with each document, empty ones too, which are null.
pub(super) fn compose(text: &str, mut on_document: impl FnMut(Document)) -> Result<(), Fault> {
    let mut text = Cow::Borrowed(text);
    let (mut told, mut read_again) = (0, 0);
    loop {
        let mut documents = 0;
        let read = compose_once(&text, |document| {
            documents += 1;
            // A repair changes nothing in the documents before it.
            if documents > told {
                told = documents;
                on_document(document);
            }
        });
        let Err(Stop { fault, repaired, at }) = read else { return Ok(()) };
        read_again += at;
        match repaired {
            Some(repaired) if read_again < MAX_READ_AGAIN => text = Cow::Owned(repaired),
            _ => return Err(fault),
        }
    }
}

struct Stop {
    fault: Fault,
    /// The bytes that were read until then.
    at: usize,
    /// A text that says the same, and does not stop the parser there.
    repaired: Option<String>,
}

fn compose_once(text: &str, mut on_document: impl FnMut(Document)) -> Result<(), Stop> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    let mut composer = Composer::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|err| Stop {
            repaired: repaired(text, &err, composer.is_in_brackets()),
            at: err.marker().byte_offset().unwrap_or(text.len()),
            fault: Fault { line: err.marker().line(), reason: err.info() },
        })?;
        let line = span.start.line();
        let stop = |reason| Stop { repaired: None, at: 0, fault: Fault { line, reason } };
        composer.on(event, line).map_err(stop)?.into_iter().for_each(&mut on_document);
    }
    Ok(())
}

/// The state within a document. It keeps its own stack, so a deep document needs no deep stack of the thread.
#[derive(Default)]
struct Composer {
    /// The lists and mappings that are not at their ends, outermost first.
    open: Vec<Open>,
    /// What anchors name, by the parser's number of the anchor.
    anchors: HashMap<usize, Anchored>,
    /// How many values and bytes of text anchors and aliases have copied.
    copied: usize,
    values: usize,
    /// The outermost value, and the line in which it begins.
    root: Option<Document>,
    line: usize,
}

struct Open {
    style: StructureStyle,
    anchor: usize,
    collection: Collection,
}

enum Collection {
    List(Vec<Value>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    fields: Map<String, Value>,
    key: Option<Key>,
    /// The keys that a merge key brought: they may be written again.
    merged: HashSet<String>,
}

enum Key {
    Text(String),
    Merge,
}

struct Anchored {
    value: Value,
    /// Of a scalar: as a key it has its own form.
    scalar: Option<Scalar>,
}

/// A value that is at its end, and what else is asked of it where it stands.
struct Node {
    value: Value,
    /// Of a scalar; `None` for a list or mapping.
    scalar: Option<Scalar>,
    is_merge_key: bool,
    is_alias: bool,
}

impl Composer {
    /// Takes the next event. `Some`: a document is at its end.
    fn on(&mut self, event: Event<'_>, line: usize) -> Result<Option<Document>, String> {
        let node = match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                return Ok(None);
            }
            Event::DocumentEnd => return Ok(self.root.take()),
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref())?,
            Event::Alias(anchor) => self.alias(anchor)?,
            Event::SequenceStart(style, anchor, _) => {
                let open = Open { style, anchor, collection: Collection::List(Vec::new()) };
                return self.begin(open, line).map(|()| None);
            }
            Event::MappingStart(style, anchor, _) => {
                let open = Open { style, anchor, collection: Collection::Mapping(Mapping::default()) };
                return self.begin(open, line).map(|()| None);
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.end(open)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(format!("more than {MAX_VALUES} values"));
        }
        match self.open.last_mut() {
            Some(open) => open.collection.add(node)?,
            None => self.root = Some((node.value, if node.scalar.is_some() { line } else { self.line })),
        }
        Ok(None)
    }

    fn is_in_brackets(&self) -> bool {
        self.open.last().is_some_and(|open| open.style == StructureStyle::Flow)
    }

    fn begin(&mut self, open: Open, line: usize) -> Result<(), String> {
        if self.open.is_empty() {
            self.line = line;
        }
        if matches!(self.open.last(), Some(open) if open.collection.expects_key()) {
            let what = if matches!(open.collection, Collection::List(_)) { "list" } else { "mapping" };
            return Err(format!("a key is a {what}: expected a text"));
        }
        self.open.push(open);
        within_depth(self.open.len())
    }

    fn end(&mut self, open: Open) -> Result<Node, String> {
        let value = match open.collection {
            Collection::List(items) => Value::Array(items),
            Collection::Mapping(mapping) => Value::Object(mapping.fields),
        };
        self.named(open.anchor, Node { value, scalar: None, is_merge_key: false, is_alias: false })
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<Node, String> {
        let is_plain = style == ScalarStyle::Plain;
        let tag = tag.map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:"));
        let scalar = match &tag {
            None if is_plain => Scalar::plain(text),
            Some(Some(name)) => Scalar::tagged(name, text)?,
            // Other tags, `!` too, stand for a text.
            None | Some(None) => Scalar::Text(text.to_owned()),
        };
        let has_merge_tag = matches!(&tag, Some(Some(name)) if name == "merge");
        let is_merge_key = text == "<<" && (has_merge_tag || (tag.is_none() && is_plain));
        // An infinite number may be a key.
        let value = match self.open.last() {
            Some(open) if open.collection.expects_key() => Value::Null,
            _ => scalar.clone().into_value()?,
        };
        self.named(anchor, Node { value, scalar: Some(scalar), is_merge_key, is_alias: false })
    }

    /// Keeps what an anchor names.
    fn named(&mut self, anchor: usize, node: Node) -> Result<Node, String> {
        if anchor != 0 {
            let value = match &node.scalar {
                Some(scalar) => scalar.clone().into_value()?,
                None => self.copy(&node.value)?,
            };
            self.anchors.insert(anchor, Anchored { value, scalar: node.scalar.clone() });
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize) -> Result<Node, String> {
        // It is not kept before its end.
        let anchored = self.anchors.remove(&anchor).ok_or("an anchor has itself in its value")?;
        let copy = self.copy(&anchored.value);
        let node =
            Node { value: copy?, scalar: anchored.scalar.clone(), is_merge_key: false, is_alias: true };
        self.anchors.insert(anchor, anchored);
        Ok(node)
    }

    fn copy(&mut self, value: &Value) -> Result<Value, String> {
        let Size { weight, depth } = size(value);
        within_depth(self.open.len() + depth)?;
        self.copied += weight;
        if self.copied > MAX_COPIED {
            return Err("aliases expand to too much".to_owned());
        }
        Ok(value.clone())
    }
}

impl Collection {
    fn expects_key(&self) -> bool {
        matches!(self, Self::Mapping(Mapping { key: None, .. }))
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        match self {
            Self::List(items) => items.push(node.value),
            Self::Mapping(mapping) => match mapping.key.take() {
                None => mapping.key = Some(mapping.begin(node)?),
                Some(Key::Text(key)) => {
                    mapping.fields.insert(key, node.value);
                }
                Some(Key::Merge) => mapping.merge(node)?,
            },
        }
        Ok(())
    }
}

impl Mapping {
    fn begin(&mut self, key: Node) -> Result<Key, String> {
        if key.is_merge_key {
            return Ok(Key::Merge);
        }
        let scalar = key.scalar.ok_or("a key is a list or mapping: expected a text")?;
        let key = scalar.into_key()?;
        if self.fields.contains_key(&key) && !self.merged.remove(&key) {
            return Err(format!("the key {key:?} occurs twice: expected it once"));
        }
        Ok(Key::Text(key))
    }

    /// In the order in which keys are written, as kubectl: what a merge key brings replaces what was written before it.
    fn merge(&mut self, node: Node) -> Result<(), String> {
        let mappings = match node.value {
            Value::Object(fields) => vec![Value::Object(fields)],
            Value::Array(items) if !node.is_alias => items,
            _ => return Err(NO_MERGE.to_owned()),
        };
        // The first of several wins.
        for mapping in mappings.into_iter().rev() {
            let Value::Object(fields) = mapping else { return Err(NO_MERGE.to_owned()) };
            for (key, value) in fields {
                if self.fields.insert(key.clone(), value).is_none() {
                    self.merged.insert(key);
                }
            }
        }
        Ok(())
    }
}

const NO_MERGE: &str = "the value of the merge key `<<` is not a mapping: expected one, or a list of them";

struct Size {
    /// Values, and bytes of texts.
    weight: usize,
    depth: usize,
}

fn size(value: &Value) -> Size {
    let (own, parts): (usize, Vec<Size>) = match value {
        Value::Array(items) => (0, items.iter().map(size).collect()),
        Value::Object(fields) => (fields.keys().map(String::len).sum(), fields.values().map(size).collect()),
        Value::String(text) => return Size { weight: VALUE + text.len(), depth: 0 },
        _ => return Size { weight: VALUE, depth: 0 },
    };
    Size {
        weight: VALUE + own + parts.iter().map(|part| part.weight).sum::<usize>(),
        depth: 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0),
    }
}

fn within_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH { Err(format!("more than {MAX_DEPTH} levels")) } else { Ok(()) }
}

// The limits are far beyond any real file, the largest of which have a hundred thousand lines of schemas.
const MAX_DEPTH: usize = 128;
const MAX_VALUES: usize = 10_000_000;
const MAX_COPIED: usize = 64 * 1024 * 1024;
/// The bytes of text that may be read again after repairs, each of which reads again what is before it. That is 512
/// repairs spread over a file of 512 KiB.
const MAX_READ_AGAIN: usize = 128 * 1024 * 1024;
/// The bytes of a value without its text, roughly.
const VALUE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Comments without a space before them, as in some generated files.
    #[test]
    fn a_large_file_may_need_many_repairs() {
        let long = "x".repeat(8 * 1024);
        let text: String = (0..64).map(|n| format!("a{n}: \"b\"#c\nlong{n}: {long}\n")).collect();
        let mut values = Vec::new();
        compose(&text, |(value, _)| values.push(value)).unwrap();
        assert_eq!((values.len(), &values[0]["a63"]), (1, &Value::from("b")));
    }
}
