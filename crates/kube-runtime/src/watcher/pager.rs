//! Prefetching pages of a list.

use super::lister_watcher::{ListerWatcher, Watchable};
use crate::task::CancelableJoinHandle;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use kube_client::{
    Error,
    client::{DecodeBy, KnownObjects, ListItems, ListPart},
};
use kube_core::params::ListParams;
use tokio::{runtime::Handle, sync::mpsc};
use tracing::Instrument;

/// How many pages are prefetched. Each costs the memory of its text while a list runs.
const PREFETCH: usize = 1;

/// After how many parts of a page other tasks run. The reader may decode them itself: about a millisecond of work each.
const PARTS_PER_POLL: u32 = 8;

/// Returns a list part by part, page by page, and prefetches the next page.
///
/// Tasks request and receive pages. So a slow caller delays neither the server nor other requests of the client, and the next page is
/// there when it is needed.
pub(super) struct Pager<K: Watchable> {
    lister_watcher: ListerWatcher,
    known: KnownObjects<K>,
    /// The page that is read.
    page: Option<ListItems<K>>,
    parts_read: u32,
    in_flight: Option<InFlight<K>>,
}

/// The requested pages, in order.
struct InFlight<K: Watchable> {
    pages: mpsc::Receiver<RequestedPage<K>>,
    _task: CancelableJoinHandle<()>,
}

struct RequestedPage<K: Watchable> {
    params: ListParams,
    items: Result<ListItems<K>, Error>,
}

impl<K: Watchable> Pager<K> {
    pub(super) fn new(lister_watcher: ListerWatcher, known: KnownObjects<K>) -> Self {
        Self { lister_watcher, known, page: None, parts_read: 0, in_flight: None }
    }

    /// Returns the first part of the page for `params`. If the page was prefetched and its first part was not received, it is requested again
    /// without an error.
    pub(super) async fn get(&mut self, params: &ListParams, by: DecodeBy) -> Result<ListPart<K>, Error> {
        if let Some(prefetched) = self.receive().await.filter(|page| page.params == *params)
            && let part @ (Ok(_) | Err(Error::Api(_))) = self.begin(prefetched).await
        {
            return part;
        }
        let (sender, pages) = mpsc::channel(PREFETCH);
        let requests =
            request_pages(params.clone(), self.lister_watcher.clone(), self.known.clone(), by, sender);
        let task = spawn(requests.in_current_span().boxed());
        self.in_flight = Some(InFlight { pages, _task: task });
        match self.receive().await {
            Some(first) => self.begin(first).await,
            None => Err(Error::Service("the runtime shut down before it requested a list".into())),
        }
    }

    /// Returns the next part of the page. An error is the last one.
    pub(super) async fn read(&mut self) -> Result<ListPart<K>, Error> {
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
        self.in_flight = None;
    }

    async fn begin(&mut self, page: RequestedPage<K>) -> Result<ListPart<K>, Error> {
        match page.items {
            Ok(items) => {
                self.page = Some(items);
                self.read().await
            }
            Err(error) => {
                self.cancel();
                Err(error)
            }
        }
    }

    async fn receive(&mut self) -> Option<RequestedPage<K>> {
        self.in_flight.as_mut()?.pages.recv().await
    }
}

/// Not generic, so that the task is compiled once, and not for each type.
fn spawn(requests: BoxFuture<'static, ()>) -> CancelableJoinHandle<()> {
    CancelableJoinHandle::spawn(requests, &Handle::current())
}

/// Requests page after page, from the one for `params` to the last or to the first that fails. Waits while the channel is full.
async fn request_pages<K: Watchable>(
    params: ListParams,
    lister_watcher: ListerWatcher,
    known: KnownObjects<K>,
    by: DecodeBy,
    sender: mpsc::Sender<RequestedPage<K>>,
) {
    let mut next = Some(params);
    while let Some(params) = next.take()
        && let Ok(permit) = sender.reserve().await
    {
        let items = match open_page(&lister_watcher, &params, known.clone(), by).await {
            Ok((items, token)) => {
                next = token.map(|token| next_page(params.clone(), token));
                Ok(items)
            }
            Err(error) => Err(error),
        };
        permit.send(RequestedPage { params, items });
    }
}

/// Requests a page and reads the list's metadata, which precede the items. Returns the continue token if there is a next page.
async fn open_page<K: Watchable>(
    lister_watcher: &ListerWatcher,
    params: &ListParams,
    known: KnownObjects<K>,
    by: DecodeBy,
) -> Result<(ListItems<K>, Option<String>), Error> {
    let mut response = lister_watcher.list::<K>(params).await?;
    let token = response.head().await?.continue_.filter(|token| !token.is_empty());
    Ok((response.into_items(known, by).await?, token))
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
