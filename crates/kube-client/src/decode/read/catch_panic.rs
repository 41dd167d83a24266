//! Panics of user types while decoding.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::Error as _;

/// Turns a panic of `decode` into an error, so that it affects one object only.
pub(in crate::decode) fn catch_panic<T>(
    decode: impl FnOnce() -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    // Unwind safe: nothing that `decode` changes outlives it.
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
    fn a_panic_is_an_error_with_its_message() {
        let message = |panics: fn()| {
            let decode = || {
                panics();
                Ok(())
            };
            catch_panic(decode).unwrap_err().to_string()
        };
        assert_eq!(message(|| panic!("plain")), "its `Deserialize` panicked: plain");
        assert_eq!(message(|| panic!("{}", 7)), "its `Deserialize` panicked: 7");
        assert_eq!(message(|| std::panic::panic_any(7)), "its `Deserialize` panicked: without a message");
        assert_eq!(catch_panic(|| Ok(5)).unwrap(), 5);
    }
}
