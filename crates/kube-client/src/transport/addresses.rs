//! Connects to one of the addresses of a host, in the manner of Happy Eyeballs (RFC 8305).

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tower::{BoxError, Service, ServiceExt};

use super::tcp::dial;

/// How long an address has for itself before the next one is dialled beside it (RFC 8305, 5: 250 ms).
const STAGGER: Duration = Duration::from_millis(250);
/// All addresses are dialled within this time, however many there are: before the attempt is over and begins anew.
const ALL_DIALLED: Duration = Duration::from_secs(4);

/// Connects by whichever address of a host answers first. A dead address costs 250 ms, wherever it stands.
#[derive(Clone, Debug)]
pub(crate) struct AnyAddress<R> {
    resolver: R,
    except: Vec<IpAddr>,
}

impl<R> AnyAddress<R> {
    pub(super) fn new(resolver: R) -> Self {
        Self { resolver, except: Vec::new() }
    }

    /// Only addresses other than these. Without any, connecting fails.
    pub(super) fn except(self, except: Vec<IpAddr>) -> Self {
        Self { except, ..self }
    }
}

impl<R> Service<Uri> for AnyAddress<R>
where
    R: Service<Name, Response: Iterator<Item = SocketAddr> + Send, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
{
    /// With the address: the peer's name is unknown when it has closed the connection already.
    type Response = (IpAddr, TokioIo<TcpStream>);
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    /// Always ready: the resolver is waited for within the call.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let Self { resolver, except } = self.clone();
        Box::pin(async move {
            let mut addresses = addresses_of(target.host().unwrap_or_default(), resolver).await?;
            addresses.retain(|address| !except.contains(&address.ip()));
            if addresses.is_empty() {
                return Err("the host has no other address".into());
            }
            let dial = |address: SocketAddr| {
                let dialling = dial(target.clone(), address);
                async move { Ok((address.ip(), dialling.await?)) }
            };
            race(alternating(addresses), dial).await
        })
    }
}

/// The addresses of a host. Their ports mean nothing.
async fn addresses_of<R>(host: &str, resolver: R) -> Result<Vec<SocketAddr>, BoxError>
where
    R: Service<Name, Response: Iterator<Item = SocketAddr>, Error: Into<BoxError>>,
{
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, 0)]);
    }
    let name: Name = host.parse()?;
    let failed = |cause| LookupFailed { host: host.to_owned(), cause };
    let addresses: Vec<_> = resolver.oneshot(name).await.map_err(|err| failed(err.into()))?.collect();
    if addresses.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "it has no address").into()).into());
    }
    Ok(addresses)
}

#[derive(Debug, thiserror::Error)]
#[error("dns error: the address of {host} cannot be looked up")]
struct LookupFailed {
    host: String,
    #[source]
    cause: BoxError,
}

/// The addresses in their order, the two families alternating (RFC 8305, 4).
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_ipv4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (like_first, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv4() == first_is_ipv4);
    let pairs = (0..like_first.len().max(others.len())).map(|at| [like_first.get(at), others.get(at)]);
    pairs.flatten().flatten().copied().collect()
}

/// Dials the next address whenever one has failed, or has not answered within [`STAGGER`]. The first connection wins, and the others are
/// dropped. The error is that of the last address that failed.
async fn race<T, F>(addresses: Vec<SocketAddr>, dial: impl Fn(SocketAddr) -> F) -> Result<T, BoxError>
where
    F: Future<Output = Result<T, BoxError>>,
{
    let stagger = STAGGER.min(ALL_DIALLED / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1));
    let mut rest = addresses.into_iter();
    let mut dialled = FuturesUnordered::new();
    loop {
        dialled.extend(rest.next().map(&dial));
        tokio::select! {
            biased;
            Some(result) = dialled.next() => match result {
                Err(err) if rest.len() == 0 && dialled.is_empty() => return Err(err),
                Err(_) => {}
                connected => return connected,
            },
            () = sleep(stagger), if rest.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::{Instant, timeout};

    use super::*;

    fn address(text: &str) -> SocketAddr {
        format!("{text}:0").parse().unwrap()
    }

    fn addresses(count: u8) -> Vec<SocketAddr> {
        (1..=count).map(|last| address(&format!("192.0.2.{last}"))).collect()
    }

    fn refused<T>() -> Result<T, BoxError> {
        Err(io::Error::from(io::ErrorKind::ConnectionRefused).into())
    }

    #[test]
    fn families_alternate_and_begin_with_the_first_address() {
        let [a, b, c] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(address);
        let [x, y] = ["[2001:db8::1]", "[2001:db8::2]"].map(address);
        assert_eq!(alternating(vec![x, y, a, b, c]), [x, a, y, b, c]);
        assert_eq!(alternating(vec![a, b]), [a, b]);
        assert_eq!(alternating(vec![a, x]), [a, x]);
        assert!(alternating(Vec::new()).is_empty());
    }

    /// Which address connects, of those that answer, and after how many milliseconds. The others are silent.
    async fn winner(count: u8, answers: impl Fn(SocketAddr) -> bool) -> (Option<SocketAddr>, u128) {
        let started = Instant::now();
        let racing = race(addresses(count), |address| {
            let answers = answers(address);
            async move { if answers { Ok(address) } else { pending().await } }
        });
        let connected = timeout(Duration::from_secs(8), racing).await;
        (connected.ok().map(Result::unwrap), started.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_address_delays_the_next_one_by_a_moment() {
        let [first, second, last] = [1, 2, 100].map(|last| address(&format!("192.0.2.{last}")));
        assert_eq!(winner(3, |address| address == first).await, (Some(first), 0));
        assert_eq!(winner(3, |address| address == second).await, (Some(second), 250));
        // However many there are, the last one has its turn before the attempt begins anew.
        let (connected, took) = winner(100, |address| address == last).await;
        assert!(connected == Some(last) && took <= 4000, "{connected:?} after {took} ms");
        assert_eq!(winner(3, |_| false).await.0, None, "the limit of time is that of the caller");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_passes_to_the_next_address_at_once_and_all_refusals_are_an_error() {
        let started = Instant::now();
        let second = address("192.0.2.2");
        let connected =
            race(addresses(3), |address| ready(if address == second { Ok(address) } else { refused() }));
        assert_eq!(connected.await.unwrap(), second);
        let err = race(addresses(3), |_| ready(refused::<()>())).await.unwrap_err();
        assert_eq!(err.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_address_is_still_waited_for_when_the_later_ones_refuse() {
        let first = address("192.0.2.1");
        let connected = race(addresses(3), |address| async move {
            if address != first {
                return refused();
            }
            sleep(Duration::from_secs(2)).await;
            Ok(address)
        });
        assert_eq!(connected.await.unwrap(), first);
    }

    #[tokio::test]
    async fn a_host_without_addresses_is_an_error_that_names_it() {
        let empty = tower::service_fn(|_: Name| ready(Ok::<_, io::Error>(std::iter::empty())));
        let err = AnyAddress::new(empty).oneshot("http://names.test".parse().unwrap()).await.unwrap_err();
        assert_eq!(err.to_string(), "dns error: the address of names.test cannot be looked up");
    }
}

/// With sockets: the kernel drops what arrives at a socket whose queue is full, as a dead host does.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod socket_tests {
    use std::net::{Ipv4Addr, TcpListener};

    use socket2::{Domain, Socket, Type};
    use tokio::time::timeout;

    use super::*;

    /// A socket that does not answer, and what keeps it so.
    fn silent() -> (SocketAddr, Vec<Socket>) {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = socket();
        listener.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let mut held = vec![listener];
        for _ in 0..4 {
            let filler = socket();
            filler.set_nonblocking(true).unwrap();
            let _ = filler.connect(&address.into()); // in progress
            held.push(filler);
        }
        (address, held)
    }

    #[tokio::test]
    async fn a_name_whose_first_address_is_dead_is_connected_by_the_second() {
        let (dead, _held) = silent();
        let alive = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 3), dead.port())).unwrap();
        let addresses = [dead, alive.local_addr().unwrap()];
        let resolver =
            tower::service_fn(move |_: Name| std::future::ready(Ok::<_, io::Error>(addresses.into_iter())));
        let target: Uri = format!("http://names.test:{}", dead.port()).parse().unwrap();
        let alone = timeout(Duration::from_millis(500), dial(target.clone(), dead)).await;
        assert!(alone.is_err(), "the first address is dead: {alone:?}");
        let connecting = super::super::redial::Redial::new(AnyAddress::new(resolver)).oneshot(target);
        let (address, stream) =
            timeout(Duration::from_secs(7), connecting).await.expect("it connects").unwrap();
        assert_eq!(stream.inner().peer_addr().unwrap(), addresses[1]);
        assert_eq!(address, addresses[1].ip());
    }
}
