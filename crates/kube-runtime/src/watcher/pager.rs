//! Prefetching pages of a list.

use super::lister_watcher::{ListerWatcher, Watchable};
use crate::task::CancelableJoinHandle;
use kube_client::{
    Error,
    client::{KnownObjects, ListResponse},
};
use kube_core::{DeserializeGuard, ObjectList, params::ListParams};
use std::future::Future;
use tokio::{runtime::Handle, sync::mpsc};
use tracing::Instrument;

/// How many pages are prefetched. Each costs the memory of its objects while a list runs.
const PREFETCH: usize = 1;

type List<K> = ObjectList<DeserializeGuard<K>>;

/// Returns the pages of a list one by one, and prefetches the next one.
///
/// Tasks request and decode pages, on another thread of the runtime if it has one. So the next page is decoded while the
/// caller waits for or processes one, and a slow caller delays no other requests of the client.
pub(super) struct Pager<K: Clone> {
    lister_watcher: ListerWatcher,
    known: KnownObjects<K>,
    in_flight: Option<InFlight<K>>,
}

/// The requested pages, in order.
struct InFlight<K: Clone> {
    pages: mpsc::Receiver<PageRequest<K>>,
    _task: CancelableJoinHandle<()>,
}

struct PageRequest<K: Clone> {
    params: ListParams,
    list: CancelableJoinHandle<Result<List<K>, Error>>,
}

impl<K: Watchable> Pager<K> {
    pub(super) fn new(lister_watcher: ListerWatcher, known: KnownObjects<K>) -> Self {
        Self { lister_watcher, known, in_flight: None }
    }

    /// Returns the page for `params`. A prefetched page that broke off is requested again without an error, because its
    /// connection may have waited too long for the caller.
    pub(super) async fn get(&mut self, params: &ListParams) -> Result<List<K>, Error> {
        if let Some(prefetched) = self.receive().await.filter(|request| request.params == *params)
            && let list @ (Ok(_) | Err(Error::Api(_))) = prefetched.list.await
        {
            return list;
        }
        let (sender, pages) = mpsc::channel(PREFETCH);
        let requests =
            spawn(request_pages(params.clone(), self.lister_watcher.clone(), self.known.clone(), sender));
        self.in_flight = Some(InFlight { pages, _task: requests });
        let first = self.receive().await.expect("invariant: the first page is always requested");
        let list = first.list.await;
        if list.is_err() {
            self.cancel(); // or the next call would wait for a following page that will not be used
        }
        list
    }

    /// Cancels the requests in flight.
    pub(super) fn cancel(&mut self) {
        self.in_flight = None;
    }

    async fn receive(&mut self) -> Option<PageRequest<K>> {
        self.in_flight.as_mut()?.pages.recv().await
    }
}

/// Requests page after page, from the one for `params` to the last or to the first that fails. Waits while the channel is full.
async fn request_pages<K: Watchable>(
    params: ListParams,
    lister_watcher: ListerWatcher,
    known: KnownObjects<K>,
    sender: mpsc::Sender<PageRequest<K>>,
) {
    let mut next = Some(params);
    while let Some(params) = next.take()
        && let Ok(permit) = sender.reserve().await
    {
        let list = match open_page::<K>(&lister_watcher, &params).await {
            Ok((response, token)) => {
                next = token.map(|token| next_page(params.clone(), token));
                let known = known.clone();
                spawn(async move { response.decode_with_known(&known).await })
            }
            Err(error) => spawn(async { Err(error) }),
        };
        permit.send(PageRequest { params, list });
    }
}

/// Requests a page and reads the list's metadata, which precede the items. Returns the continue token if there is a next page.
async fn open_page<K: Watchable>(
    lister_watcher: &ListerWatcher,
    params: &ListParams,
) -> Result<(ListResponse, Option<String>), Error> {
    let mut response = lister_watcher.list::<K>(params).await?;
    let token = response.head().await?.continue_.filter(|token| !token.is_empty());
    Ok((response, token))
}

/// The parameters of the page after one with this token. The token contains the version, so no version is sent.
fn next_page(params: ListParams, token: String) -> ListParams {
    ListParams { continue_token: Some(token), resource_version: None, version_match: None, ..params }
}

fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> CancelableJoinHandle<T> {
    CancelableJoinHandle::spawn(future.in_current_span(), &Handle::current())
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
