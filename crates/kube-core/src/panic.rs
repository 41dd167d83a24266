//! The message of a caught panic. For our crates, which run code of users.

use std::any::Any;

/// The message with which the code panicked, from the payload that `catch_unwind` or a `JoinError` returned.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref().map(String::as_str))
        .unwrap_or("(a panic value that is not a string)")
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, panic_any};

    use super::panic_message;

    #[test]
    fn a_panic_becomes_its_message() {
        let message = |panics: fn()| {
            let payload = catch_unwind(panics).expect_err("panics");
            panic_message(&*payload).to_owned()
        };
        assert_eq!(message(|| panic!("plain")), "plain");
        assert_eq!(message(|| panic!("{}", 7)), "7");
        assert_eq!(message(|| panic_any(7)), "(a panic value that is not a string)");
    }
}
