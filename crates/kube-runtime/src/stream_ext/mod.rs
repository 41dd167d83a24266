//! Adapters for streams of watcher events and of objects.

mod backoff;
mod decode;
mod ext;
mod modify;
mod reflect;

pub use backoff::StreamBackoff;
pub use decode::EventDecode;
pub use ext::WatchStreamExt;
pub use modify::EventModify;
pub use reflect::Reflect;
