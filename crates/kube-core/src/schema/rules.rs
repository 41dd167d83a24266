//! CEL rules of alternatives. Servers take rules outside of `anyOf` and `oneOf` only: those of one branch move out, with the
//! condition that the value is of that branch before them.

use serde_json::{Value, json};

use super::{
    Node,
    keywords::{INT_OR_STRING, RULES, flag, property, required},
    merge::{Kind, append_new, kind},
};

/// Takes the rules out of every branch.
pub(super) fn take(branches: &mut [Node]) -> Vec<Vec<Value>> {
    let rules = branches.iter_mut().map(|branch| match branch.remove(RULES) {
        Some(Value::Array(rules)) => rules,
        _ => Vec::new(),
    });
    rules.collect()
}

/// Puts the rules of the `branches` of `node` into `merged`, which allows what any of them does. Where a value that is no object may be of
/// several branches, no rule can tell them apart: the rules go, as all that is said of an open node.
pub(super) fn put(
    node: &Node,
    merged: &mut Node,
    branches: &[Node],
    tag: Option<&str>,
    rules: Vec<Vec<Value>>,
) {
    if rules.iter().all(Vec::is_empty) || kind(merged) != Some(Kind::Type("object".into())) {
        return;
    }
    let shared = |rule: &Value| rules.iter().all(|others| others.contains(rule));
    let mut all = Vec::new();
    for (n, rules_of_branch) in rules.iter().enumerate() {
        let condition = Condition::of(n, branches, tag, &[node, merged]);
        let guarded = rules_of_branch.iter().filter_map(|rule| {
            if shared(rule) { Some(rule.clone()) } else { condition.as_ref()?.guard(rule) }
        });
        append_new(&mut all, guarded.collect());
    }
    if !all.is_empty() {
        merged.insert(RULES.into(), all.into());
    }
}

/// Drops the rules of `node` that are those of a branch: only a value of that branch must follow them.
pub(super) fn leave_to_branches(node: &mut Node, rules: &[Vec<Value>]) {
    if let Some(Value::Array(own)) = node.get_mut(RULES) {
        own.retain(|rule| !rules.iter().any(|of_branch| of_branch.contains(rule)));
    }
}

/// When a value is *not* of a branch: where any of these holds.
struct Condition(Vec<Not>);

/// A reason why a value is not of a branch.
enum Not {
    /// The tag has none of these values.
    Tagged(String, Vec<String>),
    /// A required field is absent.
    Without(String),
    /// None of the fields is there.
    WithoutAny(Vec<String>),
    /// It is of an earlier branch, which has these fields: serde takes the first one that fits.
    Earlier(Vec<String>),
}

impl Not {
    /// The expression for the value that is called `value`.
    fn of(&self, value: &str) -> String {
        let has = |fields: &[String]| {
            fields.iter().map(|field| format!("has({value}.{field})")).collect::<Vec<_>>()
        };
        match self {
            Self::Tagged(tag, values) => match &values[..] {
                [one] => format!("{value}.{tag} != {one}"),
                many => format!("!({value}.{tag} in [{}])", many.join(", ")),
            },
            Self::Without(field) => format!("!has({value}.{field})"),
            Self::WithoutAny(fields) => format!("!({})", has(fields).join(" || ")),
            Self::Earlier(fields) => format!("({})", has(fields).join(" && ")),
        }
    }
}

impl Condition {
    fn of(n: usize, branches: &[Node], tag: Option<&str>, places: &[&Node]) -> Option<Self> {
        let branch = &branches[n];
        if let Some(tag) = tag {
            let values = property(branch, tag)?.get("enum")?.as_array()?;
            let values = values.iter().filter_map(Value::as_str).map(quote).collect();
            return Some(Self(vec![Not::Tagged(escape(tag)?, values)]));
        }
        let own = marks(branch, branches, places);
        let earlier = branches[..n].iter().map(|branch| marks(branch, branches, places));
        let earlier =
            earlier.filter(|marks| !marks.is_empty() && marks.iter().all(|mark| !own.contains(mark)));
        let mut reasons: Vec<Not> = earlier.map(Not::Earlier).collect();
        if own.is_empty() {
            // Nothing of it is always there: then it is there where anything of it is.
            let fields = names(branch).filter(|name| {
                branches.iter().filter(|branch| property(branch, name).is_some()).count() == 1
            });
            let fields: Vec<String> = fields.filter_map(|name| visible(places, name)).collect();
            if fields.is_empty() {
                return None;
            }
            reasons.push(Not::WithoutAny(fields));
        }
        reasons.extend(own.into_iter().map(Not::Without));
        Some(Self(reasons))
    }

    /// The rule for values of this branch only; one about changes for those that were of it before, too.
    fn guard(&self, rule: &Value) -> Option<Value> {
        let mut rule = rule.clone();
        let (expression, about_changes) = scan(rule.get("rule")?.as_str()?);
        let of = |value: &str| -> Vec<String> { self.0.iter().map(|not| not.of(value)).collect() };
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

/// The fields by which a value is known to be of `branch`: required there, and not everywhere.
fn marks(branch: &Node, branches: &[Node], places: &[&Node]) -> Vec<String> {
    required(branch)
        .filter(|name| branches.iter().any(|other| !required(other).any(|required| required == *name)))
        .filter_map(|name| visible(places, name))
        .collect()
}

fn names(node: &Node) -> impl Iterator<Item = &str> {
    node.get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str))
}

/// A field as CEL names it, where it can be seen there: nothing without a type can.
fn visible(places: &[&Node], name: &str) -> Option<String> {
    let typed = |field: &Node| field.contains_key("type") || flag(field, INT_OR_STRING);
    let seen = places.iter().filter_map(|node| property(node, name)).any(typed);
    seen.then(|| escape(name)).flatten()
}

/// <https://kubernetes.io/docs/reference/using-api/cel/#escaping>
fn escape(name: &str) -> Option<String> {
    const KEYWORDS: &[&str] = &[
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    let start = |c: char| c.is_ascii_alphabetic() || "_.-/".contains(c);
    if !name.starts_with(start) || !name.chars().all(|c| start(c) || c.is_ascii_digit()) {
        return None;
    }
    if KEYWORDS.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

fn quote(text: &str) -> String {
    if text.chars().all(|c| !c.is_control() && c != '\'' && c != '\\') {
        format!("'{text}'")
    } else {
        json!(text).to_string()
    }
}

/// An expression without its comments (what is put behind it would be a part of the last one), and whether it names `oldSelf`.
fn scan(expression: &str) -> (String, bool) {
    let (mut code, mut old_self, mut rest) = (String::new(), false, expression);
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        let word = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let raw = word > 0 && word < 3 && rest[..word].contains(['r', 'R']);
        let quoted = rest[word..].starts_with(['\'', '"'])
            && (word == 0 || raw || rest[..word].eq_ignore_ascii_case("b"));
        let end = match (quoted, word) {
            (true, _) => word + literal(&rest[word..], raw),
            (false, 0) => first.len_utf8(),
            (false, word) => word,
        };
        old_self |= &rest[..end] == "oldSelf";
        code.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    (code, old_self)
}

/// The length of the text in quotes at the start.
fn literal(text: &str, raw: bool) -> usize {
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
    use super::{escape, quote, scan};

    #[test]
    fn comments_and_texts_are_no_code() {
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
            assert_eq!(scan(expression), (code.to_owned(), old_self), "{expression}");
        }
    }

    #[test]
    fn names_and_texts_are_written_as_cel_reads_them() {
        assert_eq!(escape("plain").as_deref(), Some("plain"));
        assert_eq!(
            escape("some-thing.x/y__z").as_deref(),
            Some("some__dash__thing__dot__x__slash__y__underscores__z")
        );
        assert_eq!(escape("in").as_deref(), Some("__in__"));
        assert_eq!(escape("1st"), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(quote("a"), "'a'");
        assert_eq!(quote("it's"), r#""it's""#);
    }
}
