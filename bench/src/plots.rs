//! Plots of the growth table: one per metric, with logarithmic axes.

use std::path::Path;

use anyhow::{Context, anyhow};
use plotters::prelude::*;

use crate::growth::{CURVES, Curve, Point};
use crate::results::Measured;

const SIZE: (u32, u32) = (800, 480);
const FONT: &str = "sans-serif";
// The shape of the points tells the lines apart without colours.
const WORKSPACE: RGBColor = RGBColor(0, 90, 181);
const BASELINE: RGBColor = RGBColor(220, 50, 32);

/// Writes the plots to a folder.
pub(crate) fn write(folder: &Path, measured: &[Measured]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for curve in &CURVES {
        let points = curve.points(measured);
        let path = folder.join(curve.file).with_extension("svg");
        std::fs::write(&path, draw(curve, &points)?).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The points of one library that a logarithmic axis can show.
fn positive(points: &[Point], value: fn(&Point) -> Option<f64>) -> Vec<(f64, f64)> {
    let values = points.iter().filter_map(|point| Some((point.objects as f64, value(point)?)));
    values.filter(|(_, value)| *value > 0.0).collect()
}

fn draw(curve: &Curve, points: &[Point]) -> anyhow::Result<String> {
    let workspace = positive(points, |point| Some(point.workspace));
    let baseline = positive(points, |point| point.baseline);
    let mut svg = String::new();
    draw_lines(&mut svg, curve, &workspace, &baseline).map_err(|error| anyhow!("{}: {error}", curve.file))?;
    Ok(svg)
}

fn draw_lines(
    svg: &mut String,
    curve: &Curve,
    workspace: &[(f64, f64)],
    baseline: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    let both = || workspace.iter().chain(baseline);
    let (few, many) = range(both().map(|(objects, _)| *objects));
    let (low, high) = range(both().map(|(_, value)| *value));
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(curve.title, (FONT, 18))
        .margin(16)
        .margin_right(40)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((few..many).log_scale(), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("objects")
        .y_desc(curve.metric)
        .x_label_formatter(&|objects| format!("{objects:.0}"))
        .y_label_formatter(&|value| label(*value))
        .label_style((FONT, 13))
        .light_line_style(TRANSPARENT)
        .draw()?;
    chart
        .draw_series(LineSeries::new(workspace.iter().copied(), WORKSPACE.stroke_width(2)))?
        .label(curve.program())
        .legend(|(x, y)| Circle::new((x + 9, y), 4, WORKSPACE.filled()));
    chart.draw_series(workspace.iter().map(|point| Circle::new(*point, 4, WORKSPACE.filled())))?;
    chart
        .draw_series(LineSeries::new(baseline.iter().copied(), BASELINE.stroke_width(2)))?
        .label("kube 5.0.0")
        .legend(|(x, y)| TriangleMarker::new((x + 9, y), 6, BASELINE.filled()));
    chart.draw_series(baseline.iter().map(|point| TriangleMarker::new(*point, 6, BASELINE.filled())))?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 13))
        .draw()?;
    root.present()?;
    Ok(())
}

/// The powers of ten around the values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (value.min(low), value.max(high)));
    if low > high {
        return (1.0, 10.0); // no values
    }
    let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
    (low, if high > low { high } else { low * 10.0 })
}

fn label(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_and_end_with_powers_of_ten() {
        assert_eq!(range([20.0, 3000.0].into_iter()), (10.0, 10_000.0));
        assert_eq!(range([100.0].into_iter()), (100.0, 1000.0));
        assert_eq!(range(std::iter::empty()), (1.0, 10.0));
    }

    #[test]
    fn a_plot_names_both_lines_and_the_metric() {
        let point = |objects, workspace, baseline| Point { objects, workspace, baseline };
        let svg = draw(&CURVES[0], &[point(10, 1.0, Some(0.0)), point(100, 30.0, None)]).unwrap();
        for text in ["this workspace", "kube 5.0.0", CURVES[0].metric, CURVES[0].title] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 3, "two points and the legend");
    }
}
