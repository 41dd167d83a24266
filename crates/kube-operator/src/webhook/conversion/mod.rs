//! Conversion between the versions of a kind.
//!
//! `docs/design/partial-conversion.md` says how typed functions convert partial objects.
//!
//! `review` reads a request, `convert` is the conversion that it calls, of a whole kind by `versions`. For partial objects, `stand_in`
//! fills what is missing, `partial` takes it out again, and `unknown` keeps fields that the types lack.

mod convert;
mod partial;
mod review;
mod stand_in;
mod unknown;
mod versions;

pub use convert::{ConversionError, Convert};
pub use versions::{ConvertedObject, Versions};

pub(super) use review::review;
