//! What type an expression must have, and why one is refused.

/// The required type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schema::cel) enum Wanted {
    Bool,
    String,
}

impl Wanted {
    pub(in crate::schema::cel) fn refusal(self) -> &'static str {
        match self {
            Self::Bool => "cel expression must evaluate to a bool",
            Self::String => "messageExpression must evaluate to a string",
        }
    }
}

/// Why an expression is refused.
pub(in crate::schema::cel) enum Refusal {
    /// It is not well formed or not well typed.
    Compilation(String),
    /// A constant pattern in it is invalid.
    Instantiation(String),
    /// It has another type than is wanted.
    Result,
    /// Rules are not possible for this schema.
    Schema,
}
