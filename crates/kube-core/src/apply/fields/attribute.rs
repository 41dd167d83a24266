//! The names on the wire of the fields of one struct that were written.
//!
//! 1. A field that the struct hands out by reference has the name that is handed out with it: the address and the type are those of the
//!    field. This is every field of k8s-openapi's types, and every ordinary one of a derived `Serialize`.
//! 2. Other fields are behind a function (`serialize_with`), or flattened. The struct, and a blank one, are serialized once more, and
//!    compared: what changed is theirs, if there is only one way to attribute it: `change`.
//! 3. What remains is an error: a name is never guessed.

use std::any::type_name;

use serde::Serialize;

use super::{
    Blank,
    change::Change,
    names::{self, Refused, Task},
    written::{Named, Written, Wrong},
};
use crate::apply::{Field, Fields};

/// What was written to one struct.
pub(super) struct Struct {
    of: &'static str,
    /// The fields of `..base`.
    pub(super) base: Vec<(String, Field)>,
    written: Vec<Written>,
}

type Look<'a> = &'a dyn Fn(Task<'_>) -> Result<(), Refused>;

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
