//! Built-in kinds, compared with recorded answers of a genuine server.

mod findings;
mod values;
