//! Field selectors: comparisons of fields.

use serde_json::Value;

/// A parsed `fieldSelector`: comparisons of fields, all of which must be true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
    reads: Option<FieldSource>,
}

/// Where the value of a selectable field comes from, if not from the path of its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldSource {
    /// The first of these paths that has a value.
    pub(crate) paths: &'static [&'static str],
    /// The value without any.
    pub(crate) default: &'static str,
}

impl FieldSelector {
    /// Parses `a=b,c!=d`; `check` refuses fields that are not selectable. The error is the message of a 400.
    pub(crate) fn parse(input: &str, check: impl Fn(&str) -> Result<(), String>) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split(input) {
            if part.is_empty() {
                continue;
            }
            let term = term(&part)
                .ok_or_else(|| format!("invalid selector: '{part}'; can't understand '{part}'"))?;
            check(&term.field)?;
            terms.push(term);
        }
        Ok(Self(terms))
    }

    /// Renames the fields.
    pub(crate) fn renamed(self, name: impl Fn(&str) -> String) -> Self {
        Self(self.0.into_iter().map(|term| Term { field: name(&term.field), ..term }).collect())
    }

    /// Sets where the values of fields come from.
    pub(crate) fn reading(self, source: impl Fn(&str) -> Option<FieldSource>) -> Self {
        Self(self.0.into_iter().map(|term| Term { reads: source(&term.field), ..term }).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name that an object must have, if the selector requires one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.iter().find(|t| t.equal && t.field == "metadata.name").map(|t| t.value.as_str())
    }

    /// Whether the fields of an object match; a missing field equals the empty string.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|term| (term.text(object) == term.value) == term.equal)
    }
}

impl Term {
    fn text(&self, object: &Value) -> String {
        let Some(source) = self.reads else { return field_text(object, &self.field) };
        let mut texts = source.paths.iter().map(|path| field_text(object, path));
        texts.find(|text| !text.is_empty()).unwrap_or_else(|| source.default.into())
    }
}

fn field_text(object: &Value, field: &str) -> String {
    let at = field.split('.').filter(|p| !p.is_empty()).try_fold(object, |value, part| value.get(part));
    match at {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(_) | Value::Number(_)) => at.map(Value::to_string).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Splits at commas that are not escaped.
fn split(input: &str) -> Vec<String> {
    let (mut parts, mut current, mut escaped) = (Vec::new(), String::new(), false);
    for c in input.chars() {
        match c {
            ',' if !escaped => parts.push(std::mem::take(&mut current)),
            _ => current.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(current);
    parts
}

fn term(part: &str) -> Option<Term> {
    let at = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(at);
    let (equal, value) = if let Some(value) = rest.strip_prefix("!=") {
        (false, value)
    } else {
        (true, rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?)
    };
    Some(Term { field: field.into(), value: unescape(value)?, equal, reads: None })
}

/// Unescapes a value: a backslash escapes comma, equals sign and itself; any other use of the three is an error.
fn unescape(value: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next().filter(|c| matches!(c, '\\' | ',' | '='))?),
            '=' | ',' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_compared_as_text() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "hostNetwork": true, "weird": "x=y,z"}});
        let matches = |s: &str| FieldSelector::parse(s, |_| Ok(())).unwrap().matches(&pod);
        assert!(matches("") && matches("metadata.name=a") && matches("metadata.name==a,spec.nodeName!=n2"));
        assert!(matches("spec.gone=") && matches("spec.gone!=x") && matches("spec.hostNetwork=true"));
        assert!(matches(r"spec.weird=x\=y\,z") && matches(".spec.nodeName=n1"));
        assert!(!matches("metadata.name!=a") && !matches("spec.gone=x"));
    }

    #[test]
    fn unknown_fields_and_broken_syntax_are_refused() {
        let check = |f: &str| if f == "metadata.name" { Ok(()) } else { Err(format!("not {f}")) };
        let parse = |s: &str| FieldSelector::parse(s, check).unwrap_err();
        assert_eq!(parse("spec.x=1"), "not spec.x");
        assert!(parse("metadata.name").contains("can't understand"));
        assert!(parse("metadata.name=a=b").contains("can't understand"));
    }
}
