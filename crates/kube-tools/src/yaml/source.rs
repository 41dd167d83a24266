//! [`Source`]: where an object was read, for messages.

use std::fmt;
use std::sync::Arc;

/// Where an object was read. `{}` prints it, such as `deploy/web.yaml, document 2, line 14`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The path of the file, or another name of the text; empty for text without a name.
    pub file: Arc<str>,
    /// The number of the document in the file, from 1. Documents without content are not counted.
    pub document: usize,
    /// The line in which the document begins, or in which the fault is, from 1; 0 if it is not known.
    pub line: u64,
    /// The positions of the object in lists, outermost first, from 0; empty for an object that is not in a list.
    pub items: Vec<usize>,
}

impl Source {
    pub(super) fn item(&self, at: usize) -> Self {
        let mut source = self.clone();
        source.items.push(at);
        source
    }
}

/// Where an object is from, in words.
pub(super) fn origin(source: Option<&Source>) -> String {
    source.map_or_else(|| "an object of the program".to_owned(), ToString::to_string)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}, ", self.file)?;
        }
        write!(f, "document {}", self.document)?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        for (depth, at) in self.items.iter().enumerate() {
            write!(f, "{}items[{at}]", if depth == 0 { ", " } else { "." })?;
        }
        Ok(())
    }
}
