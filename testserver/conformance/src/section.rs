//! The parts of a Markdown file that the suite writes.

/// A part between two comments.
pub(crate) struct Section {
    /// The line before it, with its line break.
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl Section {
    /// `markdown` with another text in this section, which is made of the current one.
    ///
    /// When the file does not have the section, or no text can be made.
    pub(crate) fn change(
        &self,
        markdown: &str,
        text: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let missing = || format!("no text between {:?} and {:?}", self.begin.trim_end(), self.end);
        let (before, rest) = markdown.split_once(self.begin).ok_or_else(missing)?;
        let (current, after) = rest.split_once(self.end).ok_or_else(missing)?;
        let text = text(current)?;
        Ok(format!("{before}{}{text}{}{after}", self.begin, self.end))
    }
}
