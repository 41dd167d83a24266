//! The pages of a list: while one is used, the next one is on its way.

use super::source::{Source, Watchable};
use crate::task::CancelableJoinHandle;
use kube_client::{Error, client::ListResponse};
use kube_core::{DeserializeGuard, ObjectList, params::ListParams};
use std::future::Future;
use tokio::{runtime::Handle, sync::mpsc};
use tracing::Instrument;

/// Pages that may be there before they are wanted. Each costs the memory of its objects while a list runs.
const AHEAD: usize = 1;

type List<K> = ObjectList<DeserializeGuard<K>>;

/// Gets pages one by one, as they are asked for.
///
/// The one behind is asked for and decoded by tasks of their own, on another processor where there is one. Whoever waits for a page has
/// the next one decoded at the same time; whoever uses one does not hold up requests, whatever else is asked for meanwhile.
pub(super) struct Pages<K: Clone> {
    source: Source,
    coming: Option<Coming<K>>,
}

/// Pages on their way, in their order.
struct Coming<K: Clone> {
    pages: mpsc::Receiver<Asked<K>>,
    _asking: CancelableJoinHandle<()>,
}

/// A page that has been asked for.
struct Asked<K: Clone> {
    params: ListParams,
    list: CancelableJoinHandle<Result<List<K>, Error>>,
}

impl<K: Watchable> Pages<K> {
    pub(super) fn new(source: Source) -> Self {
        Self { source, coming: None }
    }

    /// The page that `params` ask for. One that was on its way and broke off is asked for again: perhaps nobody wanted it for too long.
    pub(super) async fn get(&mut self, params: &ListParams) -> Result<List<K>, Error> {
        if let Some(asked) = self.next().await.filter(|asked| asked.params == *params)
            && let list @ (Ok(_) | Err(Error::Api(_))) = asked.list.await
        {
            return list;
        }
        let (room, pages) = mpsc::channel(AHEAD);
        let asking = task(ask_from(params.clone(), self.source.clone(), room));
        self.coming = Some(Coming { pages, _asking: asking });
        let asked = self.next().await.expect("invariant: the first page is always asked for");
        let list = asked.list.await;
        if list.is_err() {
            self.forget(); // or the next call would wait for the page behind, which nobody will want
        }
        list
    }

    /// Gives up what is on its way.
    pub(super) fn forget(&mut self) {
        self.coming = None;
    }

    async fn next(&mut self) -> Option<Asked<K>> {
        self.coming.as_mut()?.pages.recv().await
    }
}

/// Asks for page after page, from the one of these `params` to the last or to one that is refused, as long as there is room.
async fn ask_from<K: Watchable>(params: ListParams, source: Source, room: mpsc::Sender<Asked<K>>) {
    let mut next = Some(params);
    while let Some(params) = next.take()
        && let Ok(place) = room.reserve().await
    {
        let list = match open::<K>(&source, &params).await {
            Ok((answer, token)) => {
                next = token.map(|token| behind(params.clone(), token));
                task(answer.decode())
            }
            Err(error) => task(async { Err(error) }),
        };
        place.send(Asked { params, list });
    }
}

/// Asks for a page. Its items are still to come when it says what to ask for next.
async fn open<K: Watchable>(
    source: &Source,
    params: &ListParams,
) -> Result<(ListResponse, Option<String>), Error> {
    let mut answer = source.list::<K>(params).await?;
    let token = answer.head().await?.continue_.filter(|token| !token.is_empty());
    Ok((answer, token))
}

/// The page behind one, which has this token. It is part of the same state, so no other is asked for.
fn behind(params: ListParams, token: String) -> ListParams {
    ListParams { continue_token: Some(token), resource_version: None, version_match: None, ..params }
}

fn task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> CancelableJoinHandle<T> {
    CancelableJoinHandle::spawn(future.in_current_span(), &Handle::current())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Config, config::Freshness},
        *,
    };

    #[test]
    fn the_page_that_is_on_its_way_is_the_one_that_is_asked_for() {
        let config = Config::default().labels("a=b").fields("c=d").any_semantic().page_size(7);
        // A list of any freshness has no limit, and so no pages.
        for freshness in [Freshness::NotOlderThan("5".into()), Freshness::MostRecent] {
            assert_eq!(behind(config.first_page(&freshness), "token".into()), config.next_page("token"));
        }
        assert_eq!(behind(config.next_page("token"), "other".into()), config.next_page("other"));
    }
}
