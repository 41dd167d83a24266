//! The text of a panic.

use std::any::Any;

/// The message of a caught panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref().map(String::as_str))
        .unwrap_or("(a panic value that is not a string)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, panic_any};

    #[test]
    fn a_panic_becomes_its_message() {
        let message = |panics: fn()| panic_message(&*catch_unwind(panics).unwrap_err()).to_owned();
        assert_eq!(message(|| panic!("plain")), "plain");
        assert_eq!(message(|| panic!("{}", 7)), "7");
        assert_eq!(message(|| panic_any(7)), "(a panic value that is not a string)");
    }
}
