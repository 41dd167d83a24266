//! `Error::is_connect`: whether a call failed because nothing answered.

use std::error::Error as StdError;
use std::iter;

use crate::error::Error;
use crate::transport::is_connect;

impl Error {
    /// Whether there was no connection to send the request over, so that the server has not seen it: the connection was refused, its
    /// TLS or HTTP/2 handshake failed, or connecting took too long.
    ///
    /// Nothing answers then, so waiting longer each time spares no server: a second between two attempts is enough, and notices soon when
    /// it is back. A client makes no more than one attempt a second while they fail, however many requests wait for it.
    ///
    /// Known for clients of a [`Config`](crate::Config), and for services made of hyper-util's client; of other services, only a refused
    /// connection is recognized, as an [`io::Error`](std::io::Error).
    ///
    /// ```
    /// use kube_client::Error;
    /// use std::io;
    ///
    /// let refused = Error::Service(Box::new(io::Error::from(io::ErrorKind::ConnectionRefused)));
    /// assert!(refused.is_connect());
    /// assert!(!Error::ReadEvents(io::ErrorKind::ConnectionReset.into()).is_connect());
    /// ```
    pub fn is_connect(&self) -> bool {
        let Self::Service(err) = self else { return false };
        let first: &(dyn StdError + 'static) = &**err;
        iter::successors(Some(first), |&err| err.source()).any(is_connect)
    }
}
