//! CEL rules of `anyOf` and `oneOf` branches. Servers allow rules outside of the branches only, so a rule of one branch moves out,
//! guarded by the condition that the value matches that branch.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{
    combine::append_new,
    node::{INT_OR_STRING, Node, NodeType, RULES, flag, node_type, property, required},
};
use crate::property_name::escape_property;

/// Removes and returns the rules of every branch.
pub(super) fn take_rules(branches: &mut [Node]) -> Vec<Vec<Value>> {
    let rules = branches.iter_mut().map(|branch| match branch.remove(RULES) {
        Some(Value::Array(rules)) => rules,
        _ => Vec::new(),
    });
    rules.collect()
}

/// Adds the rules of the `branches` of `node` to `merged`, their union. If that is no object, no condition can distinguish the
/// branches, and the rules are dropped, like all validations of an open node.
pub(super) fn put_rules(
    node: &Node,
    merged: &mut Node,
    branches: &[Node],
    tag: Option<&str>,
    rules: Vec<Vec<Value>>,
) {
    if rules.iter().all(Vec::is_empty) || node_type(merged) != Some(NodeType::Type("object".into())) {
        return;
    }
    let shared = |rule: &Value| rules.iter().all(|others| others.contains(rule));
    let mut all = Vec::new();
    for (n, rules_of_branch) in rules.iter().enumerate() {
        let condition = NoMatch::of(n, branches, tag, &[node, merged]);
        let guarded = rules_of_branch.iter().filter_map(|rule| {
            if shared(rule) { Some(rule.clone()) } else { condition.as_ref()?.guard(rule) }
        });
        append_new(&mut all, guarded.collect());
    }
    if !all.is_empty() {
        merged.insert(RULES.into(), all.into());
    }
}

/// Removes the rules of `node` that also belong to a branch: they apply to values of that branch only.
pub(super) fn remove_branch_rules(node: &mut Node, rules: &[Vec<Value>]) {
    if let Some(Value::Array(own)) = node.get_mut(RULES) {
        own.retain(|rule| !rules.iter().any(|of_branch| of_branch.contains(rule)));
    }
}

/// The condition under which a value does *not* match a branch: any of these.
struct NoMatch(Vec<Mismatch>);

/// A reason why a value does not match a branch.
enum Mismatch {
    /// The tag has none of these values.
    OtherTag(String, Vec<String>),
    /// A required field is absent.
    Lacks(String),
    /// All of the fields are absent.
    LacksAll(Vec<String>),
    /// It matches an earlier branch, which has these fields: serde uses the first one that matches.
    MatchesEarlier(Vec<String>),
}

impl Mismatch {
    /// The CEL expression for the variable `value`.
    fn expression(&self, value: &str) -> String {
        let has = |fields: &[String]| {
            fields.iter().map(|field| format!("has({value}.{field})")).collect::<Vec<_>>()
        };
        match self {
            Self::OtherTag(tag, values) => match &values[..] {
                [one] => format!("{value}.{tag} != {one}"),
                many => format!("!({value}.{tag} in [{}])", many.join(", ")),
            },
            Self::Lacks(field) => format!("!has({value}.{field})"),
            Self::LacksAll(fields) => format!("!({})", has(fields).join(" || ")),
            Self::MatchesEarlier(fields) => format!("({})", has(fields).join(" && ")),
        }
    }
}

impl NoMatch {
    fn of(n: usize, branches: &[Node], tag: Option<&str>, nodes: &[&Node]) -> Option<Self> {
        let branch = &branches[n];
        if let Some(tag) = tag {
            let values = property(branch, tag)?.get("enum")?.as_array()?;
            let values = values.iter().filter_map(Value::as_str).map(quote).collect();
            return Some(Self(vec![Mismatch::OtherTag(escape_property(tag)?.into_owned(), values)]));
        }
        let own = distinguishing_fields(branch, branches, nodes);
        let earlier = branches[..n].iter().map(|branch| distinguishing_fields(branch, branches, nodes));
        let earlier =
            earlier.filter(|fields| !fields.is_empty() && fields.iter().all(|field| !own.contains(field)));
        let mut reasons: Vec<Mismatch> = earlier.map(Mismatch::MatchesEarlier).collect();
        if own.is_empty() {
            // The branch has no distinguishing field: a value matches if it has any field of only this branch.
            let fields = field_names(branch).filter(|name| {
                branches.iter().filter(|branch| property(branch, name).is_some()).count() == 1
            });
            let fields: Vec<String> = fields.filter_map(|name| accessible_field(nodes, name)).collect();
            if fields.is_empty() {
                return None;
            }
            reasons.push(Mismatch::LacksAll(fields));
        }
        reasons.extend(own.into_iter().map(Mismatch::Lacks));
        Some(Self(reasons))
    }

    /// The rule, restricted to values that match this branch. For a rule about changes the old value must match too.
    fn guard(&self, rule: &Value) -> Option<Value> {
        let mut rule = rule.clone();
        let (expression, about_changes) = strip_comments(rule.get("rule")?.as_str()?);
        let of = |value: &str| -> Vec<String> {
            self.0.iter().map(|mismatch| mismatch.expression(value)).collect()
        };
        let mut parts = of("self");
        if about_changes && rule.get("optionalOldSelf") == Some(&json!(true)) {
            parts.push(format!("(oldSelf.hasValue() && ({}))", of("oldSelf.value()").join(" || ")));
        } else if about_changes {
            parts.extend(of("oldSelf"));
        }
        parts.push(format!("({})", expression.trim()));
        rule["rule"] = parts.join(" || ").into();
        Some(rule)
    }
}

/// The fields that distinguish `branch`: required in it, but not in all branches.
fn distinguishing_fields(branch: &Node, branches: &[Node], nodes: &[&Node]) -> Vec<String> {
    required(branch)
        .filter(|name| branches.iter().any(|other| !required(other).any(|required| required == *name)))
        .filter_map(|name| accessible_field(nodes, name))
        .collect()
}

fn field_names(node: &Node) -> impl Iterator<Item = &str> {
    node.get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
}

/// The escaped name of a field in CEL, if CEL can access the field: only fields with a type can be accessed.
fn accessible_field(nodes: &[&Node], name: &str) -> Option<String> {
    let typed = |field: &Node| field.contains_key("type") || flag(field, INT_OR_STRING);
    let accessible = nodes.iter().filter_map(|node| property(node, name)).any(typed);
    accessible.then(|| escape_property(name)).flatten().map(Cow::into_owned)
}

fn quote(text: &str) -> String {
    if text.chars().all(|c| !c.is_control() && c != '\'' && c != '\\') {
        format!("'{text}'")
    } else {
        json!(text).to_string()
    }
}

/// The expression without comments, which would swallow appended code, and whether it uses `oldSelf`.
fn strip_comments(expression: &str) -> (String, bool) {
    let (mut code, mut old_self, mut rest) = (String::new(), false, expression);
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        let ident = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let raw = ident > 0 && ident < 3 && rest[..ident].contains(['r', 'R']);
        let quoted = rest[ident..].starts_with(['\'', '"'])
            && (ident == 0 || raw || rest[..ident].eq_ignore_ascii_case("b"));
        let end = match (quoted, ident) {
            (true, _) => ident + literal_len(&rest[ident..], raw),
            (false, 0) => first.len_utf8(),
            (false, ident) => ident,
        };
        old_self |= &rest[..end] == "oldSelf";
        code.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    (code, old_self)
}

/// The length of the string literal at the start.
fn literal_len(text: &str, raw: bool) -> usize {
    let quote = &text[..1];
    let quote = if text.starts_with(&quote.repeat(3)) { quote.repeat(3) } else { quote.to_owned() };
    let mut at = quote.len();
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with(&quote) {
            return at + quote.len();
        }
        at += c.len_utf8();
        if c == '\\' && !raw {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{quote, strip_comments};

    #[test]
    fn comments_are_stripped_and_string_literals_kept() {
        for (expression, code, old_self) in [
            ("self.a > 0", "self.a > 0", false),
            ("self == oldSelf // 'x", "self == oldSelf ", true),
            ("self.oldSelfish != 'oldSelf // no'", "self.oldSelfish != 'oldSelf // no'", false),
            (r#"self == "\"oldSelf" && true"#, r#"self == "\"oldSelf" && true"#, false),
            (r"self == r'\' && self == oldSelf", r"self == r'\' && self == oldSelf", true),
            ("self == '''oldSelf ' // x''' // y\n&& true", "self == '''oldSelf ' // x''' \n&& true", false),
            ("'unfinished \\", "'unfinished \\", false),
            ("'ü' != self // ü", "'ü' != self ", false),
        ] {
            assert_eq!(strip_comments(expression), (code.to_owned(), old_self), "{expression}");
        }
    }

    #[test]
    fn strings_are_quoted_for_cel() {
        assert_eq!(quote("a"), "'a'");
        assert_eq!(quote("it's"), r#""it's""#);
    }
}
