//! Objects of one version seen as of another. With strategy `None` nothing but the name of the version differs; with
//! strategy `Webhook` somebody outside converts. Built-in twins are renamed.

mod convert;
mod present;

pub(crate) use convert::{read, store};
pub(crate) use present::present;
