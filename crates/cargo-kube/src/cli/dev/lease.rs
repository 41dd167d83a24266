//! Only one session of an operator at a time in a cluster of the user: the one that holds its Lease. Two would put back what the other has
//! just replaced.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube_client::api::{DeleteParams, PostParams};
use kube_client::error::{Error, ErrorClass};
use kube_client::{Api, Client};
use kube_core::ResourceExt as _;
use kube_core::params::Preconditions;
use tokio::time::{Instant, sleep};

use super::say::say;

/// How long a Lease that nobody renews holds others back.
const DURATION: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);

/// The Lease of the sessions of an operator.
#[derive(Clone)]
pub(super) struct SessionLease {
    api: Api<Lease>,
    name: String,
    /// This session.
    holder: String,
    /// The operator, for messages.
    operator: String,
}

/// What an attempt to take a Lease has led to.
enum Attempt {
    Taken,
    /// Somebody else has changed it meanwhile.
    Again,
    /// Another session holds it. Its record changes with each renewal.
    Held {
        by: String,
        record: String,
    },
}

impl SessionLease {
    pub(super) fn new(client: Client, namespace: &str, name: &str, holder: String) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: format!("cargo-kube-dev-{name}"),
            holder,
            operator: format!("{namespace}/{name}"),
        }
    }

    /// Takes the Lease, or takes it over from a session that has not renewed it for 15 s by this clock. `false` if the user may not, or if
    /// the namespace does not exist yet.
    ///
    /// # Errors
    /// Another session is alive.
    pub(super) async fn take(&self) -> Result<bool> {
        let mut seen: Option<(String, Instant)> = None;
        loop {
            match self.attempt().await {
                Ok(Attempt::Taken) => return Ok(true),
                Ok(Attempt::Again) => {}
                Ok(Attempt::Held { by, record }) => match &seen {
                    Some((before, _)) if *before != record => bail!(
                        "another session of `cargo kube dev --cluster` runs for {}: {by}; expected it to end before this one begins",
                        self.operator
                    ),
                    Some((_, since)) if since.elapsed() >= DURATION => {
                        let gone = self.give_up_other(&record).await;
                        gone.with_context(|| format!("Lease {}", self.name))?;
                    }
                    Some(_) => sleep(LOOK).await,
                    None => {
                        say(&format!(
                            "waiting up to {} s for the end of the session {by}",
                            DURATION.as_secs()
                        ));
                        seen = Some((record, Instant::now()));
                    }
                },
                Err(Error::Api(status)) if status.is_not_found() => return Ok(false), // no namespace
                Err(error) if ErrorClass::of(&error) == ErrorClass::Forbidden => {
                    say(&format!("whether another session runs for {} is not known: {error}", self.operator));
                    return Ok(false);
                }
                Err(error) => return Err(error).with_context(|| format!("Lease {}", self.name)),
            }
        }
    }

    async fn attempt(&self) -> Result<Attempt, Error> {
        let present = ErrorClass::absent_as_none(self.api.get(&self.name).await)?;
        let version = present.as_ref().and_then(Lease::resource_version);
        if let Some((by, record)) = present.as_ref().and_then(|lease| self.held_by_other(lease)) {
            return Ok(Attempt::Held { by, record });
        }
        let written = match version {
            None => self.api.create(&PostParams::default(), &self.held(None)).await,
            Some(_) => self.api.replace(&self.name, &PostParams::default(), &self.held(version)).await,
        };
        match written {
            Ok(_) => Ok(Attempt::Taken),
            Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                Ok(Attempt::Again)
            }
            // Deleted meanwhile: a namespace that is not there refuses the next attempt.
            Err(Error::Api(status)) if status.is_not_found() && present.is_some() => Ok(Attempt::Again),
            Err(error) => Err(error),
        }
    }

    fn held_by_other(&self, lease: &Lease) -> Option<(String, String)> {
        let holder = lease.spec.as_ref()?.holder_identity.clone().filter(|holder| !holder.is_empty())?;
        let is_other = holder != self.holder;
        is_other.then(|| (holder, format!("{:?} {:?}", lease.uid(), lease.resource_version())))
    }

    /// This session as the holder.
    fn held(&self, version: Option<String>) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.name.clone());
        lease.metadata.resource_version = version;
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.holder.clone());
        spec.lease_duration_seconds = i32::try_from(DURATION.as_secs()).ok();
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        lease
    }

    /// Deletes the Lease of a session that is gone.
    async fn give_up_other(&self, record: &str) -> Result<(), Error> {
        let present = ErrorClass::absent_as_none(self.api.get(&self.name).await)?;
        let stale = present.filter(|it| self.held_by_other(it).is_some_and(|(_, now)| now == record));
        match stale {
            Some(lease) => self.delete(&lease).await.map(drop),
            None => Ok(()),
        }
    }

    /// `false` if it has changed meanwhile.
    async fn delete(&self, lease: &Lease) -> Result<bool, Error> {
        let preconditions = Preconditions { uid: lease.uid(), resource_version: lease.resource_version() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match self.api.delete(&self.name, &params).await {
            Err(Error::Api(status)) if status.is_conflict() => Ok(false),
            Err(Error::Api(status)) if status.is_not_found() => Ok(true),
            deleted => deleted.map(|_| true),
        }
    }

    /// Renews it until this future is dropped. While another session has it, which took it over, tries to have it again.
    pub(super) async fn keep_renewed(self) {
        let mut lost_to = None;
        loop {
            sleep(RENEWAL).await;
            match self.attempt().await {
                Ok(Attempt::Held { by, .. }) => {
                    if lost_to.as_ref() != Some(&by) {
                        say(&format!("the session {by} has begun for {}: end this one", self.operator));
                    }
                    lost_to = Some(by);
                }
                Ok(Attempt::Taken) => {
                    if let Some(by) = lost_to.take() {
                        let operator = &self.operator;
                        say(&format!(
                            "the session {by} has ended: the next change of a source gives {operator} to this one again"
                        ));
                    }
                }
                Ok(Attempt::Again) => {}
                Err(error) => say(&format!("Lease {}: {error}", self.name)),
            }
        }
    }

    /// Gives it back at the end of the session.
    pub(super) async fn release(&self) -> Result<()> {
        let released = async {
            loop {
                let present = ErrorClass::absent_as_none(self.api.get(&self.name).await)?;
                let own = present.filter(|lease| self.held_by_other(lease).is_none());
                // The last renewal may come in between.
                match own {
                    Some(lease) if !self.delete(&lease).await? => {}
                    _ => return Ok::<_, Error>(()),
                }
            }
        };
        released.await.with_context(|| format!("Lease {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use kube_testserver::{ApiServer, Fault, Match};

    use super::*;

    fn lease(server: &ApiServer, holder: &str) -> SessionLease {
        SessionLease::new(Client::new(server.clone(), "default"), "default", "op", holder.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_waits_for_no_living_one() {
        let server = ApiServer::new();
        let first = lease(&server, "first");
        assert!(first.take().await.unwrap());
        assert!(first.take().await.unwrap(), "each registration takes it");
        let renewing = tokio::spawn(first.clone().keep_renewed());
        let began = Instant::now();
        let refused = lease(&server, "second").take().await.unwrap_err().to_string();
        assert!(refused.contains("runs for default/op: first; expected it to end"), "{refused}");
        assert!(began.elapsed() <= RENEWAL + LOOK, "{:?}", began.elapsed());

        renewing.abort();
        first.release().await.unwrap();
        let began = Instant::now();
        assert!(lease(&server, "second").take().await.unwrap());
        assert_eq!(began.elapsed(), Duration::ZERO);
        first.release().await.unwrap();
        assert!(
            lease(&server, "third")
                .held_by_other(&first.api.get("cargo-kube-dev-op").await.unwrap())
                .is_some()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_killed_session_holds_the_next_one_back_for_15_s() {
        let server = ApiServer::new();
        assert!(lease(&server, "killed").take().await.unwrap());
        let began = Instant::now();
        assert!(lease(&server, "next").take().await.unwrap());
        assert!(
            began.elapsed() >= DURATION && began.elapsed() < DURATION + 2 * LOOK,
            "{:?}",
            began.elapsed()
        );
    }

    /// Such as that of a laptop that slept.
    #[tokio::test(start_paused = true)]
    async fn a_session_that_lost_the_lease_has_it_again_after_the_other_one() {
        let server = ApiServer::new();
        let slept = lease(&server, "slept");
        assert!(slept.take().await.unwrap());
        let other = lease(&server, "other");
        assert!(other.take().await.unwrap());
        let (of_other, of_slept) =
            (tokio::spawn(other.clone().keep_renewed()), tokio::spawn(slept.clone().keep_renewed()));
        let refused = slept.take().await.unwrap_err().to_string();
        assert!(refused.contains("runs for default/op: other; expected it to end"), "{refused}");
        of_other.abort();
        other.release().await.unwrap();
        assert!(slept.take().await.unwrap());
        sleep(2 * RENEWAL).await;
        let present = slept.api.get("cargo-kube-dev-op").await.unwrap();
        assert!(slept.held_by_other(&present).is_none());
        of_slept.abort();
    }

    /// Somebody deletes it between two requests of the session.
    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_deleted_is_made_again() {
        let server = ApiServer::new();
        let own = lease(&server, "own");
        assert!(own.take().await.unwrap());
        let deleted = server.fault(Match::update::<Lease>().times(1), Fault::status(404, "NotFound"));
        assert!(own.take().await.unwrap(), "it is no namespace that is not there");
        assert_eq!(deleted.hits(), 1);
        let renewing = tokio::spawn(own.clone().keep_renewed());
        own.api.delete("cargo-kube-dev-op", &DeleteParams::default()).await.unwrap();
        sleep(RENEWAL + LOOK).await;
        assert!(own.held_by_other(&own.api.get("cargo-kube-dev-op").await.unwrap()).is_none());
        renewing.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn who_may_not_read_leases_goes_on_and_so_does_who_makes_the_namespace() {
        let server = ApiServer::new();
        let elsewhere =
            SessionLease::new(Client::new(server.clone(), "default"), "later", "op", "a".to_owned());
        assert!(!elsewhere.take().await.unwrap());
        let forbidden = server.fault(Match::get::<Lease>(), Fault::status(403, "Forbidden"));
        assert!(!lease(&server, "a").take().await.unwrap());
        assert_eq!(forbidden.hits(), 1);
    }
}
