//! The tables and their cases.

use anyhow::Context;

/// A group of cases that use the same server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Get,
    List,
    Watch,
    Reflector,
    Dispatch,
}

impl Table {
    pub(crate) const ALL: [Self; 5] = [Self::Get, Self::List, Self::Watch, Self::Reflector, Self::Dispatch];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Reflector => "reflector",
            Self::Dispatch => "dispatch",
        }
    }

    /// The objects that the server has.
    pub(crate) fn objects(self, count: usize) -> Objects {
        match self {
            Self::Get => Objects { kind: Kind::ConfigMaps, count: 1 },
            Self::Dispatch => Objects { kind: Kind::ConfigMaps, count },
            Self::List | Self::Watch | Self::Reflector => Objects { kind: Kind::Pods, count },
        }
    }

    pub(crate) fn cases(self, count: usize) -> Vec<Case> {
        match self {
            Self::Get => {
                let case =
                    |in_flight, one_connection| Case::Get { in_flight, requests: 20_000, one_connection };
                [true, false]
                    .into_iter()
                    .flat_map(|one_connection| {
                        [1, 16, 64, 256].map(|in_flight| case(in_flight, one_connection))
                    })
                    .collect()
            }
            Self::List => vec![Case::List { count, pruned: false }, Case::List { count, pruned: true }],
            Self::Watch => vec![Case::Watch { count }],
            Self::Reflector => [false, true]
                .into_iter()
                .flat_map(|streaming| {
                    [false, true].map(|pruned| Case::Reflector { count, pruned, streaming })
                })
                .collect(),
            Self::Dispatch => {
                [0, 10, 1000].into_iter().map(|work_ms| Case::Dispatch { count, work_ms }).collect()
            }
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Pods,
    ConfigMaps,
}

#[derive(Clone, Copy)]
pub(crate) struct Objects {
    pub(crate) kind: Kind,
    pub(crate) count: usize,
}

/// One measurement.
#[derive(Clone, Copy)]
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
    },
    /// `streaming`: by a streaming list.
    Reflector {
        count: usize,
        pruned: bool,
        streaming: bool,
    },
    Dispatch {
        count: usize,
        work_ms: u64,
    },
}

impl Case {
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<usize> =
            parts.map(str::parse).collect::<Result<_, _>>().with_context(|| format!("measure: {text:?}"))?;
        match (name, &numbers[..]) {
            ("get", &[in_flight, requests, one_connection]) => {
                Ok(Self::Get { in_flight, requests, one_connection: one_connection == 1 })
            }
            ("list", &[count, pruned]) => Ok(Self::List { count, pruned: pruned == 1 }),
            ("watch", &[count]) => Ok(Self::Watch { count }),
            ("reflector", &[count, pruned, streaming]) => {
                Ok(Self::Reflector { count, pruned: pruned == 1, streaming: streaming == 1 })
            }
            ("dispatch", &[count, work_ms]) => Ok(Self::Dispatch { count, work_ms: u64::try_from(work_ms)? }),
            _ => anyhow::bail!("measure: unknown case {text:?}"),
        }
    }

    /// The form that [`Case::parse`] reads.
    pub(crate) fn to_arg(self) -> String {
        match self {
            Self::Get { in_flight, requests, one_connection } => {
                format!("get:{in_flight}:{requests}:{}", usize::from(one_connection))
            }
            Self::List { count, pruned } => format!("list:{count}:{}", usize::from(pruned)),
            Self::Watch { count } => format!("watch:{count}"),
            Self::Reflector { count, pruned, streaming } => {
                format!("reflector:{count}:{}:{}", usize::from(pruned), usize::from(streaming))
            }
            Self::Dispatch { count, work_ms } => format!("dispatch:{count}:{work_ms}"),
        }
    }

    pub(crate) fn title(self) -> String {
        match self {
            Self::Get { in_flight, one_connection: true, .. } => {
                format!("`get`, {in_flight} in flight, baseline over one connection")
            }
            Self::Get { in_flight, one_connection: false, .. } => {
                format!("`get`, {in_flight} in flight, default settings")
            }
            Self::List { count, pruned: false } => format!("list of {count} Pods"),
            Self::Watch { count } => format!("watch of {count} Pods"),
            Self::Reflector { count, pruned: false, streaming: false } => {
                format!("reflector of {count} Pods")
            }
            Self::Reflector { count, pruned: false, streaming: true } => {
                format!("reflector of {count} Pods, streaming list")
            }
            Self::List { pruned: true, .. } | Self::Reflector { pruned: true, .. } => {
                "same, without `managedFields`".to_owned()
            }
            Self::Dispatch { count, work_ms } => format!("{count} ConfigMaps, {work_ms} ms of work"),
        }
    }
}
