//! Writes that take two steps: create unless it exists, and read, change, replace, again after a conflict.

use std::fmt::Debug;
use std::time::Duration;

use kube_core::Resource;
use kube_core::params::PostParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::util::rng::HasherRng;

use super::Api;
use super::entry::{CommitError, Entry};
use crate::client::Prune;
use crate::error::Error;

/// The most attempts of [`Api::get_or_create`] and of the updates, as client-go's `DefaultRetry`.
const ATTEMPTS: usize = 5;
/// The time between two attempts, up to a tenth more.
const WAIT: Duration = Duration::from_millis(10);
const JITTER: f64 = 0.1;

/// What a closure returns that changes an object: nothing, or a `Result` whose error ends the update.
///
/// `()` makes the update return `Result<K, kube_client::Error>`. `Result<(), E>` makes it return `Result<K, E>`, so `E` is the error of the
/// program that has a `From<kube_client::Error>`, a `Box<dyn Error>` or an `anyhow::Error`.
pub trait ChangeResult {
    /// The error of the update.
    type Error: From<Error>;

    /// The change as a `Result`.
    ///
    /// # Errors
    /// The error of the closure.
    fn into_result(self) -> Result<(), Self::Error>;
}

impl ChangeResult for () {
    type Error = Error;

    fn into_result(self) -> Result<(), Error> {
        Ok(())
    }
}

impl<E: From<Error>> ChangeResult for Result<(), E> {
    type Error = E;

    fn into_result(self) -> Self {
        self
    }
}

impl<K: Resource + Clone + Serialize + DeserializeOwned + Debug> Api<K> {
    /// The object `name`, as it is stored, or else created as `new` returns it.
    ///
    /// The new object gets the name and this `Api`'s namespace, unless it has its own. An object that exists is returned unchanged, also if
    /// it is being deleted (`metadata.deletion_timestamp`). If another client creates the object in the same moment, that one is returned.
    /// For a dry run or a field manager, use [`Api::entry`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, ResourceExt};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let settings = maps.get_or_create("settings", ConfigMap::default).await?;
    /// assert_eq!(settings.data.unwrap_or_default()["color"], "blue", "it existed");
    /// let fresh = maps.get_or_create("fresh", ConfigMap::default).await?;
    /// assert_eq!(fresh.name_any(), "fresh");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// One request if the object exists, otherwise two. Needs the permissions `get` and `create`.
    ///
    /// # Errors
    /// As [`Api::get`], except for an object that does not exist, and as [`Api::create`]. [`Error::BuildRequest`] if the new object has
    /// another name or namespace. [`Error::is_already_exists`] if five times in a row the object exists when it is created, and not when it
    /// is read.
    pub async fn get_or_create(&self, name: &str, new: impl FnOnce() -> K) -> crate::Result<K> {
        let mut vacant = match self.entry(name).await? {
            Entry::Occupied(entry) => return Ok(entry.into_object()),
            Entry::Vacant(entry) => entry.insert(new()),
        };
        let mut attempts = Attempts::new();
        loop {
            let error = match vacant.commit(&PostParams::default()).await {
                Ok(()) => return Ok(vacant.into_object()),
                Err(CommitError::Save(error)) if error.is_already_exists() => error,
                Err(CommitError::Save(error)) => return Err(error),
                Err(CommitError::Validate(error)) => return Err(invalid(error.to_string())),
            };
            if let Some(existing) = self.whole().get_opt(name).await? {
                return Ok(existing);
            }
            attempts.wait_after(error).await?;
        }
    }

    /// Reads the object `name`, changes it and replaces it; again, from reading, if another client has changed it in between.
    ///
    /// No change of another client is lost: the object is replaced only in the version that was read, whatever `change` does to
    /// `metadata.resource_version`. `change` is called once per attempt, each time with the object as it is then. If it changes nothing,
    /// nothing is sent, and the object is returned as read. If it returns an error (see [`ChangeResult`]), nothing is sent, and that is the
    /// error.
    ///
    /// Fields that `K` does not have are removed by the replacement, as with [`Api::replace`]: use
    /// [`DynamicObject`](crate::api::DynamicObject) for kinds of which the program knows a part. For a dry run or a field manager, use
    /// [`Api::entry`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// maps.update_with_retry("settings", |map| {
    ///     map.data.get_or_insert_default().insert("color".into(), "red".into());
    /// })
    /// .await?;
    ///
    /// // A change that may fail.
    /// let next = maps.update_with_retry("settings", |map| {
    ///     let data = map.data.get_or_insert_default();
    ///     let count: u32 = data.get("count").map_or(Ok(0), |count| count.parse())?;
    ///     data.insert("count".into(), (count + 1).to_string());
    ///     Ok::<(), Box<dyn std::error::Error>>(())
    /// })
    /// .await?;
    /// let data = next.data.unwrap_or_default();
    /// assert_eq!((data["color"].as_str(), data["count"].as_str()), ("red", "1"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Bounds
    /// Five attempts, 10 ms apart and up to a tenth more, as `retry.RetryOnConflict` with `DefaultRetry` in client-go. Only conflicts are
    /// repeated.
    ///
    /// # Cost
    /// Two requests per attempt, and one if nothing changes. Needs the permissions `get` and `update`.
    ///
    /// # Cancellation
    /// If the future is dropped, the object is changed or not.
    ///
    /// # Errors
    /// The conflict of the last attempt ([`Error::is_conflict`]); any other error as [`Api::get`] and [`Api::replace`]; that of `change`.
    pub async fn update_with_retry<C: ChangeResult>(
        &self,
        name: &str,
        change: impl FnMut(&mut K) -> C,
    ) -> Result<K, C::Error> {
        self.update(name, Target::Object, change).await
    }

    /// As [`Api::update_with_retry`], for the status of the object: the server ignores changes outside of it.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/deployment.txt")]
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let web = deployments.update_status_with_retry("web", |web| {
    ///     web.status.get_or_insert_default().observed_generation = web.metadata.generation;
    /// })
    /// .await?;
    /// assert_eq!(web.status.and_then(|status| status.observed_generation), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `kube::runtime::conditions::Conditions` sets the conditions of a status.
    ///
    /// # Cost
    /// As [`Api::update_with_retry`], with the permission `update` of the subresource `status`.
    ///
    /// # Errors
    /// As [`Api::update_with_retry`]; also code 404 if the kind has no status subresource.
    pub async fn update_status_with_retry<C: ChangeResult>(
        &self,
        name: &str,
        change: impl FnMut(&mut K) -> C,
    ) -> Result<K, C::Error> {
        self.update(name, Target::Status, change).await
    }

    async fn update<C: ChangeResult>(
        &self,
        name: &str,
        target: Target,
        mut change: impl FnMut(&mut K) -> C,
    ) -> Result<K, C::Error> {
        if self.metadata_only {
            let text = format!(
                "{name:?} is read without its content, so it cannot be replaced: expected an Api of the whole kind, or a patch"
            );
            return Err(invalid(text).into());
        }
        let (whole, mut attempts) = (self.whole(), Attempts::new());
        loop {
            let mut object = whole.get(name).await?;
            let (before, version) = (json(&object)?, object.meta().resource_version.clone());
            change(&mut object).into_result()?;
            object.meta_mut().resource_version = version;
            if json(&object)? == before {
                return Ok(object);
            }
            let params = PostParams::default();
            let replaced = match target {
                Target::Object => whole.replace(name, &params, &object).await,
                Target::Status => whole.replace_status(name, &params, &object).await,
            };
            match replaced {
                Err(error) if error.is_conflict() => attempts.wait_after(error).await?,
                other => return Ok(other?),
            }
        }
    }

    /// Reads whole objects, because they may be written back.
    fn whole(&self) -> Self {
        self.clone().prune(Prune::default())
    }
}

#[derive(Clone, Copy)]
enum Target {
    Object,
    Status,
}

fn json<K: Serialize>(object: &K) -> crate::Result<serde_json::Value> {
    serde_json::to_value(object).map_err(Error::SerdeError)
}

fn invalid(text: String) -> Error {
    Error::BuildRequest(kube_core::request::Error::Validation(text))
}

/// Counts attempts, and waits between two of them.
struct Attempts {
    failed: usize,
    backoff: ExponentialBackoff,
}

impl Attempts {
    fn new() -> Self {
        let backoff = ExponentialBackoffMaker::new(WAIT, WAIT, JITTER, HasherRng::new());
        let backoff = backoff.expect("invariant: the constants are in order").make_backoff();
        Self { failed: 0, backoff }
    }

    /// Waits before the next attempt; the error if this was the last one.
    async fn wait_after(&mut self, error: Error) -> crate::Result<()> {
        self.failed += 1;
        if self.failed == ATTEMPTS {
            return Err(error);
        }
        self.backoff.next_backoff().await;
        Ok(())
    }
}
