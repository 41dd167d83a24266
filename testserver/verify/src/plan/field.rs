//! Paths of fields: `spec.rules[0].name`.

use std::fmt;

use serde_json::Value;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    Key(String),
    Item(usize),
}

/// Where a field of an object is. Keys have letters, digits, `-` and `_` only, so that a path is one word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FieldPath(pub(crate) Vec<Part>);

impl FieldPath {
    /// The path of a member; `None` if the key is no word.
    pub(crate) fn key(&self, key: &str) -> Option<Self> {
        let is_word = !key.is_empty()
            && key.bytes().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_'));
        is_word.then(|| self.with(Part::Key(key.to_owned())))
    }

    /// The path of an item.
    pub(crate) fn item(&self, at: usize) -> Self {
        self.with(Part::Item(at))
    }

    fn with(&self, part: Part) -> Self {
        Self(self.0.iter().cloned().chain([part]).collect())
    }

    /// `None` for what is no path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut path = Self::default();
        for word in text.split('.') {
            let (key, items) = word.split_at(word.find('[').unwrap_or(word.len()));
            path = path.key(key)?;
            let mut rest = items;
            while !rest.is_empty() {
                let (at, after) = rest.strip_prefix('[')?.split_once(']')?;
                path = path.item(at.parse().ok()?);
                rest = after;
            }
        }
        Some(path)
    }

    /// The value there.
    pub(crate) fn get<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(object, |value, part| match part {
            Part::Key(key) => value.get(key),
            Part::Item(at) => value.get(at),
        })
    }

    /// Changes the value there, or removes it. False where there is no place for it.
    pub(crate) fn set(&self, object: &mut Value, value: Option<Value>) -> bool {
        let Some((last, parents)) = self.0.split_last() else { return false };
        let mut place = object;
        for part in parents {
            let next = match part {
                Part::Key(key) => {
                    place.as_object_mut().map(|fields| fields.entry(key).or_insert(Value::Null))
                }
                Part::Item(at) => place.get_mut(at),
            };
            let Some(next) = next else { return false };
            if next.is_null() {
                *next = Value::Object(serde_json::Map::new());
            }
            place = next;
        }
        match (last, place, value) {
            (Part::Key(key), Value::Object(fields), Some(value)) => {
                fields.insert(key.clone(), value);
                true
            }
            (Part::Key(key), Value::Object(fields), None) => fields.remove(key).is_some(),
            (Part::Item(at), Value::Array(items), Some(value)) if *at < items.len() => {
                items[*at] = value;
                true
            }
            (Part::Item(at), Value::Array(items), None) if *at < items.len() => {
                items.remove(*at);
                true
            }
            _ => false,
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match part {
                Part::Key(key) if at == 0 => f.write_str(key)?,
                Part::Key(key) => write!(f, ".{key}")?,
                Part::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        for text in ["spec.text", "spec.rules[0].hosts[12]", "data.a-b_C1"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "spec.", "spec..a", "spec[a]", "spec[0", "spec.a b", "spec.[0]"] {
            assert_eq!(FieldPath::parse(text), None, "{text}");
        }
        assert_eq!(FieldPath::default().key("a.b"), None);
    }

    #[test]
    fn values_are_read_changed_and_removed() {
        let mut object = json!({"spec": {"rules": [{"host": "a"}], "text": "one"}});
        let path = |text: &str| FieldPath::parse(text).unwrap();
        assert_eq!(path("spec.rules[0].host").get(&object), Some(&json!("a")));
        assert_eq!(path("spec.rules[1].host").get(&object), None);
        assert!(path("spec.rules[0].host").set(&mut object, Some(json!("b"))));
        assert!(path("spec.tls.name").set(&mut object, Some(json!("c"))));
        assert!(path("spec.text").set(&mut object, None));
        assert!(!path("spec.text").set(&mut object, None), "it is gone");
        assert!(!path("spec.rules[1]").set(&mut object, Some(json!({}))));
        assert_eq!(object, json!({"spec": {"rules": [{"host": "b"}], "tls": {"name": "c"}}}));
        assert!(path("spec.rules[0]").set(&mut object, None));
        assert_eq!(object["spec"]["rules"], json!([]));
    }
}
