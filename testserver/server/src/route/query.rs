//! Decoded query parameters.

/// Decoded query parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Keeps invalid percent escapes, as Go does.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |raw: &str| decode(raw, true).unwrap_or_else(|| raw.to_string());
            (text(key), text(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a key; empty values count as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, v)| k == key && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// The first value of a key, also an empty one.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    /// Every value of a key, also empty ones.
    pub(crate) fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// `1`, `true` in any case, and a key without value are true.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .is_some_and(|(_, v)| matches!(v.to_ascii_lowercase().as_str(), "" | "1" | "true" | "t" | "yes"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }
}

/// Decodes percent encoding; `None` for an invalid escape or invalid UTF-8.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus_is_space => out.push(b' '),
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_flags_are_lenient() {
        let query = Query::parse("labelSelector=a%3Db+c&watch&limit=&dryRun=All&dryRun=x&force=TRUE&bad=%zz");
        assert_eq!((query.get("labelSelector"), query.get("limit")), (Some("a=b c"), None));
        assert!(query.flag("watch") && query.flag("force") && !query.flag("limits"));
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", "x"]);
        assert_eq!(query.get("bad"), Some("%zz"));
    }
}
