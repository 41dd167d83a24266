//! Character classes of a pattern: brackets, ranges, POSIX names.

use super::error::error;

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];
const RANGE: &str = "invalid character class range";

/// A class in brackets.
pub(super) fn bracketed(text: &str) -> Result<(String, &str), String> {
    let unclosed = || error("missing closing ]", text);
    let mut rest = &text[1..];
    let mut out = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        (rest, out) = (after, "[^".into());
    }
    let mut first = true;
    loop {
        if let Some(after) = rest.strip_prefix(']').filter(|_| !first) {
            return Ok((out + "]", after));
        }
        first = false;
        if let Some((class, after)) = posix(rest)? {
            (out, rest) = (out + &class, after);
            continue;
        }
        if let Some((class, after)) = perl(rest)? {
            (out, rest) = (out + &class, after);
            continue;
        }
        let start = rest;
        let (low, after) = member(rest).ok_or_else(unclosed)??;
        (out, rest) = (out + &hexadecimal_of(low), after);
        let range = rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']'));
        if let Some(after) = range {
            let (high, after) = member(after).ok_or_else(unclosed)??;
            if high < low {
                return Err(error(RANGE, &start[..start.len() - after.len()]));
            }
            (out, rest) = (format!("{out}-{}", hexadecimal_of(high)), after);
        }
    }
}

fn hexadecimal_of(c: char) -> String {
    format!("\\x{{{:x}}}", u32::from(c))
}

/// A character of a class; `None` at the end of the pattern.
fn member(text: &str) -> Option<Result<(char, &str), String>> {
    let c = text.chars().next()?;
    if c != '\\' {
        return Some(Ok((c, &text[c.len_utf8()..])));
    }
    if text.len() == 1 {
        return Some(Err(error("trailing backslash at end of expression", "")));
    }
    Some(escaped(text))
}

/// `[:alpha:]` within brackets.
fn posix(text: &str) -> Result<Option<(String, &str)>, String> {
    let Some(name) = text.strip_prefix("[:") else { return Ok(None) };
    let Some((name, rest)) = name.split_once(":]") else { return Ok(None) };
    let plain = name.strip_prefix('^').unwrap_or(name);
    if !POSIX.contains(&plain) {
        return Err(error(RANGE, &text[..text.len() - rest.len()]));
    }
    Ok(Some((format!("[:{name}:]"), rest)))
}

/// `\d`, `\p{Greek}` and the like; `None` for another escape, or none.
pub(super) fn perl(text: &str) -> Result<Option<(String, &str)>, String> {
    let Some(after) = text.strip_prefix('\\') else { return Ok(None) };
    let Some(c) = after.chars().next() else { return Ok(None) };
    let class = match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(text, c, &after[1..]).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((class.into(), &after[1..])))
}

/// A general category or a script.
fn unicode<'p>(text: &'p str, letter: char, after: &'p str) -> Result<(String, &'p str), String> {
    let (name, rest) = match after.strip_prefix('{') {
        Some(name) => name.split_once('}').ok_or_else(|| error(RANGE, text))?,
        None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
    };
    let part = &text[..text.len() - rest.len()];
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (letter == 'p', name),
        None => (letter == 'P', name),
    };
    let class = ["any", "ascii"].into_iter().find(|all| name.eq_ignore_ascii_case(all)).map(str::to_owned);
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-'));
    let is_class = |kind: &&str| plain && regex::Regex::new(&format!(r"\p{{{kind}={name}}}")).is_ok();
    let class = class
        .or_else(|| ["gc", "sc"].iter().find(|kind| is_class(kind)).map(|kind| format!("{kind}={name}")));
    let class = class.ok_or_else(|| error(RANGE, part))?;
    let letter = if negated { 'P' } else { 'p' };
    Ok((format!("\\{letter}{{{class}}}"), rest))
}

/// An escape of one character.
pub(super) fn escaped(text: &str) -> Result<(char, &str), String> {
    let after = &text[1..];
    let c = after.chars().next().unwrap_or_default();
    let rest = after.get(c.len_utf8()..).unwrap_or_default();
    let simple = match c {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => return octal(text, after),
        'x' => return hexadecimal(text, rest),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(invalid(text, rest)),
    };
    Ok((simple, rest))
}

fn invalid(text: &str, rest: &str) -> String {
    error("invalid escape sequence", &text[..text.len() - rest.len()])
}

/// At most three digits; a single one other than 0 would be a backreference.
fn octal<'p>(text: &'p str, after: &'p str) -> Result<(char, &'p str), String> {
    let end = after.bytes().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    if end < 2 && !after.starts_with('0') {
        return Err(invalid(text, &after[1..]));
    }
    let code = u32::from_str_radix(&after[..end], 8).unwrap_or_default();
    Ok((char::from_u32(code).unwrap_or_default(), &after[end..]))
}

fn hexadecimal<'p>(text: &'p str, after: &'p str) -> Result<(char, &'p str), String> {
    let digits = |part: &str| u32::from_str_radix(part, 16).ok().and_then(char::from_u32);
    if let Some(inner) = after.strip_prefix('{') {
        let end = inner.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(inner.len());
        let closed = inner[end..].strip_prefix('}');
        return match (digits(&inner[..end]), closed) {
            (Some(c), Some(rest)) => Ok((c, rest)),
            (None, Some(rest)) if end == 0 => Err(invalid(text, rest)),
            _ => Err(invalid(text, &inner[end..])),
        };
    }
    let end = after.bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
    match digits(&after[..end]).filter(|_| end == 2) {
        Some(c) => Ok((c, &after[2..])),
        None => Err(invalid(text, &after[end..])),
    }
}
