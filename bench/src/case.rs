//! What is measured, and what each figure has to be.

use anyhow::Context;

/// A group of cases that share a server.
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

    /// What the server holds.
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
                let case = |in_flight, alone| Case::Get { in_flight, requests: 20_000, alone };
                [true, false]
                    .into_iter()
                    .flat_map(|alone| [1, 16, 64].map(|in_flight| case(in_flight, alone)))
                    .collect()
            }
            Self::List => vec![Case::List { count, lean: false }, Case::List { count, lean: true }],
            Self::Watch => vec![Case::Watch { count }],
            Self::Reflector => {
                vec![Case::Reflector { count, lean: false }, Case::Reflector { count, lean: true }]
            }
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
    /// `alone`: over one connection, in the way each side has for it.
    Get {
        in_flight: usize,
        requests: usize,
        alone: bool,
    },
    /// `lean`: without `managedFields`, in the way each side has for it.
    List {
        count: usize,
        lean: bool,
    },
    Watch {
        count: usize,
    },
    Reflector {
        count: usize,
        lean: bool,
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
            ("get", &[in_flight, requests, alone]) => {
                Ok(Self::Get { in_flight, requests, alone: alone == 1 })
            }
            ("list", &[count, lean]) => Ok(Self::List { count, lean: lean == 1 }),
            ("watch", &[count]) => Ok(Self::Watch { count }),
            ("reflector", &[count, lean]) => Ok(Self::Reflector { count, lean: lean == 1 }),
            ("dispatch", &[count, work_ms]) => Ok(Self::Dispatch { count, work_ms: u64::try_from(work_ms)? }),
            _ => anyhow::bail!("measure: unknown case {text:?}"),
        }
    }

    /// The form that [`Case::parse`] reads.
    pub(crate) fn to_arg(self) -> String {
        match self {
            Self::Get { in_flight, requests, alone } => {
                format!("get:{in_flight}:{requests}:{}", usize::from(alone))
            }
            Self::List { count, lean } => format!("list:{count}:{}", usize::from(lean)),
            Self::Watch { count } => format!("watch:{count}"),
            Self::Reflector { count, lean } => format!("reflector:{count}:{}", usize::from(lean)),
            Self::Dispatch { count, work_ms } => format!("dispatch:{count}:{work_ms}"),
        }
    }

    pub(crate) fn title(self) -> String {
        match self {
            Self::Get { in_flight, alone: true, .. } => {
                format!("`get`, {in_flight} in flight, one connection")
            }
            Self::Get { in_flight, alone: false, .. } => format!("`get`, {in_flight} in flight, defaults"),
            Self::List { count, lean: false } => format!("list of {count} Pods"),
            Self::Watch { count } => format!("watch of {count} Pods"),
            Self::Reflector { count, lean: false } => format!("reflector of {count} Pods"),
            Self::List { lean: true, .. } | Self::Reflector { lean: true, .. } => {
                "the same without `managedFields`".to_owned()
            }
            Self::Dispatch { count, work_ms } => format!("{count} ConfigMaps, {work_ms} ms of work"),
        }
    }
}
