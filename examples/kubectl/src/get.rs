//! `get`: objects as the server prints them.

use std::io::Write as _;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kube::ApiExt;
use kube::api::ListParams;
use kube::table::Table;

use crate::Cluster;
use crate::resources::{Selected, singular};

#[derive(Args)]
pub(crate) struct Get {
    /// TYPE, TYPE NAME... or TYPE/NAME...
    #[arg(required = true)]
    objects: Vec<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only objects with these labels.
    #[arg(short = 'l', long)]
    selector: Option<String>,
    #[arg(short, long)]
    output: Option<Output>,
    #[arg(long)]
    show_labels: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Output {
    Wide,
    Name,
}

impl Get {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let selected = cluster.select(&self.objects).await?;
        // One table for each kind.
        let mut tables: Vec<(String, bool, Table)> = Vec::new();
        for one in &selected {
            let (kind, table) = (singular(&one.mapping), self.table(cluster, one).await?);
            match tables.iter_mut().find(|(other, ..)| *other == kind) {
                Some((.., rows)) => rows.rows.extend(table.rows),
                None if table.rows.is_empty() => {}
                None => tables.push((kind, one.mapping.is_namespaced(), table)),
            }
        }
        if tables.is_empty() {
            let scope = match self.all_namespaces || selected.iter().all(|one| !one.mapping.is_namespaced()) {
                true => String::new(),
                false => format!(" in {} namespace.", cluster.namespace),
            };
            eprintln!("No resources found{scope}");
        }
        let mut out = std::io::stdout();
        let prefix = tables.len() > 1 || self.output == Some(Output::Name);
        for (at, (kind, namespaced, mut table)) in tables.into_iter().enumerate() {
            let name = table.column("Name").context("the table has no column Name")?;
            for cell in table.rows.iter_mut().map(|row| &mut row.cells[name]).filter(|_| prefix) {
                *cell = format!("{kind}/{}", cell.as_str().unwrap_or_default()).into();
            }
            match self.output {
                Some(Output::Name) => {
                    for row in &table.rows {
                        writeln!(out, "{}", row.cells[name].as_str().unwrap_or_default())?;
                    }
                }
                _ => writeln!(out, "{}{}", if at > 0 { "\n" } else { "" }, self.printed(&table, namespaced))?,
            }
        }
        Ok(())
    }

    async fn table(&self, cluster: &Cluster, selected: &Selected) -> anyhow::Result<Table> {
        let api = cluster.api(&selected.mapping, self.all_namespaces);
        let lp = ListParams { label_selector: self.selector.clone(), ..ListParams::default() };
        Ok(match &selected.name {
            Some(name) => api.get_table(name).await?,
            None => api.table(&lp).await?,
        })
    }

    fn printed(&self, table: &Table, namespaced: bool) -> String {
        let mut printer = table.printer();
        if self.output == Some(Output::Wide) {
            printer = printer.wide();
        }
        if self.all_namespaces && namespaced {
            printer = printer.with_namespace();
        }
        if self.show_labels {
            printer = printer.show_labels();
        }
        printer.to_string()
    }
}
