//! Conversion between the versions of a kind.
//!
//! `docs/design/partial-conversion.md` says how typed functions convert partial objects.

mod convert;
mod partial;
mod review;
mod stand_in;
mod unknown;
mod versions;

pub use convert::{ConversionError, Convert};
pub use versions::{ConvertedObject, Versions};

pub(super) use review::review;
