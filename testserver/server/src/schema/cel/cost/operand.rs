//! What is known about the value of a part of an expression.

use super::size::{Place, Size, Step};
use crate::schema::cel::typing::Kind;

/// What is known about the value of an expression.
#[derive(Clone)]
pub(super) struct Operand<'d, 'f> {
    pub(super) cost: u64,
    pub(super) kind: Kind<'f>,
    /// The part of the schema it is read from.
    pub(super) place: Option<Place<'d>>,
    /// The size, if the expression tells.
    pub(super) computed: Option<Size>,
    /// The size of elements or values, if the expression tells.
    pub(super) entry: Option<Size>,
    /// The value of an integer literal.
    pub(super) number: Option<i64>,
}

/// The result of a function: its own cost, and the size of its value.
pub(super) struct Estimate {
    pub(super) cost: u64,
    pub(super) size: Option<Size>,
}

impl Operand<'_, '_> {
    pub(super) fn size(&self) -> Size {
        let declared = || self.place.and_then(Place::size);
        self.computed.or_else(declared).unwrap_or(if self.kind.is_scalar() {
            Size::exact(1)
        } else {
            Size::UNKNOWN
        })
    }

    /// The size of an element of a list that the schema declares; anything else has elements of any size.
    pub(super) fn element_size(&self) -> Size {
        let element = self.place.map(|place| place.step(Step::Items));
        element.and_then(Place::size).unwrap_or(Size::UNKNOWN)
    }
}
