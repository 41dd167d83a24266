//! Panics of user types while decoding.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_core::panic::panic_message;
use serde::de::Error as _;

/// Turns a panic of `decode` into an error, so that it affects one object only.
pub(in crate::decode) fn catch_panic<T>(
    decode: impl FnOnce() -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    // Unwind safe: nothing that `decode` changes outlives it.
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        Err(serde_json::Error::custom(format!("its `Deserialize` panicked: {}", panic_message(&*panic))))
    })
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
        assert_eq!(
            message(|| std::panic::panic_any(7)),
            "its `Deserialize` panicked: (a panic value that is not a string)"
        );
        assert_eq!(catch_panic(|| Ok(5)).unwrap(), 5);
    }
}
