//! [`Erased`]: an error behind a trait object.

use std::error::Error as StdError;
use std::fmt;

/// An error on its way through the generic code of lists and watches. It has the text and the causes of the error itself.
///
/// That code is compiled in each program, and rustc repeats the code that drops an error in each unit of it; the causes of
/// [`Error`](enum@super::Error) reach from YAML to TLS. Behind a trait object it is compiled once, in this crate, which makes each rebuild
/// of a controller faster: `docs/design/erased-errors.md` has the figures.
pub struct Erased<E>(Box<dyn Inner<E>>);

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
