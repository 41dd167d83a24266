//! No code: this crate only has dependencies. Cargo.toml says what for, and `SHARED_BUILD` in xtask/src/paths.rs who selects it.
