//! Groups and flags of a pattern: what starts with `(`.

use super::error::error;

/// What starts with `(`.
pub(super) struct Opened<'p> {
    /// The text in the syntax of the `regex` crate.
    pub(super) text: String,
    pub(super) rest: &'p str,
    /// Flags of what follows, and not a group.
    pub(super) flags: bool,
}

const UNSUPPORTED: &str = "invalid or unsupported Perl syntax";

/// Reads `(`, `(?:`, a named group, or flags. Names are dropped: nothing refers to them.
pub(super) fn open(text: &str) -> Result<Opened<'_>, String> {
    let Some(after) = text.strip_prefix("(?") else {
        return Ok(Opened { text: "(?:".into(), rest: &text[1..], flags: false });
    };
    if let Some(named) = after.strip_prefix("P<").or_else(|| after.strip_prefix('<')) {
        return name(text, named);
    }
    if after.starts_with('P') {
        return Err(error(UNSUPPORTED, "(?P"));
    }
    flags(text, after)
}

fn name<'p>(text: &'p str, named: &'p str) -> Result<Opened<'p>, String> {
    let Some((name, rest)) = named.split_once('>') else {
        let why = if named.is_empty() { (UNSUPPORTED, "(?P") } else { ("invalid named capture", text) };
        return Err(error(why.0, why.1));
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(error("invalid named capture", &text[..text.len() - rest.len()]));
    }
    Ok(Opened { text: "(?:".into(), rest, flags: false })
}

fn flags<'p>(text: &'p str, after: &'p str) -> Result<Opened<'p>, String> {
    let (mut on, mut off, mut negated, mut given) = (String::new(), String::new(), false, false);
    for (i, c) in after.char_indices() {
        let part = &text[..2 + i + c.len_utf8()];
        match c {
            'i' | 'm' | 's' | 'U' => {
                given = true;
                on.retain(|flag| flag != c);
                off.retain(|flag| flag != c);
                if negated { off.push(c) } else { on.push(c) }
            }
            '-' if !negated => (negated, given) = (true, false),
            ':' | ')' if negated && !given => return Err(error(UNSUPPORTED, part)),
            ':' | ')' => {
                let off = if off.is_empty() { off } else { format!("-{off}") };
                let empty = on.is_empty() && off.is_empty() && c == ')';
                let text = if empty { "(?:)".to_owned() } else { format!("(?{on}{off}{c}") };
                return Ok(Opened { text, rest: &after[i + 1..], flags: c == ')' });
            }
            _ => return Err(error(UNSUPPORTED, part)),
        }
    }
    Err(error(UNSUPPORTED, text))
}
