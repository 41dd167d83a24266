//! How a name gets to the cluster at the address that is announced for it: whose that is, and the exchange where controllers run.

use super::{
    error::ClusterError,
    member::{Exchange, Member, TaskHandle},
    name::ClusterName,
    supervisor::{Report, Supervisor},
    tasks::{Identified, connect, exchange, next_wait, unidentified},
    unit::{Effect, Fault},
};
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Supervisor {
    /// The result of an attempt to connect.
    pub(super) fn connected(&mut self, name: &ClusterName, result: Result<Identified, Fault>) -> Vec<Effect> {
        let now = Instant::now();
        let result = self.identified(name, result, |(_, uid)| uid.as_ref());
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        let (client, uid) = match result {
            Ok(identified) => identified,
            Err(fault) => return member.unit.connected(Err(fault), now),
        };
        let uid = self.identities.uid_at(&member.spec, uid);
        match (self.identities.answered(name, uid), &member.cluster) {
            (Err(error), Some(_)) if member.leads_elsewhere() => self.refused_elsewhere(name, &error),
            (Err(error), _) => {
                self.identities.release(name);
                let effects = member.refused(&error, now);
                self.withdraw_clean_up_for(&error);
                effects
            }
            (Ok(_), Some(cluster)) => {
                let (name, attempt, present) = (name.clone(), member.attempt, cluster.client());
                let adopting = exchange(present, member.spec.config.clone());
                let adopting =
                    async move { (name, Report::Adopted { attempt, client, result: adopting.await }) };
                member.connecting = Some(TaskHandle(self.tasks.spawn(adopting)));
                Vec::new()
            }
            (Ok(_), None) => {
                member.answered(client);
                member.unit.connected(Ok(()), now)
            }
        }
    }

    /// Who is at the address that was announced for a running cluster. It is exchanged once that is known: controllers must not work for
    /// two names, or on the hub.
    pub(super) fn asked(
        &mut self,
        name: &ClusterName,
        wait: Duration,
        result: Result<Option<String>, Fault>,
    ) -> Vec<Effect> {
        let result = self.identified(name, result, Option::as_ref);
        let Some(member) = self.members.get_mut(name) else { return Vec::new() };
        if !member.unit.runs() {
            member.exchange = Exchange::None;
            return Vec::new();
        }
        let uid = match result {
            Ok(uid) => uid,
            Err(fault) => {
                if member.is_asked_again(&fault) {
                    let why = fault.reason();
                    tracing::warn!(
                        cluster = %name,
                        why,
                        "its new address is not used until it says which cluster it is; it keeps the old one"
                    );
                }
                self.ask(name, next_wait(wait, &fault));
                return Vec::new();
            }
        };
        member.exchange = Exchange::None;
        let uid = self.identities.uid_at(&member.spec, uid);
        match self.identities.moves(name, uid) {
            Err(error) => self.refused_elsewhere(name, &error),
            Ok(is_another) => {
                member.has_moved = is_another;
                self.commit(name);
                Vec::new()
            }
        }
    }

    /// A cluster that does not say which it is, at another address than the one that did, is neither the same nor another one.
    fn identified<T>(
        &self,
        name: &ClusterName,
        result: Result<T, Fault>,
        uid: impl Fn(&T) -> Option<&String>,
    ) -> Result<T, Fault> {
        let answer = result?;
        let is_open = |member: &Member| !member.spec.is_part && member.leads_elsewhere();
        let is_known = self.identities.uid_of(name).is_some();
        let is_unidentified =
            uid(&answer).is_none() && is_known && self.members.get(name).is_some_and(is_open);
        if is_unidentified { Err(unidentified()) } else { Ok(answer) }
    }

    /// The announced address leads to the cluster of another name, or to the hub.
    fn refused_elsewhere(&mut self, name: &ClusterName, error: &ClusterError) -> Vec<Effect> {
        self.withdraw_clean_up_for(error);
        let ring = self.identities.ring(name);
        for (at, name) in ring.iter().enumerate() {
            // Each would wait for ever for what the next one has.
            let holder = ring[(at + 1) % ring.len()].clone();
            let Some(member) = self.members.get_mut(name) else { continue };
            tracing::info!(cluster = %name, %holder, "it stops, because it exchanges its cluster with that of another name");
            let error = ClusterError::Twin { name: name.clone(), holder };
            let effects = member.let_go(&error, Instant::now());
            self.perform(name, effects);
        }
        match self.members.get_mut(name) {
            Some(member) if ring.is_empty() => member.refused_elsewhere(error, Instant::now()),
            _ => Vec::new(),
        }
    }

    /// The holder of a cluster leaves, and another name waits for it: what has not begun to clean up there does not begin.
    fn withdraw_clean_up_for(&self, error: &ClusterError) {
        let ClusterError::Twin { holder, .. } = error else { return };
        let holder = self.members.get(holder).filter(|member| member.unit.is_leaving());
        holder.inspect(|member| member.withdraw_clean_up());
    }

    /// Another name that gets the cluster of one that leaves: it waits for that, or is announced at its address and has not answered yet.
    pub(super) fn heir(&self, name: &ClusterName) -> Option<ClusterName> {
        if let Some(twin) = self.identities.waits_for(name) {
            return Some(twin.clone());
        }
        let member = self.members.get(name).filter(|member| !member.spec.is_part)?;
        let client = member.cluster.as_ref()?.client();
        let leads_there = |config: &kube_client::Config| {
            let is_same = member.spec.config.cluster_url == config.cluster_url;
            client.has_place_of(config) && (is_same || member.leads_elsewhere())
        };
        let mut others = self.members.iter().filter(|(other, _)| *other != name);
        let heir = others.find(|(other, heir)| {
            let may_be = !heir.unit.leaves_for_good() && !heir.spec.is_part;
            // One that is announced elsewhere now is known by what it has had until then.
            let is_open = self.identities.uid_of(other).is_none() || heir.leads_elsewhere();
            may_be && is_open && leads_there(&heir.spec.config)
        });
        heir.map(|(other, _)| other.clone())
    }

    /// Other credentials or another address were announced for a running cluster.
    pub(super) fn exchange(&mut self, name: &ClusterName) {
        let Some(member) = self.members.get_mut(name) else { return };
        let Some(cluster) = &member.cluster else { return };
        if member.is_being_exchanged() {
            member.exchange = Exchange::RunningAndWanted;
            return;
        }
        member.connecting = None; // what asks about an earlier announcement
        if cluster.client().has_server_of(&member.spec.config) {
            return self.commit(name);
        }
        self.attempts += 1;
        member.attempt = self.attempts;
        member.exchange = Exchange::Asking; // the one before may be outdated still
        self.ask(name, Duration::ZERO);
    }

    /// Asks the announced address after this time which cluster it is.
    fn ask(&mut self, name: &ClusterName, wait: Duration) {
        let Some(member) = self.members.get_mut(name) else { return };
        let (name, attempt) = (name.clone(), member.attempt);
        let connecting = connect(name.clone(), member.spec.config.clone(), self.options.clone());
        let asking = async move {
            sleep(wait).await;
            (name, Report::Asked { attempt, wait, result: connecting.await.map(|(_, uid)| uid) })
        };
        member.connecting = Some(TaskHandle(self.tasks.spawn(asking)));
    }

    /// Gives the client of a running cluster the announced configuration.
    fn commit(&mut self, name: &ClusterName) {
        let Some(member) = self.members.get_mut(name) else { return };
        let Some(cluster) = &member.cluster else { return };
        member.exchange = Exchange::Running;
        let (name, cluster) = (name.clone(), cluster.clone());
        let exchanging = exchange(cluster.client(), member.spec.config.clone());
        self.tasks.spawn(async move { (name, Report::Exchanged { cluster, result: exchanging.await }) });
    }
}
