//! End-to-end behaviours; see `tests/`.
