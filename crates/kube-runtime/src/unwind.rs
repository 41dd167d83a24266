//! Panics of user code, as values.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A function of the user panicked when it was called with this object.
#[derive(Debug, thiserror::Error)]
#[error("the {callback} panicked at {kind} {object}: {message}")]
pub(crate) struct ObjectPanic {
    /// Which function.
    pub(crate) callback: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) object: String,
    pub(crate) message: String,
}

/// What `call` returns, or what its panic said.
///
/// User code shares its data with later calls, as any two threads share data: what it leaves half done is visible to
/// them with or without the panic.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "(a value that is not text)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_what_it_said() {
        let said = |panics: fn()| catch(panics).unwrap_err();
        assert_eq!(said(|| panic!("plain")), "plain");
        assert_eq!(said(|| panic!("{}", 7)), "7");
        assert_eq!(said(|| std::panic::panic_any(7)), "(a value that is not text)");
        assert_eq!(catch(|| 5), Ok(5));
    }
}
