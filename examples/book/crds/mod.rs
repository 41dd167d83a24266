//! Custom resources: the page "Custom resources" shows these samples.

mod document;
mod merge;
mod overrides;
mod recursive;
mod rewritten;
mod rules;
mod versions;
