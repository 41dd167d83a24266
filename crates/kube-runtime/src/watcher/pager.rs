//! Reads a list page by page, and requests the next page meanwhile.

use super::{
    error::RequestError,
    lister_watcher::{ListerWatcher, Watchable},
};
use crate::task::CancelableJoinHandle;
use futures::StreamExt;
use kube_client::{
    Error,
    client::{DecodeBy, KnownObjects, ListItems, ListPart, ReceivedItems},
};
use kube_core::params::ListParams;
use std::sync::Arc;
use tokio::{runtime::Handle, sync::oneshot};
use tracing::Instrument;

/// After how many parts of a page other tasks run. The reader may decode them itself: about a millisecond of work each.
const PARTS_PER_POLL: u32 = 8;

/// Returns a list part by part, page by page, and prefetches the next page.
///
/// Tasks request and receive pages. So a slow caller delays neither the server nor other requests of the client, and the next page is
/// there when it is needed.
pub(super) struct Pager<K: Watchable> {
    requests: PageRequests,
    /// The page that is read.
    page: Option<ListItems<K>>,
    parts_read: u32,
}

impl<K: Watchable> Pager<K> {
    pub(super) fn new(lister_watcher: Arc<ListerWatcher>) -> Self {
        let requests = PageRequests { lister_watcher, in_flight: None };
        Self { requests, page: None, parts_read: 0 }
    }

    /// Returns the first part of the page for `params`. If the page was prefetched and its first part was not received, it is requested
    /// again without an error. Objects of `known` are not decoded.
    pub(super) async fn get(
        &mut self,
        params: &ListParams,
        known: &KnownObjects<K>,
        by: DecodeBy,
    ) -> Result<ListPart<K>, RequestError> {
        if let Some(prefetched) = self.requests.prefetched(params).await {
            let part = self.begin(prefetched, known, by).await;
            if part.as_ref().err().is_none_or(|error| matches!(error.get(), Error::Api(_))) {
                return part;
            }
        }
        let first = self.requests.request(params).await;
        self.begin(first, known, by).await
    }

    /// Returns the next part of the page. An error is the last one.
    pub(super) async fn read(&mut self) -> Result<ListPart<K>, RequestError> {
        self.parts_read = self.parts_read.wrapping_add(1);
        if self.parts_read.is_multiple_of(PARTS_PER_POLL) {
            tokio::task::yield_now().await;
        }
        let page = self.page.as_mut().expect("invariant: a page is read only up to its last part");
        let part = page.next().await.expect("invariant: a page is dropped after its last part");
        match part {
            Ok(ListPart::Items(_)) => {}
            Ok(ListPart::End(_)) => self.page = None,
            Err(_) => self.cancel(), // or the next call would wait for a following page that will not be used
        }
        part
    }

    /// Cancels the requests in flight.
    pub(super) fn cancel(&mut self) {
        self.page = None;
        self.requests.in_flight = None;
    }

    async fn begin(
        &mut self,
        page: Result<ReceivedItems, RequestError>,
        known: &KnownObjects<K>,
        by: DecodeBy,
    ) -> Result<ListPart<K>, RequestError> {
        match page {
            Ok(items) => {
                self.page = Some(ListItems::new(items, known.clone(), by));
                self.read().await
            }
            Err(error) => {
                self.cancel();
                Err(error)
            }
        }
    }
}

/// Requests pages, the next one while the caller reads the one before.
struct PageRequests {
    lister_watcher: Arc<ListerWatcher>,
    in_flight: Option<RequestedPage>,
}

/// A page that a task requests.
struct RequestedPage {
    params: ListParams,
    page: oneshot::Receiver<Result<Page, RequestError>>,
    /// Aborted when this is dropped.
    _task: CancelableJoinHandle<()>,
}

struct Page {
    items: ReceivedItems,
    /// The continue token, if there is a next page.
    token: Option<String>,
}

impl PageRequests {
    /// The page for `params`, if it is in flight.
    async fn prefetched(&mut self, params: &ListParams) -> Option<Result<ReceivedItems, RequestError>> {
        let requested = self.in_flight.take_if(|requested| requested.params == *params)?;
        self.receive(requested).await
    }

    /// Requests the page for `params`. Cancels another one that is in flight.
    async fn request(&mut self, params: &ListParams) -> Result<ReceivedItems, RequestError> {
        self.in_flight = None;
        let requested = self.start(params.clone());
        self.receive(requested).await.unwrap_or_else(|| {
            Err(Error::Service("the runtime shut down before it requested a list".into()).into())
        })
    }

    /// Waits for a page, and requests the next one. `None` if its task ended early.
    async fn receive(&mut self, requested: RequestedPage) -> Option<Result<ReceivedItems, RequestError>> {
        let RequestedPage { params, page, _task } = requested;
        Some(match page.await.ok()? {
            Ok(Page { items, token }) => {
                self.in_flight = token.map(|token| self.start(next_page(params, token)));
                Ok(items)
            }
            Err(error) => Err(error),
        })
    }

    fn start(&self, params: ListParams) -> RequestedPage {
        let (sender, page) = oneshot::channel();
        let (lister_watcher, requested) = (Arc::clone(&self.lister_watcher), params.clone());
        let request = async move {
            // Fails if the page is not needed any more.
            let _ = sender.send(open_page(&lister_watcher, &requested).await);
        };
        let task = CancelableJoinHandle::spawn(request.in_current_span(), &Handle::current());
        RequestedPage { params, page, _task: task }
    }
}

/// Requests a page and reads the list's metadata, if they precede the items. If not (custom resources), the next page is requested when
/// this one has been read.
async fn open_page(lister_watcher: &ListerWatcher, params: &ListParams) -> Result<Page, RequestError> {
    let mut response = lister_watcher.list(params).await?;
    let metadata = response.head().await?;
    let token = metadata.and_then(|metadata| metadata.continue_).filter(|token| !token.is_empty());
    Ok(Page { items: response.receive().await?, token })
}

/// The parameters of the page after one with this token. The token contains the version, so no version is sent.
fn next_page(params: ListParams, token: String) -> ListParams {
    ListParams { continue_token: Some(token), resource_version: None, version_match: None, ..params }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Config, config::Freshness},
        *,
    };

    #[test]
    fn the_prefetched_page_has_the_parameters_that_the_machine_asks_for() {
        let config = Config::default().labels("a=b").fields("c=d").any_semantic().page_size(7);
        // `Freshness::Any` is left out: such a list has no limit, and so no pages.
        for freshness in [Freshness::NotOlderThan("5".into()), Freshness::MostRecent] {
            assert_eq!(next_page(config.first_page(&freshness), "token".into()), config.next_page("token"));
        }
        assert_eq!(next_page(config.next_page("token"), "other".into()), config.next_page("other"));
    }
}
