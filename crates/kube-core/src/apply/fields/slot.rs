//! One field: where it is, and what is written to it.

use serde::Serialize;

use super::{Accept, Blank, ListField, MapField, Writer, accept::Content, written::Place};
use crate::apply::Field;

/// A field.
pub struct Slot<'a, F>(pub &'a mut F);

// Every function here is called once for each field in a program: a call has to be small, so none is inlined.

/// Of an optional field.
impl<'a, T> Slot<'a, Option<T>> {
    /// Writes a value.
    #[inline(never)]
    pub fn put<V: Accept<T, M>, M>(self, writer: &mut Writer, name: &'static str, value: V) {
        match value.take() {
            Ok(Some(Content { value, json, partial })) => {
                *self.0 = Some(value);
                writer.add(Some(Place::new::<_, T>(&*self.0, name)), json, partial);
            }
            Ok(None) => {}
            Err(error) => writer.fail(name, &error),
        }
    }

    /// Opens a struct.
    #[inline(never)]
    pub fn open<M>(self, writer: &mut Writer, name: &'static str) -> &'a mut T
    where
        T: Blank<M>,
    {
        writer.open_struct::<T>(Place::new::<_, T>(&*self.0, name));
        self.0.get_or_insert_with(T::blank)
    }

    /// Opens a list.
    #[inline(never)]
    pub fn list(self, writer: &mut Writer, name: &'static str) -> &'a mut T
    where
        T: ListField,
    {
        writer.open_list(Place::new::<_, T>(&*self.0, name));
        self.0.get_or_insert_with(T::empty)
    }

    /// Opens a map.
    #[inline(never)]
    pub fn map(self, writer: &mut Writer, name: &'static str) -> &'a mut T
    where
        T: MapField,
    {
        writer.open_map(Place::new::<_, T>(&*self.0, name));
        self.0.get_or_insert_with(T::empty)
    }
}

/// The same of a field that is not optional. Inherent methods come first in method resolution, so these are for all other types.
pub trait Plain<'a, F> {
    /// Writes a value.
    fn put<V: Accept<F, M>, M>(self, writer: &mut Writer, name: &'static str, value: V)
    where
        F: Serialize;
    /// Opens a struct.
    fn open<M>(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: Blank<M>;
    /// Opens a list.
    fn list(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: ListField;
    /// Opens a map.
    fn map(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: MapField;
}

impl<'a, F> Plain<'a, F> for Slot<'a, F> {
    #[inline(never)]
    fn put<V: Accept<F, M>, M>(self, writer: &mut Writer, name: &'static str, value: V)
    where
        F: Serialize,
    {
        match value.take() {
            Ok(Some(Content { value, json, partial })) => {
                let before = serde_json::to_value(&*self.0).ok().map(Field::Value);
                let unchanged = before.as_ref() == Some(&json);
                *self.0 = value;
                let place = Place { unchanged, ..Place::new::<_, F>(&*self.0, name) };
                writer.add(Some(place), json, partial);
            }
            Ok(None) => {}
            Err(error) => writer.fail(name, &error),
        }
    }

    #[inline(never)]
    fn open<M>(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: Blank<M>,
    {
        writer.open_struct::<F>(Place::new::<_, F>(&*self.0, name));
        self.0
    }

    #[inline(never)]
    fn list(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: ListField,
    {
        writer.open_list(Place::new::<_, F>(&*self.0, name));
        self.0
    }

    #[inline(never)]
    fn map(self, writer: &mut Writer, name: &'static str) -> &'a mut F
    where
        F: MapField,
    {
        writer.open_map(Place::new::<_, F>(&*self.0, name));
        self.0
    }
}
