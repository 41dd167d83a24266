//! Collects the errors of an expression and shows them as the genuine server does.

/// The most errors of one expression.
const MAX: usize = 100;

/// Errors of an expression and their places.
#[derive(Default)]
pub(super) struct Failures {
    failures: Vec<(usize, String)>,
}

impl Failures {
    /// Adds an error at a byte of the text. Of several at one place only the first counts.
    pub(super) fn add(&mut self, at: usize, why: String) {
        if self.failures.len() < MAX && !self.failures.iter().any(|(other, _)| *other == at) {
            self.failures.push((at, why));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// All errors in the order of the text, with the lines and markers of genuine servers.
    pub(super) fn report(mut self, text: &str) -> Option<String> {
        self.failures.sort_by_key(|(at, _)| *at);
        let reports: Vec<String> = self.failures.iter().map(|(at, why)| show(text, *at, why)).collect();
        (!reports.is_empty()).then(|| reports.join("\n"))
    }
}

fn show(text: &str, at: usize, why: &str) -> String {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let row = before.matches('\n').count() + 1;
    // Wide dots below wide characters.
    let dots: String =
        text[start..before.len()].chars().map(|c| if c.is_ascii() { '.' } else { '．' }).collect();
    let marker = if text[before.len()..].starts_with(|c: char| !c.is_ascii()) { '＾' } else { '^' };
    let column = dots.chars().count() + 1;
    format!("ERROR: <input>:{row}:{column}: {why}\n | {line}\n | {dots}{marker}")
}
