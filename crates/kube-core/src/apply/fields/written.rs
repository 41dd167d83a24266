//! A field that was written: where it is, its JSON, and the names under which its struct serializes it.

use std::{any::type_name, fmt};

use crate::apply::Field;

/// A field that was written.
pub(super) struct Written {
    pub(super) place: Place,
    pub(super) json: Field,
    /// Whether the value in the struct may have more than `json`, or less.
    pub(super) partial: bool,
    /// The names under which it is serialized.
    pub(super) keys: Vec<String>,
    /// Whether something in it is serialized by itself.
    pub(super) parts: bool,
}

impl Written {
    pub(super) fn new(place: Place, json: Field, partial: bool) -> Self {
        Self { place, json, partial, keys: Vec::new(), parts: false }
    }

    /// Looks at a value that the struct serializes as `key`.
    pub(super) fn compare(&mut self, key: &str, address: usize, size: usize, type_name: &str) {
        let Place { address: start, size: of_field, declared, inner, .. } = self.place;
        let end = start + of_field;
        let whole = address == start && type_name == declared;
        let inside = start <= address && address + size <= end;
        if whole || inside && type_name == inner {
            self.keys.push(key.to_owned());
        } else if inside && size > 0 {
            self.parts = true;
        }
    }
}

/// Where a field is, in which its struct can be recognized to serialize it.
pub(super) struct Place {
    /// Its name in Rust.
    pub(super) name: &'static str,
    pub(super) address: usize,
    pub(super) size: usize,
    /// The type of the field.
    pub(super) declared: &'static str,
    /// The type in its `Option`, or the same.
    pub(super) inner: &'static str,
    /// Whether the value is equal to the one that was there before, so that what the struct serializes is as before.
    pub(super) unchanged: bool,
}

impl Place {
    pub(super) fn new<F, T>(field: &F, name: &'static str) -> Self {
        Self {
            name,
            address: std::ptr::from_ref(field).addr(),
            size: size_of::<F>(),
            declared: type_name::<F>(),
            inner: type_name::<T>(),
            unchanged: false,
        }
    }

    /// Whether the address is in the field.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.address..self.address + self.size).contains(&address)
    }
}

/// Why a name is not known.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Of the field; empty if it is the struct.
    pub(super) field: &'static str,
    pub(super) message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Fields by their names on the wire.
pub(super) type Named = Vec<(String, Field)>;
