//! The syntax of `*.commands`: one command a line, a verb and its words, quoted as in a shell.
//!
//! `'…'` is taken as it is, also over lines; in `"…"` and outside of quotes `$name` is a variable and `\` takes the next character as it
//! is; `\` at the end of a line continues it; `#` at the beginning of a word is a comment.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

/// The variables of one run of a list.
pub(super) type Variables = BTreeMap<String, String>;

/// One line.
#[derive(Debug)]
pub(super) struct Step {
    /// Where it begins, from 1.
    pub(super) line: usize,
    words: Vec<Word>,
}

/// A word: texts and names of variables.
type Word = Vec<Part>;

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    Variable(String),
}

impl Step {
    /// Its words, with the values of variables. The first is the verb.
    pub(super) fn words(&self, variables: &Variables) -> Result<Vec<String>> {
        let value = |part: &Part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Variable(name) => variables
                .get(name)
                .cloned()
                .with_context(|| format!("line {}: ${name} is not set", self.line)),
        };
        self.words.iter().map(|word| word.iter().map(value).collect()).collect()
    }
}

/// The steps of a list.
pub(super) fn parse(text: &str) -> Result<Vec<Step>> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut steps = Vec::new();
    loop {
        let line = lexer.line;
        let words = lexer.words().with_context(|| format!("line {line}"))?;
        if !words.is_empty() {
            steps.push(Step { line, words });
        }
        if lexer.rest.is_empty() {
            return Ok(steps);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Consumes so many bytes.
    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    /// The words up to the end of the line, which is consumed.
    fn words(&mut self) -> Result<Vec<Word>> {
        let mut words = Vec::new();
        while let Some(next) = self.rest.chars().next() {
            match next {
                '\n' => {
                    self.skip(1);
                    break;
                }
                ' ' => self.skip(1),
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                _ => words.push(self.word()?),
            }
        }
        Ok(words)
    }

    /// One word, up to a space or the end of the line, which is not consumed.
    fn word(&mut self) -> Result<Word> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut quoted = false;
        while let Some(next) = self.rest.chars().next() {
            if !quoted && matches!(next, ' ' | '\n') {
                break;
            }
            self.next();
            match next {
                '"' => quoted = !quoted,
                '\'' if !quoted => {
                    let (inside, _) = self.rest.split_once('\'').context("no closing '")?;
                    text += inside;
                    self.skip(inside.len() + 1);
                }
                '\\' => text.extend(self.next()),
                '$' => {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Variable(self.name()?));
                }
                other => text.push(other),
            }
        }
        if quoted {
            bail!("no closing \"");
        }
        parts.push(Part::Text(text));
        Ok(parts)
    }

    fn name(&mut self) -> Result<String> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        if name.is_empty() { bail!("$ without a name; write it between single quotes") } else { Ok(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let variables = Variables::from([("NS".to_owned(), "team".to_owned())]);
        parse(text).unwrap().iter().map(|step| step.words(&variables).unwrap()).collect()
    }

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        assert_eq!(
            words("same get 'a b' \"x $NS-y\" j='{.z}' '$NS' ''\n"),
            [["same", "get", "a b", "x team-y", "j={.z}", "$NS", ""]]
        );
        assert_eq!(words(r#"a \$NS "b\"c" d"#), [["a", "$NS", "b\"c", "d"]]);
    }

    #[test]
    fn quotes_and_backslashes_continue_a_line() {
        assert_eq!(
            words("set a 'x\\\n  y'\nkinds a \\\n  b\n"),
            [vec!["set", "a", "x\\\n  y"], vec!["kinds", "a", "b"]]
        );
    }

    #[test]
    fn comments_begin_with_a_word() {
        assert_eq!(words("# all\n\nget a#b # rest\n"), [["get", "a#b"]]);
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(format!("{:#}", parse("ok\nok 'x\n").unwrap_err()), "line 2: no closing '");
        let steps = parse("\nok $other\n").unwrap();
        assert_eq!(steps[0].words(&Variables::new()).unwrap_err().to_string(), "line 2: $other is not set");
    }

    #[test]
    fn every_list_of_the_repository_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(crate::paths::COMMANDS);
        for list in ["compare", "pods", "smoke"] {
            let text = std::fs::read_to_string(folder.join(format!("{list}.commands"))).unwrap();
            assert!(parse(&text).unwrap().len() > 40, "{list}");
        }
    }
}
