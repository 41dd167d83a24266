//! The cases of pods: one row each.

use super::{
    binding::{
        binding_collection, binding_dry, binding_missing, binding_other, binding_target, binding_twice,
        binding_verbs,
    },
    eviction::{
        eviction, eviction_budget, eviction_dry, eviction_kind, eviction_missing, eviction_other,
        eviction_precondition, eviction_unready, eviction_verbs, eviction_without_budget,
    },
    streams::{
        get_or_post, log_one_since, log_options, log_unreadable, log_verbs, log_waiting, missing, no_host,
        no_host_upgrade, which, wrong_container,
    },
    tokens::{
        token, token_bound, token_bound_kind, token_bound_missing, token_bound_other, token_default,
        token_expiry, token_kind, token_missing, token_verbs,
    },
};
use crate::case::{Case, core, since};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("pods/log-waiting", "the log of a container that has not started is empty: 204, with or without previous", log_waiting),
        core("pods/log-missing-404", "the log of a missing pod: 404", |cx| missing(cx, "log")),
        core("pods/log-which-container-400", "the log of one of several containers needs its name: 400, naming them", |cx| which(cx, "log")),
        core("pods/log-wrong-container-400", "the log of a container that the pod does not have: 400", |cx| wrong_container(cx, "log")),
        core("pods/log-options-422", "log options out of range: 422 of PodLogOptions with their causes", log_options),
        core("pods/log-options-400", "log options of the wrong type: 400", log_unreadable),
        core("pods/log-one-since-422", "sinceTime and sinceSeconds exclude each other: 422", log_one_since),
        core("pods/log-verbs-405", "other verbs than GET on a log: 405", log_verbs),
        core("pods/exec-missing-404", "exec in a missing pod: 404", |cx| missing(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-no-host-400", "exec in a pod without node: 400, for GET and POST", |cx| no_host(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-upgrade-no-host-400", "the same for requests to upgrade the connection: an ordinary HTTP response", |cx| no_host_upgrade(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-which-container-400", "exec in one of several containers needs its name: 400, naming them", |cx| which(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-wrong-container-400", "exec in a container that the pod does not have: 400", |cx| wrong_container(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-verbs-405", "exec is GET or POST: 405 for others", |cx| get_or_post(cx, "exec?command=ls&stdout=true")),
        core("pods/attach-missing-404", "attach to a missing pod: 404", |cx| missing(cx, "attach?stdout=true")),
        core("pods/attach-no-host-400", "attach to a pod without node: 400, for GET and POST", |cx| no_host(cx, "attach?stdout=true")),
        core("pods/attach-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "attach?stdout=true")),
        core("pods/attach-which-container-400", "attach to one of several containers needs its name: 400, naming them", |cx| which(cx, "attach?stdout=true")),
        core("pods/attach-wrong-container-400", "attach to a container that the pod does not have: 400", |cx| wrong_container(cx, "attach?stdout=true")),
        core("pods/attach-verbs-405", "attach is GET or POST: 405 for others", |cx| get_or_post(cx, "attach?stdout=true")),
        core("pods/portforward-missing-404", "port-forward to a missing pod: 404", |cx| missing(cx, "portforward?ports=80")),
        core("pods/portforward-no-host-400", "port-forward to a pod without node: 400, for GET and POST", |cx| no_host(cx, "portforward?ports=80")),
        core("pods/portforward-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "portforward")),
        core("pods/portforward-verbs-405", "port-forward is GET or POST: 405 for others", |cx| get_or_post(cx, "portforward?ports=80")),
        core("pods/eviction", "an eviction deletes the pod: 201 and a Status", eviction),
        since(27, core("pods/eviction-unready", "a Pod that is not ready is evicted despite its budget, with unhealthyPodEvictionPolicy AlwaysAllow (since 1.27)", eviction_unready)),
        core("pods/eviction-missing-404", "the eviction of a missing pod: 404", eviction_missing),
        core("pods/eviction-other-name-400", "an Eviction with another name than the path: 400", eviction_other),
        core("pods/eviction-wrong-kind-400", "a body that is no Eviction: 400", eviction_kind),
        core("pods/eviction-verbs-405", "other verbs than POST on an eviction: 405", eviction_verbs),
        core("pods/eviction-dry-run", "a dry run, by query or by delete options, evicts no pod", eviction_dry),
        core("pods/eviction-precondition-409", "preconditions of the delete options that do not hold: 409", eviction_precondition),
        core("pods/eviction-budget-429", "a budget without allowed disruptions: 429 with cause DisruptionBudget, also as a dry run", eviction_budget),
        core("pods/eviction-after-budget", "after the budget is deleted the eviction succeeds", eviction_without_budget),
        core("pods/binding-missing-404", "binding a missing pod: 404", binding_missing),
        core("pods/binding-other-name-400", "a Binding with another name than the path: 400", binding_other),
        core("pods/binding-target-500", "a Binding without a node is rejected: 500 with a reason", binding_target),
        core("pods/binding-dry-run", "a dry run binds nothing", binding_dry),
        core("pods/binding-by-collection", "a Binding may be posted to `bindings` as well", binding_collection),
        core("pods/binding-twice-409", "binding a pod that already has a node: 409, naming it", binding_twice),
        core("pods/binding-verbs-405", "other verbs than POST on a binding: 405", binding_verbs),
        core("pods/token", "a token has subject, audience and expiry", token),
        core("pods/token-default-expiry", "a token without a requested expiry is valid for an hour", token_default),
        core("pods/token-missing-404", "a token of a missing account: 404", token_missing),
        core("pods/token-expiry-422", "an expiry below ten minutes or above 2^32 seconds: 422", token_expiry),
        core("pods/token-bound", "a token bound to a pod of the account", token_bound),
        core("pods/token-bound-missing-404", "a token bound to a missing pod: 404", token_bound_missing),
        core("pods/token-bound-kind-400", "a token bound to an object that is neither pod nor secret: 400", token_bound_kind),
        core("pods/token-bound-other-account-400", "a token bound to a pod of another account: 400", token_bound_other),
        core("pods/token-wrong-kind-400", "a body that is no TokenRequest: 400", token_kind),
        core("pods/token-verbs-405", "a token can only be requested by POST: 405", token_verbs),
    ]
    .concat()
}
