//! The pages of a list: while one is used, the next one is on its way.

use super::source::{Source, Watchable};
use crate::task::CancelableJoinHandle;
use kube_client::{Error, client::ListAnswer};
use kube_core::{DeserializeGuard, ObjectList, params::ListParams};
use std::marker::PhantomData;
use tokio::runtime::Handle;
use tracing::Instrument;

type List<K> = ObjectList<DeserializeGuard<K>>;

/// Gets pages one by one, as they are asked for.
///
/// The one behind is asked for by a task of its own, because whoever uses a page may do other requests meanwhile, and must not hold up
/// this one. Of it there is no more than its beginning and what the connection takes in.
pub(super) struct Pages<K> {
    source: Source,
    ahead: Option<Ahead>,
    kind: PhantomData<fn() -> K>,
}

struct Ahead {
    params: ListParams,
    opened: CancelableJoinHandle<Result<Opened, Error>>,
}

/// A page of which nothing but the beginning has been read.
struct Opened {
    answer: ListAnswer,
    next: Option<ListParams>,
}

impl<K: Watchable> Pages<K> {
    pub(super) fn new(source: Source) -> Self {
        Self { source, ahead: None, kind: PhantomData }
    }

    /// The page that `params` ask for. One that was on its way and broke off is asked for again: perhaps nobody wanted it for too long.
    pub(super) async fn get(&mut self, params: &ListParams) -> Result<List<K>, Error> {
        if let Some(ahead) = self.ahead.take().filter(|ahead| ahead.params == *params)
            && let list @ (Ok(_) | Err(Error::Api(_))) = self.read(ahead.opened.await).await
        {
            return list;
        }
        let opened = open::<K>(self.source.clone(), params.clone()).await;
        self.read(opened).await
    }

    /// Reads a page to its end. Meanwhile the one behind is asked for.
    async fn read(&mut self, opened: Result<Opened, Error>) -> Result<List<K>, Error> {
        let Opened { answer, next } = opened?;
        self.ahead = next.map(|params| {
            let task = open::<K>(self.source.clone(), params.clone()).in_current_span();
            Ahead { params, opened: CancelableJoinHandle::spawn(task, &Handle::current()) }
        });
        let list = answer.decode().await;
        if list.is_err() {
            self.forget();
        }
        list
    }

    /// Gives up what is on its way.
    pub(super) fn forget(&mut self) {
        self.ahead = None;
    }
}

/// Asks for a page. Its items are still to come when it says what to ask for next.
async fn open<K: Watchable>(source: Source, params: ListParams) -> Result<Opened, Error> {
    let mut answer = source.list::<K>(&params).await?;
    let token = answer.head().await?.continue_.filter(|token| !token.is_empty());
    Ok(Opened { answer, next: token.map(|token| behind(params, token)) })
}

/// The page behind one, which has this token. It is part of the same state, so no other is asked for.
fn behind(params: ListParams, token: String) -> ListParams {
    ListParams { continue_token: Some(token), resource_version: None, version_match: None, ..params }
}

#[cfg(test)]
mod tests {
    use super::{super::Config, *};

    #[test]
    fn the_page_that_is_on_its_way_is_the_one_that_is_asked_for() {
        let config = Config::default().labels("a=b").fields("c=d").any_semantic().page_size(7);
        for seen in [None, Some("5")] {
            assert_eq!(behind(config.first_page(seen), "token".into()), config.next_page("token"));
        }
        assert_eq!(behind(config.next_page("token"), "other".into()), config.next_page("other"));
    }
}
