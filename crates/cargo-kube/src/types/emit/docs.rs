//! Descriptions as doc comments.

use proc_macro2::TokenStream;
use quote::quote;

/// Doc comments with this text, which stays text: no line of it is a code block, which would be compiled as a test, an HTML tag or a link.
pub(super) fn docs(text: &str) -> TokenStream {
    let lines = lines(text);
    quote!(#(#[doc = #lines])*)
}

/// The same as the text of one attribute.
pub(super) fn doc_text(text: &str) -> String {
    lines(text).join("\n").trim().to_owned()
}

fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let lines = text.trim().lines().map(|line| {
        let line = escaped(line);
        if line.is_empty() { line } else { format!(" {line}") }
    });
    lines.collect()
}

/// Four spaces, also after the mark of a list, or a fence begin a code block.
fn escaped(line: &str) -> String {
    let line = line.split(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c));
    let line = line.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let mut text = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some(c) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(c).len();
        if matches!(c, '`' | '~') && run >= 2 {
            text.push_str(&format!("\\{c}").repeat(run));
            rest = &rest[run..];
            continue;
        }
        if matches!(c, '<' | '[' | '\\') {
            text.push('\\');
        }
        text.push(c);
        rest = &rest[c.len_utf8()..];
    }
    text
}

/// Characters that change the direction of text, which the compiler refuses in comments.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_code_block_a_tag_or_a_link() {
        let text = "Title\r\n\r\n    fn main() { panic!() }\n\tlet x;\n-     code\n```rust\n~~~\n<script>[Foo] \\[a](b) `a`\rb\u{202e}c\0d ``x``";
        assert_eq!(
            lines(text),
            [
                " Title",
                "",
                " fn main() { panic!() }",
                " let x;",
                " - code",
                " \\`\\`\\`rust",
                " \\~\\~\\~",
                " \\<script>\\[Foo] \\\\\\[a](b) `a` b c d \\`\\`x\\`\\`",
            ]
        );
    }

    #[test]
    fn an_empty_text_has_no_lines() {
        assert!(docs("").is_empty());
        assert!(docs(" \n\t").is_empty());
    }
}
