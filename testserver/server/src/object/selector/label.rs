//! Label selectors, as text and as objects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::lexer::{Token, tokens};
use crate::object::names;

/// A parsed `labelSelector`: all requirements must be true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses the selector syntax; the error is the message of a 400.
    pub(crate) fn parse(input: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(input), at: 0 };
        let mut requirements = Vec::new();
        if *parser.peek() == Token::End {
            return Ok(Self::default());
        }
        loop {
            let begins = matches!(parser.peek(), Token::Word(_) | Token::Not);
            let requirement = parser.requirement();
            requirements.push(requirement.map_err(|why| match begins {
                true => format!("unable to parse requirement: {why}"),
                false => why,
            })?);
            match parser.next() {
                Token::End => return Ok(Self(requirements)),
                Token::Comma if !matches!(parser.peek(), Token::Word(_) | Token::Not) => {
                    return Err(format!("found '{}', expected: identifier after ','", parser.peek().text()));
                }
                Token::Comma => {}
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    /// Reads a plain map of labels, as services and ReplicationControllers have. `None` if it is invalid.
    pub(crate) fn from_labels(labels: &Value) -> Option<Self> {
        let labels = labels.as_object().into_iter().flatten();
        let requirement = |(key, value): (&String, &Value)| {
            Some(Requirement { key: key.clone(), test: Test::In([value.as_str()?.to_string()].into()) })
        };
        labels.map(requirement).collect::<Option<_>>().map(Self)
    }

    /// Reads a selector object: `matchLabels` and `matchExpressions`. `None` if it is invalid.
    pub(crate) fn from_object(selector: &Value) -> Option<Self> {
        let mut requirements = Self::from_labels(&selector["matchLabels"]).map(|labels| labels.0);
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let values = expression["values"].as_array().into_iter().flatten();
            let values: Option<BTreeSet<String>> = values.map(|v| v.as_str().map(Into::into)).collect();
            let test = match expression["operator"].as_str()? {
                "In" => Test::In(values?),
                "NotIn" => Test::NotIn(values?),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                _ => return None,
            };
            requirements.as_mut()?.push(Requirement { key: expression["key"].as_str()?.into(), test });
        }
        requirements.map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels, looked up by key, satisfy all requirements. A missing key satisfies `!=` and `notin`.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| {
            let value = label(&requirement.key);
            match &requirement.test {
                Test::In(set) => value.is_some_and(|v| set.contains(v)),
                Test::NotIn(set) => value.is_none_or(|v| !set.contains(v)),
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::Above(bound) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v > *bound),
                Test::Below(bound) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v < *bound),
            }
        })
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = *self.peek() == Token::Not;
        if negated {
            self.at += 1;
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other if negated => return Err(format!("found '{}', expected: identifier", other.text())),
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        };
        if let Some(problem) = names::qualified_name(&key) {
            return Err(format!("key: Invalid value: {key:?}: {problem}"));
        }
        let test = match self.peek() {
            _ if negated => Test::Absent,
            Token::End | Token::Comma => Test::Exists,
            _ => self.test(&key)?,
        };
        Ok(Requirement { key, test })
    }

    fn test(&mut self, key: &str) -> Result<Test, String> {
        match self.next() {
            Token::Equals | Token::DoubleEquals => Ok(Test::In([self.value(key)?].into())),
            Token::NotEquals => Ok(Test::NotIn([self.value(key)?].into())),
            Token::Word(word) if word == "in" => Ok(Test::In(self.values(key)?)),
            Token::Word(word) if word == "notin" => Ok(Test::NotIn(self.values(key)?)),
            Token::Greater => self.bound(key).map(Test::Above),
            Token::Less => self.bound(key).map(Test::Below),
            other => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        }
    }

    /// An optional value: `a=` means the empty value.
    fn value(&mut self, key: &str) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Comma | Token::Close) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(word) => checked_value(key, word),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Open => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut set = BTreeSet::new();
        loop {
            set.insert(self.value(key)?);
            match self.next() {
                Token::Comma => {}
                Token::Close => return Ok(set),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }

    fn bound(&mut self, key: &str) -> Result<i64, String> {
        let value = self.value(key)?;
        value.parse().map_err(|_| {
            format!("values[0][{key}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        })
    }
}

fn checked_value(key: &str, value: String) -> Result<String, String> {
    match names::label_value(&value) {
        Some(problem) => Err(format!("values[0][{key}]: Invalid value: {value:?}: {problem}")),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector = LabelSelector::parse(selector).unwrap_or_else(|e| panic!("{selector}: {e}"));
        let labels: std::collections::BTreeMap<_, _> = labels.iter().copied().collect();
        selector.matches(|key| labels.get(key).copied())
    }

    #[test]
    fn every_operator_follows_the_rules_for_absent_keys() {
        let labels = [("app", "web"), ("n", "5"), ("empty", "")];
        for yes in [
            "",
            "app",
            "!gone",
            "app=web",
            "app==web",
            "app!=db",
            "gone!=x",
            "app in (db,web)",
            "app notin (db)",
            "gone notin (a)",
            "n>4",
            "n<6",
            "empty=",
            "empty in (,a)",
            "app=web,n=5",
            " app = web , !gone ",
        ] {
            assert!(matches(yes, &labels), "{yes}");
        }
        for no in [
            "gone",
            "!app",
            "app=db",
            "gone=x",
            "app!=web",
            "app in (db)",
            "gone in (a)",
            "app notin (web)",
            "n>5",
            "gone<1",
            "app>1",
        ] {
            assert!(!matches(no, &labels), "{no}");
        }
    }

    #[test]
    fn errors_say_what_was_found_and_expected() {
        for (bad, text) in [
            ("==", "found '==', expected: !, identifier, or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a,", "found '', expected: identifier after ','"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ] {
            assert_eq!(LabelSelector::parse(bad).unwrap_err(), text);
        }
        for bad in ["a in (b", "a in (", "!", "a=b c", "-a=b", "a=-b", "a>x", "a/b/c", ",", "a=(", "ü=1"] {
            LabelSelector::parse(bad).unwrap_err();
        }
    }
}
