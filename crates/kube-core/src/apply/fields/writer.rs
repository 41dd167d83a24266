//! Everything that was written so far: the structs, lists and maps that are open, the innermost last.

use std::fmt::{self, Display};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Accept, Base, Blank, ListField, ListItems, MapField, MapValues,
    accept::Content,
    attribute::Struct,
    written::{Place, Written},
};
use crate::apply::{Field, Fields, SparseError};

/// Records what is written. After the first error it goes on, and the result is that error.
#[derive(Default)]
pub struct Writer {
    frames: Vec<Frame>,
    error: Option<SparseError>,
}

/// A value that is open.
struct Frame {
    /// The field that it is written to. The parent decides whether it looks at it.
    place: Option<Place>,
    parts: Parts,
}

enum Parts {
    Struct(Struct),
    List { items: Vec<Value>, partial: bool },
    Map { entries: Map<String, Value>, key: String, partial: bool },
}

impl Writer {
    /// Nothing is written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets values that were left open deeper than `depth`: by `continue` or `break` in a value.
    #[inline(never)]
    pub fn at(&mut self, depth: usize) {
        self.frames.truncate(depth);
    }

    /// Writes all fields of `other`, below those that are written to the struct `_of` one by one.
    #[inline(never)]
    pub fn base<T, B: Base<T>>(&mut self, _of: &mut T, other: B) {
        match (other.fields(), self.frames.last_mut()) {
            (Ok(fields), Some(Frame { parts: Parts::Struct(open), .. })) => open.base.extend(fields),
            (Ok(_), _) => {}
            (Err(error), _) => self.fail("..", &error),
        }
    }

    /// Closes the struct `it`, which is complete now.
    #[inline(never)]
    pub fn close<T: Serialize + Blank<M>, M>(&mut self, it: &T) {
        if let Some((place, fields)) = self.complete(it) {
            self.add(place, Field::Struct(fields), true);
        }
    }

    /// Closes the list or map.
    #[inline(never)]
    pub fn close_collection(&mut self) {
        let Some(Frame { place, parts }) = self.frames.pop() else { return };
        match parts {
            Parts::List { items, partial } => self.add(place, Field::Value(Value::Array(items)), partial),
            Parts::Map { entries, partial, .. } => {
                self.add(place, Field::Value(Value::Object(entries)), partial);
            }
            Parts::Struct(_) => {}
        }
    }

    /// Adds an item to the open list.
    #[inline(never)]
    pub fn push<L: ListField, V: Accept<L::Item, M>, M>(&mut self, list: &mut L, value: V) {
        match value.take() {
            Ok(Some(Content { value, json, partial })) => {
                list.push(value);
                self.add(None, json, partial);
            }
            Ok(None) => {}
            Err(error) => self.fail("", &error),
        }
    }

    /// Adds items to the open list.
    #[inline(never)]
    pub fn push_all<L: ListField, V: Accept<L::Item, M>, M>(
        &mut self,
        list: &mut L,
        values: impl IntoIterator<Item = V>,
    ) {
        values.into_iter().for_each(|value| self.push(list, value));
    }

    /// A new item of the open list, to write to.
    #[inline(never)]
    pub fn item<'a, L: ListItems, M>(&mut self, list: &'a mut L) -> &'a mut L::Item
    where
        L::Item: Blank<M>,
    {
        list.add(Blank::blank())
    }

    /// Opens a struct that is a new item of the open list.
    #[inline(never)]
    pub fn open_item<'a, L: ListItems, M>(&mut self, list: &'a mut L) -> &'a mut L::Item
    where
        L::Item: Blank<M>,
    {
        self.open_root::<L::Item>();
        list.add(Blank::blank())
    }

    /// Adds an entry to the open map.
    #[inline(never)]
    pub fn insert<T: MapField, V: Accept<T::Value, M>, M>(
        &mut self,
        map: &mut T,
        key: impl Into<T::Key>,
        value: V,
    ) {
        let key = self.key::<T>(key.into());
        match value.take() {
            Ok(Some(Content { value, json, partial })) => {
                map.insert(key, value);
                self.add(None, json, partial);
            }
            Ok(None) => {}
            Err(error) => self.fail("", &error),
        }
    }

    /// Adds entries to the open map.
    #[inline(never)]
    pub fn insert_all<T: MapField, K: Into<T::Key>, V: Accept<T::Value, M>, M>(
        &mut self,
        map: &mut T,
        entries: impl IntoIterator<Item = (K, V)>,
    ) {
        entries.into_iter().for_each(|(key, value)| self.insert(map, key, value));
    }

    /// The value of a key of the open map, to write to.
    #[inline(never)]
    pub fn value<'a, T: MapValues, M>(&mut self, map: &'a mut T, key: impl Into<T::Key>) -> &'a mut T::Value
    where
        T::Value: Blank<M>,
    {
        let key = self.key::<T>(key.into());
        map.value(key, Blank::blank)
    }

    /// Remembers the key of the value that comes next.
    fn key<T: MapField>(&mut self, key: T::Key) -> T::Key {
        let text = match serde_json::to_value(&key) {
            Ok(Value::String(text)) => Ok(text),
            Ok(Value::Number(number)) => Ok(number.to_string()),
            Ok(other) => Err(SparseError::new(format_args!("expected a text as key, found {other}"))),
            Err(error) => Err(SparseError::new(error)),
        };
        match (text, self.frames.last_mut()) {
            (Ok(text), Some(Frame { parts: Parts::Map { key, .. }, .. })) => *key = text,
            (Ok(_), _) => {}
            (Err(error), _) => self.fail("", &error),
        }
        key
    }

    pub(super) fn open_root<T>(&mut self) {
        self.frames.push(Frame { place: None, parts: Parts::Struct(Struct::new::<T>()) });
    }

    pub(super) fn open_struct<T>(&mut self, place: Place) {
        self.frames.push(Frame { place: Some(place), parts: Parts::Struct(Struct::new::<T>()) });
    }

    pub(super) fn open_list(&mut self, place: Place) {
        let parts = Parts::List { items: Vec::new(), partial: false };
        self.frames.push(Frame { place: Some(place), parts });
    }

    pub(super) fn open_map(&mut self, place: Place) {
        let parts = Parts::Map { entries: Map::new(), key: String::new(), partial: false };
        self.frames.push(Frame { place: Some(place), parts });
    }

    /// Adds a value to what is open.
    #[inline(never)]
    pub(super) fn add(&mut self, place: Option<Place>, json: Field, partial: bool) {
        let Some(frame) = self.frames.last_mut() else { return };
        match &mut frame.parts {
            Parts::Struct(open) => {
                if let Some(place) = place {
                    open.write(Written::new(place, json, partial));
                }
            }
            Parts::List { items, partial: of_list } => {
                items.push(json.into_json());
                *of_list |= partial;
            }
            Parts::Map { entries, key, partial: of_map } => {
                entries.insert(std::mem::take(key), json.into_json());
                *of_map |= partial;
            }
        }
    }

    /// Records an error at the field `name` of what is open.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, name: &str, error: &dyn Display) {
        if self.error.is_none() {
            let dot = if name.is_empty() { "" } else { "." };
            self.error = Some(SparseError::new(format_args!("{}{dot}{name}: {error}", Path(&self.frames))));
        }
    }

    /// The fields of the outermost struct, which is complete now.
    pub(super) fn finish<T: Serialize + Blank<M>, M>(mut self, it: &T) -> Result<Fields, SparseError> {
        self.at(1);
        let fields = self.complete(it).map(|(_, fields)| fields).unwrap_or_default();
        self.error.map_or(Ok(fields), Err)
    }

    /// The fields of the innermost struct, and the place that they are written to.
    fn complete<T: Serialize + Blank<M>, M>(&mut self, it: &T) -> Option<(Option<Place>, Fields)> {
        let Some(Frame { parts: Parts::Struct(open), .. }) = self.frames.last_mut() else { return None };
        let written = std::mem::replace(open, Struct::new::<T>()); // an error names what is open
        let fields = written.fields(it);
        if let Err(wrong) = &fields {
            self.fail(wrong.field, wrong);
        }
        let frame = self.frames.pop()?;
        Some((frame.place, fields.ok()?))
    }
}

/// Where the open value is, such as `Deployment.spec.template.spec.containers[0]`.
struct Path<'a>(&'a [Frame]);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (parent, frame) in [None].into_iter().chain(self.0.iter().map(Some)).zip(self.0) {
            match (parent.map(|parent| &parent.parts), &frame.place, &frame.parts) {
                (None, _, Parts::Struct(open)) => f.write_str(&open.short_name())?,
                (None, ..) => {}
                (Some(Parts::Struct(_)), place, _) => {
                    write!(f, ".{}", place.as_ref().map_or("", |place| place.name))?;
                }
                (Some(Parts::List { items, .. }), ..) => write!(f, "[{}]", items.len())?,
                (Some(Parts::Map { key, .. }), ..) => write!(f, "[{key:?}]")?,
            }
        }
        match self.0.last().map(|frame| &frame.parts) {
            Some(Parts::List { items, .. }) => write!(f, "[{}]", items.len()),
            Some(Parts::Map { key, .. }) => write!(f, "[{key:?}]"),
            _ => Ok(()),
        }
    }
}
