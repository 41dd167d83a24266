//! What a controller reconciles while its process leads, or stands by.

use super::elector::LeaderElector;
use futures::FutureExt;
use kube_core::panic::panic_message;
use kube_runtime::{
    controller::{Assigner, Assignment, Assignments},
    watcher::DefaultBackoff,
};
use std::panic::AssertUnwindSafe;

impl LeaderElector {
    /// Assigns all objects to the controllers of this process while it leads, and none while it does not.
    ///
    /// For [`Controller::assigned_by`](kube_runtime::Controller::assigned_by). The controllers of a standby process run as well, so that
    /// their caches are filled and a new leader needs no list. When the leadership ends, they start no reconcile any more; running ones are
    /// cancelled before another process can lead. They go on when this process leads again.
    ///
    /// `prepare` runs after each election, before the first reconcile: for checks or migrations that only a leader may do. It is dropped if
    /// the leadership ends meanwhile. If it panics, the panic is logged as an error, nothing is assigned, and the Lease is given up so that
    /// another process can lead; this one competes again after a wait of at least two retry periods and 0.8 s, which grows up to 30 s more
    /// while `prepare` keeps panicking.
    ///
    /// Ends, without giving the Lease up, when all of these assignments are dropped. [`release`](Self::release) the Lease after the
    /// controllers have ended.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    ///
    /// ```
    /// use futures::StreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_operator::leader_election::{Config, LeaderElector};
    /// use kube_runtime::{Controller, controller::Action, watcher};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    ///     let elector = LeaderElector::start(client.clone(), Config::new("my-operator", "default"))?;
    ///     Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
    ///         .assigned_by(elector.assignments(async || println!("this process leads")))
    ///         .shutdown_on_signal()
    ///         .run(
    ///             async |_, _| Ok::<_, Infallible>(Action::await_change()),
    ///             |_, _, _| Action::await_change(),
    ///             Arc::new(()),
    ///         )
    ///         # .take(1)
    ///         .for_each(async |_| ())
    ///         .await;
    ///     elector.release().await;
    ///     Ok(())
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// # run(client).await
    /// # }
    /// ```
    pub fn assignments<F>(&self, mut prepare: impl FnMut() -> F + Send + 'static) -> Assignments
    where
        F: Future<Output = ()> + Send,
    {
        let (elector, assigner) = (self.clone(), Assigner::new());
        let assignments = assigner.assignments();
        tokio::spawn(async move {
            tokio::select! {
                () = assigner.unused() => {}
                () = elector.assign(&assigner, &mut prepare) => {}
            }
        });
        assignments
    }

    /// Ends when the elector has stopped.
    async fn assign<F>(&self, assigner: &Assigner, prepare: &mut (impl FnMut() -> F + Send + 'static))
    where
        F: Future<Output = ()> + Send,
    {
        let mut backoff = DefaultBackoff::default();
        while self.wait_for_leadership().await.is_ok() {
            // The closure may panic too, so it is called within the future.
            let prepared = AssertUnwindSafe(async { prepare().await }).catch_unwind();
            let prepared = tokio::select! {
                _ = self.leadership_end() => continue,
                prepared = prepared => prepared,
            };
            if let Err(panic) = prepared {
                // A leader without work would keep the others from leading.
                let wait = backoff.next().unwrap_or_default();
                let (lease, message) = (self.lease(), panic_message(&*panic));
                tracing::error!(
                    lease,
                    message,
                    ?wait,
                    "leader election: the preparation panicked, the Lease is given up"
                );
                self.stand_aside(wait).await;
                continue;
            }
            backoff = DefaultBackoff::default();
            let (elector, worker) = (self.clone(), self.clone());
            let all = Assignment::all()
                .valid_while(move || elector.is_leader())
                .run_while(move || worker.may_work());
            drop(assigner.assign(all)); // which takes nothing away
            let ended = self.leadership_end().await;
            assigner.assign_by(Assignment::none(), ended + self.time_to_stop()).await;
        }
    }
}
