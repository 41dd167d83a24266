//! The tables and their cases.

use serde::{Deserialize, Serialize};

/// The annotation of a changed object with the time of the change, in nanoseconds since the epoch.
pub(crate) const CHANGED_AT: &str = "bench/changed-at";

/// Cases that are printed in one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    Get,
    List,
    Watch,
    Reflector,
    Compact,
    Relist,
    Dispatch,
    Growth,
    Busy,
    Jemalloc,
    Floor,
    /// Without TLS.
    Plain,
    Build,
    /// On a genuine API server, which has to be there.
    Genuine,
}

impl Table {
    /// The tables that need nothing but this program.
    pub(crate) const ALL: [Self; 13] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Reflector,
        Self::Compact,
        Self::Relist,
        Self::Dispatch,
        Self::Growth,
        Self::Busy,
        Self::Jemalloc,
        Self::Floor,
        Self::Plain,
        Self::Build,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Reflector => "reflector",
            Self::Compact => "compact",
            Self::Relist => "relist",
            Self::Dispatch => "dispatch",
            Self::Growth => "growth",
            Self::Busy => "busy",
            Self::Jemalloc => "jemalloc",
            Self::Floor => "floor",
            Self::Plain => "plain",
            Self::Build => "build",
            Self::Genuine => "genuine",
        }
    }

    /// The numbers of objects, if the command line names none.
    pub(crate) fn default_counts(self) -> &'static [usize] {
        match self {
            Self::Growth => &[1_000, 10_000, 100_000, 1_000_000],
            Self::Relist => &[4_000],
            _ => &[20_000],
        }
    }

    /// The most rounds of kube 5.0.0, of which one takes many minutes with very many objects.
    pub(crate) fn most_baseline_rounds(self, count: usize) -> usize {
        if self == Self::Growth && count > MOST_PODS { 1 } else { usize::MAX }
    }

    /// The cases for a number of objects, by server.
    pub(crate) fn groups(self, count: usize) -> Vec<Group> {
        let pods = |cases| vec![Group { objects: Objects::new(Kind::Pods, count), cases }];
        let config_map = |cases| Group { objects: Objects::new(Kind::ConfigMaps, 1), cases };
        let get = |in_flight, one_connection| Case::Get { in_flight, requests: REQUESTS, one_connection };
        match self {
            Self::Get => {
                let cases = [true, false].into_iter().flat_map(|one_connection| {
                    [1, 16, 64, 256].map(|in_flight| get(in_flight, one_connection))
                });
                vec![config_map(cases.collect())]
            }
            Self::List => pods([false, true].map(|pruned| Case::List { count, pruned }).into()),
            Self::Watch => pods([false, true].map(|pruned| Case::Watch { count, pruned }).into()),
            Self::Reflector => {
                let cases = [false, true].into_iter().flat_map(|streaming| {
                    [false, true].map(|pruned| Case::Reflector { count, pruned, streaming })
                });
                pods(cases.collect())
            }
            Self::Compact => {
                let mut groups =
                    pods([false, true].map(|streaming| Case::Compact { count, streaming }).into());
                groups.extend(SMALL_CLUSTERS.map(|count| {
                    let kind = Kind::ConfigMaps;
                    Group { objects: Objects::new(kind, count), cases: vec![Case::Cache { count, kind }] }
                }));
                groups
            }
            Self::Relist => {
                let of_changes = |cache, streaming| Reconciles::Changes { cache, streaming };
                let reconciles = [
                    Reconciles::All,
                    of_changes(CacheKind::Ordinary, false),
                    of_changes(CacheKind::Ordinary, true),
                    of_changes(CacheKind::Compact, false),
                ];
                pods(reconciles.map(|reconciles| Case::Relist { count, reconciles }).into())
            }
            Self::Dispatch => {
                let alone = WORK_MS.map(|work_ms| Case::Applier { count, work_ms });
                let controllers = WORK_MS.map(|work_ms| Case::Dispatch { count, work_ms });
                let mut cases = [alone, controllers].concat();
                cases.push(Case::Tenants { count: TENANTS });
                vec![Group { objects: Objects::new(Kind::ConfigMaps, count), cases }]
            }
            Self::Growth => growth(count),
            Self::Plain => {
                let fill = |streaming| Case::Reflector { count, pruned: false, streaming };
                let bodies = [Case::List { count, pruned: false }, Case::Watch { count, pruned: false }];
                let mut groups = pods([bodies, [fill(false), fill(true)]].concat());
                groups.push(config_map([1, 16, 64].map(|in_flight| get(in_flight, false)).into()));
                groups.iter_mut().for_each(|group| group.objects.tls = false);
                groups
            }
            Self::Busy => {
                let reflector = |streaming| Case::Reflector { count, pruned: false, streaming };
                let cases = vec![
                    Case::List { count, pruned: false },
                    Case::Watch { count, pruned: false },
                    reflector(false),
                    reflector(true),
                ];
                let mut groups = pods(cases);
                groups.push(config_map([1, 16, 64].map(|in_flight| get(in_flight, false)).into()));
                groups
            }
            Self::Jemalloc => {
                let streaming = [false, true];
                let reflectors =
                    streaming.map(|streaming| Case::Reflector { count, pruned: false, streaming });
                let list = [Case::List { count, pruned: false }, Case::Watch { count, pruned: false }];
                let mut groups = pods([list, reflectors].concat());
                let dispatch = Case::Dispatch { count, work_ms: 0 };
                groups.push(Group { objects: Objects::new(Kind::ConfigMaps, count), cases: vec![dispatch] });
                groups
            }
            Self::Floor => {
                let floor = |floor| Case::Floor { count, floor };
                let fill = |streaming| floor(Floor::Fill { streaming });
                let get = |protocol| floor(Floor::Get { protocol, requests: REQUESTS });
                let [watch, pruned_watch] = [false, true].map(|pruned| floor(Floor::Watch { pruned }));
                let mut groups = pods(vec![floor(Floor::List), watch, pruned_watch, fill(false), fill(true)]);
                groups.push(config_map(WORK_MS.map(|work_ms| floor(Floor::Dispatch { work_ms })).into()));
                groups.push(config_map([Protocol::Http1, Protocol::Http2].map(get).into()));
                groups
            }
            Self::Build => vec![config_map(vec![Case::Build])],
            Self::Genuine => {
                let get = |in_flight| Genuine::Get { in_flight, requests: GENUINE_REQUESTS };
                let cases =
                    [get(1), get(16), get(64), Genuine::List { count }, Genuine::Watch { count: WATCHED }];
                vec![Group {
                    objects: Objects::new(Kind::ConfigMaps, WATCHED.max(count)),
                    cases: cases.map(Case::Genuine).into(),
                }]
            }
        }
    }
}

fn growth(count: usize) -> Vec<Group> {
    let group = |kind, case| Group { objects: Objects::new(kind, count), cases: vec![case] };
    let controller = vec![Case::Growth { count }, Case::Floor { count, floor: Floor::Keep }];
    let mut groups = vec![
        Group { objects: Objects::new(Kind::ConfigMaps, count), cases: controller },
        group(Kind::Metadata, Case::Cache { count, kind: Kind::Metadata }),
    ];
    // The server needs 8 GB for a million.
    if count <= MOST_PODS {
        groups.push(group(Kind::Pods, Case::Cache { count, kind: Kind::Pods }));
    }
    groups
}

/// The work of a reconcile in dispatches.
const WORK_MS: [u64; 3] = [0, 10, 1000];

/// Tenants that share workers with a noisy one.
const TENANTS: usize = 10_000;

/// The requests of `get`.
const REQUESTS: usize = 20_000;

/// The requests of `get` to a genuine server, which takes longer to respond.
const GENUINE_REQUESTS: usize = 10_000;

/// The events of a watch of a genuine server.
const WATCHED: usize = 50_000;

const MOST_PODS: usize = 100_000;

/// The ConfigMaps of clusters in which a compact cache could cost more than it saves.
const SMALL_CLUSTERS: [usize; 2] = [1_000, 10_000];

/// Cases that use the same server.
pub(crate) struct Group {
    pub(crate) objects: Objects,
    pub(crate) cases: Vec<Case>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Kind {
    Pods,
    ConfigMaps,
    /// The metadata of ConfigMaps.
    Metadata,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Objects {
    pub(crate) kind: Kind,
    pub(crate) count: usize,
    /// With HTTP/2 and HTTP/1.1, as in API servers. Else clients use HTTP/1.1.
    pub(crate) tls: bool,
}

impl Objects {
    pub(crate) fn new(kind: Kind, count: usize) -> Self {
        Self { kind, count, tls: true }
    }
}

/// Which objects a controller reconciles when it relists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Reconciles {
    /// All, as controllers do by default.
    All,
    /// Those that have changed.
    Changes { cache: CacheKind, streaming: bool },
}

/// How this workspace keeps objects. The cache of kube 5.0.0 is always an ordinary one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum CacheKind {
    Ordinary,
    Compact,
}

/// One measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Case {
    /// `one_connection`: the baseline over a single HTTP/2 connection.
    Get {
        in_flight: usize,
        requests: usize,
        one_connection: bool,
    },
    /// `pruned`: without `managedFields`.
    List {
        count: usize,
        pruned: bool,
    },
    Watch {
        count: usize,
        pruned: bool,
    },
    /// `streaming`: by a streaming list.
    Reflector {
        count: usize,
        pruned: bool,
        streaming: bool,
    },
    /// A compact cache of Pods, and reads of it.
    Compact {
        count: usize,
        streaming: bool,
    },
    /// The relist of a controller.
    Relist {
        count: usize,
        reconciles: Reconciles,
    },
    /// Keys in a queue, reconciled from a filled store.
    Applier {
        count: usize,
        work_ms: u64,
    },
    /// A controller, from its first request on.
    Dispatch {
        count: usize,
        work_ms: u64,
    },
    /// Tenants that share workers with one that asks for too much.
    Tenants {
        count: usize,
    },
    /// A controller of ConfigMaps: fill, dispatch, relist, changes.
    Growth {
        count: usize,
    },
    /// The fill of a compact cache.
    Cache {
        count: usize,
        kind: Kind,
    },
    /// A smallest program, without a library of Kubernetes.
    Floor {
        count: usize,
        floor: Floor,
    },
    /// A controller, built from nothing.
    Build,
    /// Requests to a genuine server.
    Genuine(Genuine),
}

/// Requests to a genuine server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Genuine {
    Get {
        in_flight: usize,
        requests: usize,
    },
    /// The ConfigMaps of one namespace, in one response.
    List {
        count: usize,
    },
    /// The events that begin a watch of all ConfigMaps: one for each that exists.
    Watch {
        count: usize,
    },
}

/// The work of a smallest program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Floor {
    List,
    Watch {
        pruned: bool,
    },
    /// The fill and the relist of a reflector.
    Fill {
        streaming: bool,
    },
    Dispatch {
        work_ms: u64,
    },
    /// Of the controller of ConfigMaps.
    Keep,
    Get {
        protocol: Protocol,
        requests: usize,
    },
}

impl Floor {
    /// The one that costs a smallest program less: for large bodies, HTTP/1.1.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Self::Get { protocol, .. } => protocol,
            _ => Protocol::Http1,
        }
    }

    /// The case that measures the same work of a library.
    pub(crate) fn of_library(self, count: usize) -> Case {
        match self {
            Self::List => Case::List { count, pruned: false },
            Self::Watch { pruned } => Case::Watch { count, pruned },
            Self::Fill { streaming } => Case::Reflector { count, pruned: false, streaming },
            Self::Dispatch { work_ms } => Case::Applier { count, work_ms },
            Self::Keep => Case::Growth { count },
            Self::Get { requests, .. } => Case::Get { in_flight: 1, requests, one_connection: false },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

impl Protocol {
    /// As TLS negotiates it.
    pub(crate) fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

impl Case {
    pub(crate) fn title(self) -> String {
        match self {
            Self::Get { in_flight, one_connection: true, .. } => {
                format!("`get`, {in_flight} in flight, baseline over one connection")
            }
            Self::Get { in_flight, one_connection: false, .. } => {
                format!("`get`, {in_flight} in flight, default settings")
            }
            Self::List { count, pruned: false } => format!("list of {count} Pods"),
            Self::Watch { count, pruned: false } => format!("watch of {count} Pods"),
            Self::Reflector { count, pruned: false, streaming: false } => {
                format!("reflector of {count} Pods")
            }
            Self::Reflector { count, pruned: false, streaming: true } => {
                format!("reflector of {count} Pods, streaming list")
            }
            Self::List { pruned: true, .. }
            | Self::Watch { pruned: true, .. }
            | Self::Reflector { pruned: true, .. } => "same, without `managedFields`".to_owned(),
            Self::Compact { count, streaming: false } | Self::Cache { count, kind: Kind::Pods } => {
                format!("compact cache of {count} Pods")
            }
            Self::Compact { streaming: true, .. } => "same, streaming list".to_owned(),
            Self::Relist { count, reconciles } => match reconciles {
                Reconciles::All => format!("controller of {count} Pods"),
                Reconciles::Changes { cache: CacheKind::Compact, .. } => {
                    "same, only changes, compact cache".to_owned()
                }
                Reconciles::Changes { streaming: true, .. } => {
                    "same, only changes, streaming list".to_owned()
                }
                Reconciles::Changes { .. } => "same, only changes".to_owned(),
            },
            Self::Applier { count, work_ms } => format!("{count} keys, {work_ms} ms of work"),
            Self::Dispatch { count, work_ms } => {
                format!("controller of {count} ConfigMaps, {work_ms} ms of work")
            }
            Self::Tenants { count } => {
                format!("{count} tenants and a noisy one; this workspace with lanes")
            }
            Self::Growth { count } => format!("controller of {count} ConfigMaps"),
            Self::Build => "controller with a derived type".to_owned(),
            Self::Genuine(Genuine::Get { in_flight, .. }) => format!("`get`, {in_flight} in flight"),
            Self::Genuine(Genuine::List { count }) => format!("list of {count} ConfigMaps"),
            Self::Genuine(Genuine::Watch { count }) => format!("watch, {count} events"),
            Self::Floor { count, floor } => match floor {
                Floor::Keep => format!("smallest program that keeps {count} ConfigMaps"),
                Floor::Get { protocol, .. } => {
                    format!("`get`, 1 in flight, smallest program over {}", protocol.name())
                }
                _ => floor.of_library(count).title(),
            },
            Self::Cache { count, kind: Kind::ConfigMaps } => format!("compact cache of {count} ConfigMaps"),
            Self::Cache { count, kind: Kind::Metadata } => {
                format!("compact cache of {count} `PartialObjectMeta`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_survives_the_command_line() {
        for case in Table::ALL.into_iter().flat_map(|table| table.groups(7)).flat_map(|group| group.cases) {
            let text = serde_json::to_string(&case).unwrap();
            assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), case);
        }
    }

    #[test]
    fn growth_has_pods_only_where_they_fit() {
        let pods = |count| {
            Table::Growth.groups(count).iter().filter(|group| group.objects.kind == Kind::Pods).count()
        };
        assert_eq!((pods(MOST_PODS), pods(MOST_PODS + 1)), (1, 0));
    }
}
