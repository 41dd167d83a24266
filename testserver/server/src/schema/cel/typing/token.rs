//! Splits the text of an expression into tokens.

/// A token of an expression: its first byte and its text.
pub(super) type Token<'t> = (usize, &'t str);

/// The tokens of an expression that has been parsed; comments and spaces are left out, strings are single tokens.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            _ => length(rest, c),
        };
        out.push((at, &rest[..length]));
        at += length;
    }
    out
}

fn length(rest: &str, c: char) -> usize {
    let prefix = rest.find(|c: char| !matches!(c, 'r' | 'R' | 'b' | 'B')).unwrap_or(rest.len());
    if prefix <= 2 && rest[prefix..].starts_with(['\'', '"']) {
        let raw = rest[..prefix].contains(['r', 'R']);
        return prefix + string(&rest[prefix..], raw);
    }
    let end = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    if c.is_ascii_digit() {
        return end(|c| c.is_ascii_alphanumeric() || c == '.');
    }
    if c.is_alphabetic() || c == '_' {
        return end(|c| c.is_alphanumeric() || c == '_');
    }
    let double = ["&&", "||", "==", "!=", "<=", ">="];
    if double.iter().any(|operator| rest.starts_with(operator)) { 2 } else { c.len_utf8() }
}

fn string(text: &str, raw: bool) -> usize {
    let quote =
        ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote)).unwrap_or("\"");
    let mut at = quote.len();
    while at < text.len() {
        if text[at..].starts_with(quote) {
            return at + quote.len();
        }
        let escape = !raw && text[at..].starts_with('\\');
        at += text[at..].chars().take(if escape { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
    }
    text.len()
}
