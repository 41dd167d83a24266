//! Reads a JSON object from the text of an attribute.
//!
//! serde_json can, but as a dependency of a macro it is compiled for the host in addition to the one of the program.

use std::collections::BTreeMap;

/// A value of a JSON object.
#[derive(Debug)]
pub(super) struct Value<'a> {
    /// The value as it is written.
    pub(super) source: &'a str,
    /// The text, if the value is a string.
    pub(super) text: Option<String>,
}

/// The values by key. The last value of a key counts, as in serde_json. The error says what was found where, and what is possible there.
///
/// The contents of lists and of objects inside are not checked: no attribute has such a value, so each is an error in the end.
pub(super) fn object(text: &str) -> Result<BTreeMap<String, Value<'_>>, String> {
    let mut reader = Reader { text, rest: text };
    let mut fields = BTreeMap::new();
    reader.expect("{", "`{`")?;
    reader.space();
    let mut more = !reader.skip("}");
    while more {
        let key = reader.string("a key in quotes")?;
        reader.expect(":", "`:`")?;
        fields.insert(key, reader.value()?);
        reader.space();
        more = reader.skip(",");
        if !more {
            reader.expect("}", "`,` or `}`")?;
        }
    }
    reader.space();
    if reader.rest.is_empty() { Ok(fields) } else { Err(reader.instead_of("the end")) }
}

const ESCAPES: [(&str, char); 8] = [
    ("\"", '"'),
    ("\\", '\\'),
    ("/", '/'),
    ("b", '\u{8}'),
    ("f", '\u{c}'),
    ("n", '\n'),
    ("r", '\r'),
    ("t", '\t'),
];

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    fn skip(&mut self, expected: &str) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips white space and a text, which the error calls `name`.
    fn expect(&mut self, expected: &str, name: &str) -> Result<(), String> {
        self.space();
        if self.skip(expected) { Ok(()) } else { Err(self.instead_of(name)) }
    }

    fn value(&mut self) -> Result<Value<'a>, String> {
        self.space();
        let start = self.rest;
        let mut text = None;
        match start.chars().next() {
            Some('"') => text = Some(self.string("a string")?),
            Some('-' | '0'..='9') => self.number()?,
            Some('[' | '{') => self.nested()?,
            _ if ["true", "false", "null"].into_iter().any(|word| self.skip(word)) => {}
            _ => return Err(self.instead_of("a value")),
        }
        Ok(Value { source: &start[..start.len() - self.rest.len()], text })
    }

    fn number(&mut self) -> Result<(), String> {
        self.skip("-");
        if !self.skip("0") {
            self.digits()?;
        }
        if self.skip(".") {
            self.digits()?;
        }
        if self.skip("e") || self.skip("E") {
            let _sign = self.skip("+") || self.skip("-");
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), String> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == self.rest.len() {
            return Err(self.instead_of("a digit"));
        }
        self.rest = rest;
        Ok(())
    }

    /// Skips a list or an object up to its closing bracket, which is not one in a string.
    fn nested(&mut self) -> Result<(), String> {
        let mut open = 0;
        loop {
            while self.rest.starts_with('"') {
                self.string("a string")?;
            }
            match self.character("`]` or `}`")? {
                '[' | '{' => open += 1,
                ']' | '}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn string(&mut self, name: &str) -> Result<String, String> {
        self.expect("\"", name)?;
        let mut text = String::new();
        while !self.skip("\"") {
            if self.rest.starts_with(|c| c < ' ') {
                return Err(self.instead_of("an escape of this control character"));
            }
            text.push(if self.skip("\\") { self.escape()? } else { self.character("`\"`")? });
        }
        Ok(text)
    }

    fn character(&mut self, name: &str) -> Result<char, String> {
        let mut rest = self.rest.chars();
        let character = rest.next().ok_or_else(|| self.instead_of(name))?;
        self.rest = rest.as_str();
        Ok(character)
    }

    /// The character of an escape, whose backslash was read.
    fn escape(&mut self) -> Result<char, String> {
        if self.skip("u") {
            return self.code_units();
        }
        let found = ESCAPES.into_iter().find(|(escape, _)| self.skip(escape));
        found.map(|(_, character)| character).ok_or_else(|| self.instead_of(r#"one of `"\/bfnrtu`"#))
    }

    /// A character as UTF-16 in hexadecimal digits: four, or twice four with `\u` between them.
    fn code_units(&mut self) -> Result<char, String> {
        let mut start = self.rest;
        let mut expected = "a character: `dc00` to `dfff` is only the second half of one";
        let mut units = vec![self.code_unit()?];
        if matches!(units[0], 0xd800..0xdc00) {
            start = self.rest;
            expected = r"`\udc00` to `\udfff`, the second half of the character,";
            if self.skip(r"\u") {
                units.push(self.code_unit()?);
            }
        }
        char::decode_utf16(units).next().and_then(Result::ok).ok_or_else(|| {
            self.rest = start;
            self.instead_of(expected)
        })
    }

    fn code_unit(&mut self) -> Result<u16, String> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.rest.chars().next().and_then(|c| c.to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.instead_of("a hexadecimal digit"))?;
            self.rest = &self.rest[1..];
        }
        Ok(u16::try_from(unit).expect("four hexadecimal digits are 16 bits"))
    }

    fn instead_of(&self, expected: &str) -> String {
        let found = match self.rest.chars().next() {
            None => "the end".to_owned(),
            Some(c) if c.is_control() => format!("`{}`", c.escape_debug()),
            Some(c) => format!("`{c}`"),
        };
        let before = &self.text[..self.text.len() - self.rest.len()];
        let line = before.split('\n').count();
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("found {found} instead of {expected} at line {line} column {column}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        object(text).expect_err(text)
    }

    #[test]
    fn values_are_texts_or_remain_as_written() {
        let text = r#" { "a" : "b" , "n":-1.50E+2,"t":true,"f":false,"z":null,"l":[ "]" , {}],"" : "" } "#;
        let values = object(text).unwrap();
        let values: Vec<_> =
            values.iter().map(|(key, value)| (key.as_str(), value.source, value.text.as_deref())).collect();
        assert_eq!(
            values,
            [
                ("", "\"\"", Some("")),
                ("a", "\"b\"", Some("b")),
                ("f", "false", None),
                ("l", r#"[ "]" , {}]"#, None),
                ("n", "-1.50E+2", None),
                ("t", "true", None),
                ("z", "null", None),
            ]
        );
        assert!(object("\t\r\n{ \n} \t").unwrap().is_empty());
        assert_eq!(object(r#"{"a":1,"b":2,"a":3}"#).unwrap()["a"].source, "3", "the last value counts");
    }

    #[test]
    fn escapes_are_replaced_in_keys_and_texts() {
        let text = r#"{"\u006b\n":"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00é😀\u0000"}"#;
        let values = object(text).unwrap();
        assert_eq!(values["k\n"].text.as_deref(), Some("\"\\/\u{8}\u{c}\n\r\té😀é😀\0"));
    }

    #[test]
    fn errors_name_what_was_found_what_was_expected_and_where() {
        for (text, expected) in [
            ("", "found the end instead of `{` at line 1 column 1"),
            ("[1]", "found `[` instead of `{` at line 1 column 1"),
            ("{", "found the end instead of a key in quotes at line 1 column 2"),
            ("{'a'", "found `'` instead of a key in quotes at line 1 column 2"),
            ("{1", "found `1` instead of a key in quotes at line 1 column 2"),
            (r#"{"a":1,}"#, "found `}` instead of a key in quotes at line 1 column 8"),
            ("{\n \"é\"\n 1", "found `1` instead of `:` at line 3 column 2"),
            (r#"{"a":"#, "found the end instead of a value at line 1 column 6"),
            (r#"{"a":tru"#, "found `t` instead of a value at line 1 column 6"),
            (r#"{"a":truer}"#, "found `r` instead of `,` or `}` at line 1 column 10"),
            (r#"{"a":1"#, "found the end instead of `,` or `}` at line 1 column 7"),
            (r#"{"a":01}"#, "found `1` instead of `,` or `}` at line 1 column 7"),
            (r#"{"a":-}"#, "found `}` instead of a digit at line 1 column 7"),
            (r#"{"a":1.}"#, "found `}` instead of a digit at line 1 column 8"),
            (r#"{"a":1e+}"#, "found `}` instead of a digit at line 1 column 9"),
            (r#"{"a":[{}"#, "found the end instead of `]` or `}` at line 1 column 9"),
            (r#"{"a":1} b"#, "found `b` instead of the end at line 1 column 9"),
            (r#"{"a"#, "found the end instead of `\"` at line 1 column 4"),
            ("{\"a\tb", r"found `\t` instead of an escape of this control character at line 1 column 4"),
            (r#"{"\x"#, r#"found `x` instead of one of `"\/bfnrtu` at line 1 column 4"#),
            (r#"{"\u00g"#, "found `g` instead of a hexadecimal digit at line 1 column 7"),
            (
                r#"{"\udc00"#,
                "found `d` instead of a character: `dc00` to `dfff` is only the second half of one at line 1 column 5",
            ),
            (
                r#"{"\ud800"#,
                r"found the end instead of `\udc00` to `\udfff`, the second half of the character, at line 1 column 9",
            ),
            (
                r#"{"\ud800\u0041"#,
                r"found `\` instead of `\udc00` to `\udfff`, the second half of the character, at line 1 column 9",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    /// Objects and, from each, all texts with one character replaced, inserted or removed, or with another end.
    fn texts() -> impl Iterator<Item = String> {
        let objects = [
            r#" { } "#,
            r#"{"name":"Age","type":"date","jsonPath":".metadata","priority":0}"#,
            "{ \"a\" :\t\"\\u00e9\\ud83D\\uDe00\\n\\\"\\/\" ,\r\n\"b\": 1 }\n",
            r#"{"a":-12,"b":1.50e3,"c":2147483648,"a":10E-1,"":99999999999999999999}"#,
            r#"{"é":true,"b":false,"\t":null}"#,
        ];
        let characters: Vec<String> =
            "\"\\/{}[]:,019.eE+-aubtfn\u{1}\n é😀".chars().map(String::from).chain([String::new()]).collect();
        objects.into_iter().flat_map(move |text| {
            let characters = characters.clone();
            text.char_indices().flat_map(move |(at, replaced)| {
                let (before, after) = text.split_at(at);
                characters.clone().into_iter().flat_map(move |c| {
                    let replacing = format!("{before}{c}{}", &after[replaced.len_utf8()..]);
                    [replacing, format!("{before}{c}{after}"), format!("{before}{c}")]
                })
            })
        })
    }

    #[test]
    fn objects_are_those_of_serde_json_with_the_same_values() {
        let mut valid = 0;
        for text in texts() {
            let theirs = serde_json::from_str::<serde_json::Map<_, _>>(&text);
            match (object(&text), theirs) {
                (Ok(ours), Ok(theirs)) => {
                    valid += 1;
                    let theirs = theirs.into_iter().collect::<BTreeMap<String, serde_json::Value>>();
                    assert!(ours.keys().eq(theirs.keys()), "{text}");
                    for (our, their) in ours.values().zip(theirs.values()) {
                        assert_eq!(our.text.as_deref(), their.as_str(), "{text}");
                        assert_eq!(serde_json::from_str::<serde_json::Value>(our.source).unwrap(), *their);
                        // serde_json reads -0 as a float.
                        let number = their.as_i64().or_else(|| (our.source == "-0").then_some(0));
                        let number = number.and_then(|number| i32::try_from(number).ok());
                        assert_eq!(our.source.parse().ok(), number, "{text}");
                    }
                }
                (Ok(ours), Err(error)) => assert!(
                    ours.values().any(|value| value.source.starts_with(['[', '{']))
                        || error.to_string().contains("number out of range"),
                    "{text}: {error}"
                ),
                (ours, theirs) => assert!(theirs.is_err(), "{text}: {:?}", ours.err()),
            }
        }
        assert!(valid > 1000, "{valid}");
    }
}
