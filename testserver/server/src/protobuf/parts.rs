//! The fields of messages that Go reads and writes with code of its own.

use crate::gotypes::{GoField, GoType, Presence, Scalar};

pub(super) const QUANTITY: &[GoField] = &[part(1, "string", Scalar::String)];
pub(super) const TIME: &[GoField] = &[part(1, "seconds", Scalar::Int64), part(2, "nanos", Scalar::Int32)];
pub(super) const INT_OR_STRING: &[GoField] =
    &[part(1, "type", Scalar::Int64), part(2, "intVal", Scalar::Int32), part(3, "strVal", Scalar::String)];
/// JSON in JSON.
pub(super) const RAW: &[GoField] = &[part(1, "raw", Scalar::Bytes)];

/// Of a list that is a message.
pub(super) const fn items(item: &'static GoType) -> GoField {
    GoField { ty: GoType::List(item), ..part(1, "items", Scalar::Raw) }
}

const fn part(number: u32, name: &'static str, scalar: Scalar) -> GoField {
    GoField { number, name, presence: Presence::Always, off: false, ty: GoType::Scalar(scalar, "") }
}
