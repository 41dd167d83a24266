//! The subset of JSONPath that printer columns use.

use serde_json::Value;

/// The subset of Kubernetes' JSONPath for printer columns: members, indexes, `[*]` and `[?(@.a=="b")]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonPath(Vec<PathStep>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Member(String),
    Index(i64),
    All,
    Where { path: JsonPath, equal: bool, value: String },
}

impl JsonPath {
    /// `None` for unsupported syntax.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        let mut rest = text.trim_start_matches('$');
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside)?,
                None => member(rest.strip_prefix('.').unwrap_or(rest))?,
            };
            steps.extend(step);
            rest = after;
        }
        Some(Self(steps))
    }

    /// All values at the path, in order.
    pub(super) fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        self.0
            .iter()
            .fold(vec![root], |values, step| values.into_iter().flat_map(|value| step.apply(value)).collect())
    }
}

impl PathStep {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Member(name), value) => value.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(items)) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let index = if *index < 0 { index + length } else { *index };
                usize::try_from(index).ok().and_then(|index| items.get(index)).into_iter().collect()
            }
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Where { path, equal, value }, Value::Array(items)) => {
                let holds =
                    |item: &&Value| path.find(item).iter().any(|node| plain(node) == *value) == *equal;
                items.iter().filter(holds).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// A value as text, for cells and comparisons.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn member(text: &str) -> Option<(Option<PathStep>, &str)> {
    let (mut name, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '.' | '[' if !escaped => return Some((step(name), &text[at..])),
            c => {
                name.push(c);
                escaped = false;
            }
        }
    }
    Some((step(name), ""))
}

fn step(name: String) -> Option<PathStep> {
    match name.as_str() {
        "" => None,
        "*" => Some(PathStep::All),
        _ => Some(PathStep::Member(name)),
    }
}

fn bracket(inside: &str) -> Option<(Option<PathStep>, &str)> {
    if let Some(filter) = inside.strip_prefix("?(") {
        let (condition, rest) = filter.split_once(")]")?;
        let (path, equal, value) = match condition.split_once("==") {
            Some((path, value)) => (path, true, value),
            None => condition.split_once("!=").map(|(path, value)| (path, false, value))?,
        };
        let path = JsonPath::parse(path.trim().strip_prefix('@')?)?;
        return Some((Some(PathStep::Where { path, equal, value: unquote(value.trim()).into() }), rest));
    }
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        let (name, rest) = inside[1..].split_once(&format!("{quote}]"))?;
        return Some((Some(PathStep::Member(name.replace('\\', ""))), rest));
    }
    let (index, rest) = inside.split_once(']')?;
    let step = if index == "*" { PathStep::All } else { PathStep::Index(index.parse().ok()?) };
    Some((Some(step), rest))
}

fn unquote(text: &str) -> &str {
    text.trim_matches(|c| c == '\'' || c == '"')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_printer_columns() {
        let object =
            json!({"a": {"b": [{"t": "x", "v": 1}, {"t": "y", "v": 2}], "k/l.m": "deep"}, "n": null});
        let find = |path: &str| {
            JsonPath::parse(path).unwrap().find(&object).into_iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(find(".a.b[0].v"), ["1"]);
        assert_eq!(find("{.a.b[-1].t}"), ["y"]);
        assert_eq!(find(".a.b[*].v"), ["1", "2"]);
        assert_eq!(find(r#".a.b[?(@.t=="y")].v"#), ["2"]);
        assert_eq!(find(".a.b[?(@.t!='y')].v"), ["1"]);
        assert_eq!(find(r".a.k/l\.m"), ["deep"]);
        assert_eq!(find(".a['k/l.m']"), ["deep"]);
        assert!(find(".a.zz.b").is_empty() && find(".a.b.c").is_empty());
        assert!(JsonPath::parse(".a[x]").is_none() && JsonPath::parse(".a[?(@.b)]").is_none());
    }
}
