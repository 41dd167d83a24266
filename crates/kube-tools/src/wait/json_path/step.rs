//! The steps of a JSON path.

use serde_json::Value;

/// One step from values to values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Field(String),
    /// Every field or item.
    Wildcard,
    /// The value and everything below it.
    Descend,
    Items(Slice),
    /// What each of these paths selects.
    Union(Vec<Vec<Step>>),
    /// The items for which it holds.
    Filter(Filter),
}

/// Items by position. Negative positions count from the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Operand,
    /// Without a comparison, the left operand has to select something.
    pub(super) comparison: Option<(Comparison, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Path(Vec<Step>),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
