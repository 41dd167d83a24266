//! End-to-end scenarios; see `tests/e2e/`.
