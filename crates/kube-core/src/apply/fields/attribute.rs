//! The names on the wire of the fields of one struct that were written.
//!
//! 1. A field that the struct hands out by reference has the name that is handed out with it: the address and the type are those of the
//!    field. This is every field of k8s-openapi's types, and every ordinary one of a derived `Serialize`.
//! 2. Other fields are behind a function (`serialize_with`), or flattened. The struct, and a blank one, are serialized once more, and
//!    compared: what changed is theirs, if there is only one way to attribute it: `change`.
//! 3. What remains is an error: a name is never guessed.

use std::{any::type_name, fmt};

use serde::Serialize;

use super::{
    Blank,
    change::Change,
    names::{self, Observed, Refused, Task},
    slot::Place,
};
use crate::apply::{Field, Fields};

/// What was written to one struct.
pub(super) struct Struct {
    of: &'static str,
    /// The fields of `..base`.
    pub(super) base: Vec<(String, Field)>,
    written: Vec<Written>,
}

/// A field that was written.
pub(super) struct Written {
    pub(super) place: Place,
    pub(super) json: Field,
    /// Whether the value in the struct may have more than `json`, or less.
    pub(super) partial: bool,
    /// The names under which it is serialized.
    keys: Vec<String>,
    /// Whether something in it is serialized by itself.
    pub(super) parts: bool,
}

impl Written {
    pub(super) fn new(place: Place, json: Field, partial: bool) -> Self {
        Self { place, json, partial, keys: Vec::new(), parts: false }
    }

    /// Whether the names are the same, upper and lower case and underscores aside, and the value is not handed out by reference.
    pub(super) fn is_called(&self, observed: &Observed) -> bool {
        let letters = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        observed.inside.is_none() && letters(self.place.name) == letters(&observed.key)
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

type Look<'a> = &'a dyn Fn(Task<'_>) -> Result<(), Refused>;
/// Fields by their names on the wire.
pub(super) type Named = Vec<(String, Field)>;

impl Struct {
    pub(super) fn new<T>() -> Self {
        Self { of: type_name::<T>(), base: Vec::new(), written: Vec::new() }
    }

    /// The type without its path.
    pub(super) fn short_name(&self) -> String {
        let (path, generics) = self.of.split_at(self.of.find('<').unwrap_or(self.of.len()));
        format!("{}{generics}", path.rsplit("::").next().unwrap_or(path))
    }

    /// Adds a field, or replaces it.
    pub(super) fn write(&mut self, mut new: Written) {
        let same = |old: &Written| old.place.name == new.place.name;
        if let Some(position) = self.written.iter().position(same) {
            new.place.unchanged &= self.written.remove(position).place.unchanged;
        }
        self.written.push(new);
    }

    /// The fields by their names on the wire. `it` is the struct that they were written to.
    pub(super) fn fields<T: Serialize + Blank<M>, M>(self, it: &T) -> Result<Fields, Wrong> {
        self.attribute(&|task| names::look(it, task), &|task| names::look(&T::blank(), task))
    }

    fn attribute(mut self, it: Look<'_>, blank: Look<'_>) -> Result<Fields, Wrong> {
        it(Task::Find(&mut self.written)).map_err(|refused| self.refused(&refused))?;
        let mut named = Named::new();
        let mut rest = Vec::new();
        for mut field in std::mem::take(&mut self.written) {
            match (field.keys.pop(), field.keys.is_empty()) {
                (Some(key), true) => named.push((key, field.json)),
                (Some(last), false) => {
                    let names = field.keys.join(", ");
                    let message = format!("`{}` serializes it under several names: {names}, {last}", self.of);
                    return Err(Wrong { field: field.place.name, message });
                }
                (None, _) => rest.push(field),
            }
        }
        if !rest.is_empty() {
            let (mut after, mut before) = (Vec::new(), Vec::new());
            it(Task::Collect(&mut after)).map_err(|refused| self.refused(&refused))?;
            blank(Task::Collect(&mut before)).map_err(|refused| self.refused(&refused))?;
            named.extend(Change::new(&after, &before).attribute(rest, self.of)?);
        }
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(twice) = named.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let message = format!("`{}` serializes two of the written fields as `{}`", self.of, twice[0].0);
            return Err(Wrong { field: "", message });
        }
        let mut fields: Fields = self.base.into_iter().collect();
        named.into_iter().for_each(|(name, json)| fields.insert(name, json));
        Ok(fields)
    }

    fn refused(&self, refused: &Refused) -> Wrong {
        let why = match refused {
            Refused::NoStruct => "is not serialized as an object that has its fields".to_owned(),
            Refused::Error(error) => {
                format!("cannot be serialized while only some of its fields are written: {error}")
            }
        };
        Wrong { field: "", message: format!("`{}` {why}; write a whole value instead of braces", self.of) }
    }
}
