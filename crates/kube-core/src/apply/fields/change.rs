//! The names of written fields that a struct does not hand out by reference, from what they change in the serialized struct.

use serde_json::Value;

use super::{
    names::Observed,
    written::{Named, Written, Wrong},
};
use crate::apply::Field;

/// A struct as it is serialized, and how a blank one would be.
pub(super) struct Change<'a> {
    /// What is not attributed yet.
    after: Vec<&'a Observed>,
    before: &'a [Observed],
}

impl<'a> Change<'a> {
    pub(super) fn new(after: &'a [Observed], before: &'a [Observed]) -> Self {
        Self { after: after.iter().collect(), before }
    }

    /// The names of all these fields of the type `of`.
    pub(super) fn attribute(mut self, fields: Vec<Written>, of: &str) -> Result<Named, Wrong> {
        let mut named = Named::new();
        let mut rest = Vec::new();
        for field in fields {
            match self.flattened(&field).or_else(|| self.alike(&field)) {
                Some(entries) => named.extend(entries),
                None => rest.push(field),
            }
        }
        let changed = if rest.is_empty() { Some(Named::new()) } else { self.changed(&rest) };
        named.extend(changed.ok_or_else(|| self.wrong(&rest, of))?);
        Ok(named)
    }

    /// The entries of a flattened field: the struct serializes each of them, under the same name.
    fn flattened(&mut self, field: &Written) -> Option<Named> {
        let entries: Named = match field.json.clone() {
            Field::Struct(fields) => fields.into_iter().collect(),
            Field::Value(Value::Object(entries)) => {
                entries.into_iter().map(|(key, value)| (key, Field::Value(value))).collect()
            }
            Field::Value(_) => return None,
        };
        let place = |(key, json): &(String, Field)| {
            let json = json.clone().into_json();
            let is_entry = |observed: &&&Observed| {
                observed.in_map
                    && observed.key == *key
                    && observed.value.as_ref().is_none_or(|value| *value == json)
            };
            self.after.iter().find(is_entry).copied()
        };
        let observed: Vec<&Observed> = entries.iter().map(place).collect::<Option<_>>()?;
        let inside =
            |observed: &&Observed| observed.inside.is_some_and(|address| field.place.contains(address));
        let elsewhere = |observed: &&Observed| observed.inside.is_none() && self.is_changed(observed);
        let is_flattened = observed.iter().any(inside)
            && observed.iter().all(|observed| observed.inside.is_none() || inside(observed))
            || !observed.is_empty() && observed.iter().all(elsewhere);
        self.after
            .retain(|after| !is_flattened || !observed.iter().any(|taken| std::ptr::eq(*after, *taken)));
        is_flattened.then_some(entries)
    }

    /// The value of the same name, upper and lower case and underscores aside, if it changed: a name alone may be that of another field. On
    /// the wire is what the struct has there, not what was written: a function makes one from the other.
    fn alike(&mut self, field: &Written) -> Option<Named> {
        let mut alike = self.after.iter().enumerate().filter(|(_, observed)| is_called(field, observed));
        let (position, observed) = alike.next().filter(|_| !field.partial)?;
        let is_its = alike.next().is_none() && !field.place.unchanged && self.is_changed(observed);
        let value = observed.value.clone().filter(|_| is_its)?;
        let observed = self.after.remove(position);
        Some(vec![(observed.key.clone(), Field::Value(value))])
    }

    /// What else changed. Each field has changed a value, so if there are as many, they belong together.
    fn changed(&self, fields: &[Written]) -> Option<Named> {
        let changed =
            self.after.iter().filter(|observed| observed.inside.is_none() && self.is_changed(observed));
        let values: Option<Named> = changed
            .map(|observed| Some((observed.key.clone(), Field::Value(observed.value.clone()?))))
            .collect();
        let all_changed = fields.iter().all(|field| !field.place.unchanged && !field.partial);
        values.filter(|values| all_changed && values.len() == fields.len())
    }

    fn is_changed(&self, observed: &Observed) -> bool {
        let before = self.before.iter().find(|before| before.key == observed.key);
        before.is_none_or(|before| before.value != observed.value)
    }

    /// The error of one of these fields: of one that is not serialized at all, or else as the default is, or else of the first.
    fn wrong(&self, fields: &[Written], of: &str) -> Wrong {
        let nothing_changed =
            !self.after.iter().any(|observed| observed.inside.is_none() && self.is_changed(observed));
        let alike = |field: &Written| self.after.iter().find(|observed| is_called(field, observed));
        let without_change = |field: &Written| nothing_changed || field.place.unchanged;
        let is_absent = |field: &&Written| !field.parts && alike(field).is_none() && without_change(field);
        let is_default = |field: &&Written| {
            let is_observed = alike(field).is_some_and(|observed| observed.value.is_some());
            !field.partial && is_observed && without_change(field)
        };
        let absent = fields.iter().find(is_absent);
        let default = fields.iter().find(is_default);
        let Some(field) = absent.or(default).or(fields.first()) else {
            return Wrong { field: "", message: format!("`{of}` has no names") };
        };
        let value = field.json.clone().into_json();
        let message = if absent.is_some() {
            format!(
                "`{of}` does not serialize this field if its value is {value} (`skip_serializing_if`), or not in a way that tells its \
                 name, so it cannot be applied; leave the field out as well, with `if` or `None`"
            )
        } else if default.is_some() {
            format!(
                "`{of}` serializes this field by a function, which makes the same of {value} as of the default, so nothing tells its name; \
                 write a whole value instead of the braces around it, or leave the field out, with `if` or `None`"
            )
        } else if field.parts {
            format!(
                "`{of}` serializes a part of this field, but not the field, so its name is not known; write a whole value \
                 instead of the braces around it"
            )
        } else {
            format!(
                "`{of}` does not serialize this field by reference, and what it serializes does not tell its name; write a \
                 whole value instead of the braces around it"
            )
        };
        Wrong { field: field.place.name, message }
    }
}

/// Whether the names are the same, upper and lower case and underscores aside, and the value is not handed out by reference.
fn is_called(field: &Written, observed: &Observed) -> bool {
    let letters = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    observed.inside.is_none() && letters(field.place.name) == letters(&observed.key)
}
