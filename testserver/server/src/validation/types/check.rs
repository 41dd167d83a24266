//! A rule of a field, and the values that it is for.

use serde_json::Value;

use super::{
    members,
    rule::{Rule, Subject},
};
use crate::{gotypes::GoType, schema::ErrorList};

/// A rule for a field of a struct.
pub(super) struct Check {
    pub(super) field: &'static str,
    /// Whether it is for the elements of a list or a map, or for the keys of a map.
    target: Target,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Value,
    Elements,
    /// The elements, but the error is that of the whole list.
    Unplaced,
    Keys,
    /// A member of the value.
    Member(&'static str),
}

impl Check {
    pub(super) fn parse(field: &'static str, text: &'static str) -> Option<Self> {
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (target, rule) = match first {
            "each" => (Target::Elements, rest),
            "list" => (Target::Unplaced, rest),
            "key" => (Target::Keys, rest),
            "member" => {
                let (member, rule) = rest.split_once(' ')?;
                (Target::Member(member), rule)
            }
            _ => (Target::Value, text),
        };
        Some(Self { field, target, rule: Rule::parse(rule)? })
    }

    /// The fields of the struct that the rule names.
    #[cfg(test)]
    pub(super) fn members(&self) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(_, names) | Rule::Only(names) | Rule::Union(names) => {
                names.iter().map(|member| members::plain(member).0).collect()
            }
            Rule::With(member, _) => vec![member],
            _ => Vec::new(),
        }
    }

    /// The members of a value that are not looked at, for one because there is another one before them.
    pub(super) fn skipped(&self, owner: &Value, created: bool) -> Vec<&'static str> {
        match &self.rule {
            Rule::Handler(_, names) | Rule::Only(names) => {
                members::others(owner, names).map(|member| members::plain(member).0).collect()
            }
            Rule::Unchecked => vec![self.field],
            Rule::Created if !created => vec![self.field],
            Rule::With(member, value) if owner[member] != **value => vec![self.field],
            _ => Vec::new(),
        }
    }

    /// Whether the other fields are not judged, because this one is missing.
    pub(super) fn stops(&self, owner: &Value) -> bool {
        matches!(self.rule, Rule::Given(true)) && owner[self.field].is_null()
    }

    /// The errors of a field of a struct, or of the struct itself. Values that did not change are not judged.
    pub(super) fn judge(
        &self,
        owner: &Value,
        old: Option<&Value>,
        ty: Option<&GoType>,
        at: &str,
        errors: &mut ErrorList,
    ) {
        let path = match (self.field, at) {
            (".", _) => at.to_owned(),
            (field, "") => field.to_owned(),
            (field, at) => format!("{at}.{field}"),
        };
        let value = if self.field == "." { owner } else { &owner[self.field] };
        let before = old.map(|old| if self.field == "." { old } else { &old[self.field] });
        if before == Some(value) {
            return;
        }
        let pointer = matches!(ty, Some(GoType::Pointer(_)));
        match self.target {
            Target::Value => {
                let subject = Subject { value, old: before, set: pointer, element: false, at: &path };
                self.rule.judge(&subject, errors);
            }
            Target::Member(member) => {
                if !value.is_null() {
                    let (value, at) = (&value[member], format!("{path}.{member}"));
                    let subject = Subject { value, old: None, set: false, element: false, at: &at };
                    self.rule.judge(&subject, errors);
                }
            }
            Target::Elements | Target::Unplaced => {
                let list = value.as_array().into_iter().flatten().enumerate();
                let list = list.map(|(i, value)| (format!("{path}[{i}]"), value));
                let map = value.as_object().into_iter().flatten().map(|(_, value)| (path.clone(), value));
                for (place, value) in list.chain(map) {
                    let element = self.target == Target::Elements;
                    let at = if element { &place } else { &path };
                    self.rule.judge(&Subject { value, old: None, set: true, element, at }, errors);
                }
            }
            Target::Keys => {
                for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
                    let value = &Value::from(key.as_str());
                    let subject = Subject { value, old: None, set: true, element: false, at: &path };
                    self.rule.judge(&subject, errors);
                }
            }
        }
    }
}
