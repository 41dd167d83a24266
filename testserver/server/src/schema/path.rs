//! The path of a value, formatted only when an error names it.

use std::fmt;

/// The path of a value, such as `spec.ports[0].name`; a linked list on the stack, formatted only for errors.
#[derive(Clone, Copy)]
pub(in crate::schema) enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Element(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(in crate::schema) fn member<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path::Member(self, name)
    }

    pub(in crate::schema) fn element(&self, at: usize) -> Path<'_> {
        Path::Element(self, at)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(Path::Root, name) => f.write_str(name),
            Path::Member(above, name) => write!(f, "{above}.{name}"),
            Path::Element(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}
