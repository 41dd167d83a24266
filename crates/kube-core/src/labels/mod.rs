//! Label selectors: build, parse, print and match them. Keys and values of labels and annotations: check them.

mod check;
#[cfg(test)]
mod check_tests;
mod expression;
mod ext;
mod parse;
mod selector;
#[cfg(test)]
mod tests;

pub use check::{
    InvalidLabel, check_annotation_key, check_annotations, check_label_key, check_label_value, check_labels,
};
pub use expression::*;
pub use ext::SelectorExt;
pub use selector::*;
