//! TLS with whichever address of a host completes its handshake.

use std::future::{Future, Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::addresses::AnyAddress;
use super::boxed::{BoxConnector, BoxIo, boxed};
use super::redial::{ATTEMPT, Redial};
use crate::metrics::Resolver;

/// How long a handshake has for itself before the next address is dialled beside it. It goes on meanwhile: a loaded server may need longer.
const HANDSHAKE: Duration = Duration::from_secs(3);

tokio::task_local! {
    /// The connection over which the current task makes a handshake: connectors with TLS pass on nothing but a URL.
    static CONNECTED: Mutex<Option<TokioIo<TcpStream>>>;
}

/// A connector to https URLs. `with_tls` adds TLS to the connections of a connector.
///
/// An address that accepts connections, but whose handshake fails or does not end, does not keep the other addresses from being tried.
/// There is no limit of time for the whole.
pub(crate) fn secured_connector<E>(
    with_tls: impl FnOnce(BoxConnector) -> Result<BoxConnector, E>,
) -> Result<BoxConnector, E> {
    Ok(boxed(Secured { resolver: Resolver::new(), tls: with_tls(boxed(HandOver))? }))
}

/// See [`secured_connector`].
#[derive(Clone)]
struct Secured<R> {
    resolver: R,
    /// Its connections are those of [`HandOver`].
    tls: BoxConnector,
}

impl<R> Service<Uri> for Secured<R>
where
    R: Service<Name, Response: Iterator<Item = SocketAddr> + Send, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
{
    type Response = BoxIo;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<BoxIo, BoxError>> + Send>>;

    /// Always ready: the connectors are waited for within the call.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let Self { resolver, tls } = self.clone();
        let url = target.clone();
        let dial = move |tried: Vec<IpAddr>| dial(resolver.clone(), url.clone(), tried);
        let handshake =
            move |stream| CONNECTED.scope(Mutex::new(Some(stream)), tls.clone().oneshot(target.clone()));
        Box::pin(first_secured(dial, handshake))
    }
}

/// Connects to an address that was not tried yet. The first one is waited for without a limit, the others are what may be better.
async fn dial<R>(resolver: R, target: Uri, tried: Vec<IpAddr>) -> Result<Dialled, BoxError>
where
    R: Service<Name, Response: Iterator<Item = SocketAddr> + Send, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
{
    let is_first = tried.is_empty();
    let others = AnyAddress::new(resolver).except(tried);
    match is_first {
        true => Redial::new(others).oneshot(target).await,
        false => timeout(ATTEMPT, others.oneshot(target)).await?,
    }
}

/// A connection, and its address.
type Dialled<S = TokioIo<TcpStream>> = (IpAddr, S);

/// Dials an address, and another one when the handshake has failed or takes long. The first handshake that succeeds wins, and the others
/// are dropped. The error is that of the last handshake that failed; without any, that of dialling.
async fn first_secured<S, T, D, H>(
    dial: impl Fn(Vec<IpAddr>) -> D,
    handshake: impl Fn(S) -> H,
) -> Result<T, BoxError>
where
    D: Future<Output = Result<Dialled<S>, BoxError>>,
    H: Future<Output = Result<T, BoxError>>,
{
    let (mut tried, mut handshakes) = (Vec::new(), FuturesUnordered::new());
    let mut failure: Option<BoxError> = None;
    let mut dialling = FuturesUnordered::from_iter([dial(Vec::new())]); // at most one
    let (mut exhausted, mut next_dial) = (false, Instant::now());
    loop {
        tokio::select! {
            biased;
            Some(secured) = handshakes.next() => match secured {
                Ok(secured) => return Ok(secured),
                Err(err) if exhausted && handshakes.is_empty() => return Err(err),
                Err(err) => {
                    failure = Some(err);
                    next_dial = Instant::now();
                }
            },
            Some(dialled) = dialling.next() => match dialled {
                Ok((address, stream)) => {
                    tried.push(address);
                    handshakes.push(handshake(stream));
                    next_dial = Instant::now() + HANDSHAKE;
                }
                Err(err) if handshakes.is_empty() => return Err(failure.unwrap_or(err)),
                Err(_) => exhausted = true,
            },
            () = sleep_until(next_dial), if dialling.is_empty() && !exhausted => dialling.push(dial(tried.clone())),
        }
    }
}

/// What TLS is added to: hands over the connection of the current task.
#[derive(Clone)]
struct HandOver;

impl Service<Uri> for HandOver {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Ready<Result<TokioIo<TcpStream>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connected = CONNECTED.try_with(|connected| connected.lock().take()).ok().flatten();
        ready(connected.ok_or_else(|| "invariant: a handshake has one connection".into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tower::service_fn;

    use super::*;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, last).into()
    }

    /// Which address is secured, if dialling connects to each of `addresses` in their order, and after how many milliseconds.
    async fn winner<H>(count: u8, handshake: impl Fn(IpAddr) -> H) -> (Result<IpAddr, String>, u128)
    where
        H: Future<Output = Result<IpAddr, BoxError>>,
    {
        let started = Instant::now();
        let dial = |tried: Vec<IpAddr>| {
            let next = (1..=count).map(address).find(|address| !tried.contains(address));
            ready(next.map(|address| (address, address)).ok_or_else(|| "no other address".into()))
        };
        let secured = timeout(Duration::from_secs(30), first_secured(dial, handshake)).await;
        let secured = secured.map_err(|_| "it took too long".to_owned());
        let secured = secured.and_then(|secured| secured.map_err(|err| err.to_string()));
        (secured, started.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_whose_handshake_fails_or_does_not_end_is_followed_by_the_next() {
        let failed = || Err::<IpAddr, BoxError>("certificate".into());
        let only = |good: u8| move |it: IpAddr| ready(if it == address(good) { Ok(it) } else { failed() });
        assert_eq!(winner(3, only(1)).await, (Ok(address(1)), 0));
        assert_eq!(winner(3, only(3)).await, (Ok(address(3)), 0), "at once");
        assert_eq!(winner(3, only(9)).await, (Err("certificate".into()), 0));
        assert_eq!(winner(1, only(9)).await, (Err("certificate".into()), 0));
        let silent = async |it: IpAddr| if it == address(3) { Ok(it) } else { std::future::pending().await };
        assert_eq!(winner(3, silent).await, (Ok(address(3)), 6000));
        assert_eq!(
            winner(2, silent).await.0,
            Err("it took too long".into()),
            "the limit is that of the caller"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_handshake_goes_on_beside_the_others() {
        let slow = async |it: IpAddr| {
            sleep_until(Instant::now() + Duration::from_secs(10)).await;
            if it == address(1) { Ok(it) } else { Err("certificate".into()) }
        };
        assert_eq!(winner(3, slow).await, (Ok(address(1)), 10_000));
        assert_eq!(winner(1, slow).await, (Ok(address(1)), 10_000), "there is no other");
        let last = async |it: IpAddr| {
            sleep_until(Instant::now() + Duration::from_secs(10)).await;
            Err::<IpAddr, BoxError>(format!("{it}").into())
        };
        assert_eq!(winner(2, last).await, (Err("192.0.2.2".into()), 13_000), "all have failed");
    }

    /// With sockets. The handshake is one byte of the server.
    #[tokio::test]
    async fn the_connection_is_handed_to_the_handshake_of_its_address() {
        let first = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = first.local_addr().unwrap().port();
        let second = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
        let addresses = [&first, &second].map(|listener| listener.local_addr().unwrap());
        let resolver = service_fn(move |_: Name| ready(Ok::<_, io::Error>(addresses.into_iter())));
        tokio::spawn(async move {
            drop(first.accept().await.unwrap()); // as a balancer without a backend
            let (mut stream, _) = second.accept().await.unwrap();
            stream.write_all(b"x").await.unwrap();
            std::future::pending::<()>().await;
        });
        let tls = service_fn(|target: Uri| async move {
            let mut stream = HandOver.oneshot(target).await?.into_inner();
            match stream.read_u8().await {
                Ok(b'x') => Ok(TokioIo::new(stream)),
                end => Err(BoxError::from(format!("{end:?}"))),
            }
        });
        let mut connector = Secured { resolver, tls: boxed(tls) };
        let target: Uri = format!("https://names.test:{port}").parse().unwrap();
        connector.call(target).await.unwrap();
    }
}
