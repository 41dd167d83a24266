//! Which reconcile makes a request, and what it has written: the mark of a request, from a controller to whoever sees the request.
//!
//! A controller gives each reconcile a [`ReconcileMark`]. The client adds it to the extensions of the reconcile's requests, and records
//! each write that the server has confirmed in it, as an [`OwnWrite`]. Before the next reconcile of the object, the controller waits until
//! its caches show these writes.
//!
//! A layer of the client sees which controller and object a request belongs to:
//!
//! ```
//! use kube_core::reconcile::ReconcileMark;
//!
//! fn describe<B>(request: &http::Request<B>) -> String {
//!     match request.extensions().get::<ReconcileMark>() {
//!         Some(mark) => format!("{} {} by {mark}", request.method(), request.uri()),
//!         None => format!("{} {}", request.method(), request.uri()),
//!     }
//! }
//!
//! let mut request = http::Request::get("/api/v1/namespaces/shop/pods").body(())?;
//! request.extensions_mut().insert(ReconcileMark::new("shops", Some("shop"), "books"));
//! assert_eq!(describe(&request), "GET /api/v1/namespaces/shop/pods by the reconcile of shop/books in shops");
//! # Ok::<(), http::Error>(())
//! ```

mod mark;
mod path;
mod thread;
mod write;

pub use mark::{Observed, ReconcileMark, ReconcileObserver, StoreRead};
pub use thread::{observe_thread, observer_of_thread};
pub use write::{OwnWrite, WrittenState};
