//! [`Erased`]: an error behind a trait object.

use std::error::Error as StdError;
use std::fmt;

use super::Error;

/// An error on its way through generic code, as that of lists and watches. It has the text and the causes of the error itself.
///
/// The compiler repeats the code that drops a type in each codegen unit that may drop it. That of [`enum@Error`] is long, because its causes
/// reach from YAML to TLS, and generic code is compiled in each program. A trait object has it once: where [`Erased::new`] is called. So
/// each kind of error has one function that does.
pub struct Erased<E>(Box<dyn Inner<E>>);

/// An [`enum@Error`] behind a trait object.
pub type ErasedError = Erased<Error>;

trait Inner<E>: StdError + Send + Sync {
    fn get(&self) -> &E;
    fn into_error(self: Box<Self>) -> E;
}

impl<E: StdError + Send + Sync> Inner<E> for E {
    fn get(&self) -> &E {
        self
    }

    fn into_error(self: Box<Self>) -> E {
        *self
    }
}

impl<E: StdError + Send + Sync + 'static> Erased<E> {
    /// Puts `error` behind a trait object.
    pub fn new(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl<E> Erased<E> {
    /// A reference to the error itself.
    pub fn get(&self) -> &E {
        self.0.get()
    }

    /// The error itself.
    pub fn into_error(self) -> E {
        self.0.into_error()
    }
}

impl From<Error> for ErasedError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

impl<E> fmt::Debug for Erased<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<E> fmt::Display for Erased<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<E> StdError for Erased<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}
