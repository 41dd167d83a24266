//! Types that panic where they should refuse.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::Error as _;

/// What `decode` gives. A panic in it is an error like others, so that one object of many is one error.
pub(super) fn caught<T>(
    decode: impl FnOnce() -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    // Nothing that `decode` changes outlives it, so nobody sees a half-made state.
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        Err(serde_json::Error::custom(format!("its `Deserialize` panicked: {}", message(&*panic))))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_says_what_it_said() {
        let said = |panics: fn()| {
            let decode = || {
                panics();
                Ok(())
            };
            caught(decode).unwrap_err().to_string()
        };
        assert_eq!(said(|| panic!("plain")), "its `Deserialize` panicked: plain");
        assert_eq!(said(|| panic!("{}", 7)), "its `Deserialize` panicked: 7");
        assert_eq!(said(|| std::panic::panic_any(7)), "its `Deserialize` panicked: without a message");
        assert_eq!(caught(|| Ok(5)).unwrap(), 5);
    }
}
