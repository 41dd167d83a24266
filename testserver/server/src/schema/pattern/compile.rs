//! Compiles a pattern: translates it from the syntax of Go to that of the `regex` crate, character by character.

use regex::{Regex, RegexBuilder};

use super::{class, error::error, group, repeat::Repeats};

/// Go has no limit; this one keeps a definition from taking all memory.
const MAX_BYTES: usize = 256 << 20;
const MAX_NESTING: u32 = 4000;
/// The deepest nesting of groups that Go permits.
const MAX_DEPTH: usize = 1000;

/// Compiles a pattern of Go. The error is Go's, such as ``missing closing ]: `[a` ``.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    let built = RegexBuilder::new(&translated).size_limit(MAX_BYTES).nest_limit(MAX_NESTING).build();
    built.map_err(|failure| match failure {
        regex::Error::CompiledTooBig(_) => error("expression too large", pattern),
        other => error(&other.to_string(), pattern),
    })
}

/// Translates a pattern to the syntax of the `regex` crate. The error is Go's.
fn translate(pattern: &str) -> Result<String, String> {
    let mut scan = Scan { pattern, rest: pattern, out: String::new(), repeats: Repeats::default() };
    while let Some(c) = scan.rest.chars().next() {
        scan.step(c)?;
    }
    if scan.repeats.depth() > 0 {
        return Err(error("missing closing )", pattern));
    }
    Ok(scan.out)
}

struct Scan<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    repeats: Repeats<'p>,
}

impl<'p> Scan<'p> {
    fn step(&mut self, c: char) -> Result<(), String> {
        match c {
            '(' => self.open(),
            ')' => {
                if !self.repeats.close() {
                    return Err(error("unexpected )", self.pattern));
                }
                self.out.push(')');
                self.rest = &self.rest[1..];
                Ok(())
            }
            '|' => {
                self.repeats.alternative();
                self.out.push('|');
                self.rest = &self.rest[1..];
                Ok(())
            }
            '*' | '+' | '?' | '{' => self.repeat(c),
            '[' => {
                let (class, rest) = class::bracketed(self.rest)?;
                self.atom(&class, rest);
                Ok(())
            }
            '\\' => self.escape(),
            '^' | '$' | '.' => {
                self.atom(c.encode_utf8(&mut [0; 4]), &self.rest[1..]);
                Ok(())
            }
            other => {
                self.atom(&literal(other), &self.rest[other.len_utf8()..]);
                Ok(())
            }
        }
    }

    fn atom(&mut self, text: &str, rest: &'p str) {
        self.repeats.atom();
        self.out.push_str(text);
        self.rest = rest;
    }

    fn open(&mut self) -> Result<(), String> {
        if self.repeats.depth() >= MAX_DEPTH {
            return Err(error("expression nests too deeply", self.pattern));
        }
        let group::Opened { text, rest, flags } = group::open(self.rest)?;
        self.out.push_str(&text);
        self.rest = rest;
        if !flags {
            self.repeats.open();
        }
        Ok(())
    }

    fn repeat(&mut self, c: char) -> Result<(), String> {
        let start = self.rest;
        match self.repeats.operator(start)? {
            Some((text, rest)) => {
                self.out.push_str(&text);
                self.rest = rest;
            }
            // Not a repetition, such as `a{`.
            None => self.atom(&literal(c), &start[1..]),
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let after = &self.rest[1..];
        match after.chars().next() {
            None => return Err(error("trailing backslash at end of expression", "")),
            Some('Q') => {
                let quoted = &after[1..];
                let (quoted, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                quoted.chars().for_each(|c| self.atom(&literal(c), rest));
                self.rest = rest;
                return Ok(());
            }
            Some(c @ ('A' | 'z')) => self.atom(&format!("\\{c}"), &after[1..]),
            Some('b') => self.atom(r"(?-u:\b)", &after[1..]),
            Some('B') => self.atom(r"(?-u:\B)", &after[1..]),
            Some(_) => {
                let (text, rest) = match class::perl(self.rest)? {
                    Some(class) => class,
                    None => {
                        let (c, rest) = class::escaped(self.rest)?;
                        (literal(c), rest)
                    }
                };
                self.atom(&text, rest);
            }
        }
        Ok(())
    }
}

/// A literal character.
fn literal(c: char) -> String {
    regex::escape(c.encode_utf8(&mut [0; 4]))
}
