//! Values of Secrets, which are never printed.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::State;

const HIDDEN: &str = "<hidden>";

/// The values of all Secrets that were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden(BTreeSet<String>);

impl Hidden {
    /// Remembers the Secrets of a state.
    pub(crate) fn learn(&mut self, state: &State) {
        state.objects_of("secrets").for_each(|secret| self.learn_secret(secret));
    }

    /// Remembers the values of a Secret.
    pub(crate) fn learn_secret(&mut self, secret: &Value) {
        for value in secret["data"].as_object().into_iter().flat_map(|data| data.values()) {
            let Some(encoded) = value.as_str() else { continue };
            self.0.insert(encoded.to_owned());
            // Other objects may have the decoded value, and texts such as JSON and the `Debug` of an error its escaped form.
            if let Ok(text) = String::from_utf8(STANDARD.decode(encoded).unwrap_or_default()) {
                self.0.insert(Value::from(text.as_str()).to_string().trim_matches('"').to_owned());
                self.0.insert(text);
            }
        }
    }

    /// The text without values of Secrets. Short ones, such as `true`, are in many texts, and are hidden only where a Secret has them.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Long ones first: one may be part of another.
        let mut values: Vec<_> = self.0.iter().filter(|value| value.len() >= 6).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        for value in values {
            text = text.replace(value.as_str(), HIDDEN);
        }
        text
    }

    /// A value at a path of an object, short enough for a line.
    pub(crate) fn value(&self, resource: &str, path: &str, value: &Value) -> String {
        let secret = resource == "secrets"
            && [".data", ".stringData", ".metadata.annotations"].iter().any(|part| path.starts_with(part));
        if secret && !value.is_null() {
            return HIDDEN.to_owned();
        }
        let text = self.text(&value.to_string());
        match text.char_indices().nth(80) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ObjectName;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_hidden_everywhere() {
        let secret = json!({"metadata": {"name": "a"}, "data": {"password": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5", "flag": "dHJ1ZQ=="}});
        let mut hidden = Hidden::default();
        hidden.learn(&State([(ObjectName::of("secrets", &secret), secret)].into()));
        assert_eq!(hidden.value("secrets", ".data.flag", &json!("dHJ1ZQ==")), "<hidden>");
        assert_eq!(
            hidden.value("configmaps", ".data.url", &json!("db://correct horse battery@db")),
            "\"db://<hidden>@db\""
        );
        assert_eq!(hidden.text("Y29ycmVjdCBob3JzZSBiYXR0ZXJ5 and true"), "<hidden> and true");
        assert_eq!(hidden.value("configmaps", ".data.on", &json!("true")), "\"true\"");
    }

    #[test]
    fn values_with_lines_and_quotes_are_hidden_too() {
        let value = "-----BEGIN KEY-----\nabc\n{\"a\": 1}\n-----END KEY-----\n";
        let secret = json!({"metadata": {"name": "a"}, "data": {"key": STANDARD.encode(value)}});
        let mut hidden = Hidden::default();
        hidden.learn(&State([(ObjectName::of("secrets", &secret), secret)].into()));
        assert_eq!(hidden.value("configmaps", ".data.copy", &json!(value)), "\"<hidden>\"");
        assert_eq!(hidden.text(&format!("{:?}", Err::<(), _>(value))), "Err(\"<hidden>\")");
        assert_eq!(hidden.text(value), "<hidden>");
    }
}
