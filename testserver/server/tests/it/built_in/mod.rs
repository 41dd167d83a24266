//! Built-in kinds, compared with recorded answers of a genuine server.

mod findings;
// Some of the valid objects have expressions.
#[cfg(feature = "cel")]
mod random;
#[cfg(feature = "cel")]
mod values;
