"""From a store to a report: a table of findings per topic, and a picture.

    python store_report.py /data/rocketmq/store report/

Writes report/findings.parquet (each finding), report/topics.csv (a row per topic) and report/topics.png. Needs `rocketproof[spark]` and
matplotlib. Copy it and change it: the audit is one call, the rest is SQL.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import pandas as pd

from rocketproof_properties.commands import run as rocketproof
from rocketproof_traces.spark.session import session

mpl.use("Agg")  # a file, no window
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import SparkSession

SHOWN = 20  # topics in the picture, and printed
COLOURS = {"error": "#b3261e", "warning": "#e8a33d", "note": "#9aa5b1"}

PER_TOPIC = """
WITH stored AS (
    SELECT topic, count(*) AS messages, sum(size) AS bytes, min(storeTime) AS first, max(storeTime) AS last
    FROM log WHERE error IS NULL GROUP BY topic
), found AS (
    SELECT nullif(topic, '') AS topic, count_if(severity = 'error') AS error, count_if(severity = 'warning') AS warning,
           count_if(severity = 'note') AS note, concat_ws(', ', sort_array(collect_set(property))) AS properties
    FROM findings GROUP BY 1
)
SELECT coalesce(topic, '(no topic)') AS topic, ifnull(messages, 0) AS messages, ifnull(bytes, 0) AS bytes, first, last,
       ifnull(error, 0) AS error, ifnull(warning, 0) AS warning, ifnull(note, 0) AS note, ifnull(properties, '') AS properties
FROM stored FULL JOIN found USING (topic)
ORDER BY error DESC, warning DESC, note DESC, bytes DESC
"""


def report(spark: SparkSession, store: str, out: Path) -> pd.DataFrame:
    """Audit a store and write the three files. Gives the table per topic; exits with the audit's code if it could not decide."""
    code = rocketproof(["audit", store, "--out", str(out), "--limit", "10000"])  # 0 nothing found, 1 findings
    if code > 1:
        sys.exit(code)
    spark.read.parquet(str(out / "findings.parquet")).createOrReplaceTempView("findings")
    log = spark.read.format("rocketmq-commitlog").option("columns", "topic, size, storeTime, error")
    log.load(store).createOrReplaceTempView("log")
    topics = spark.sql(PER_TOPIC).toArrow().to_pandas()
    topics.to_csv(out / "topics.csv", index=False)
    draw(topics, store, out / "topics.png")
    return topics


def draw(topics: pd.DataFrame, store: str, path: Path) -> None:
    """Two panels over the same topics: what is stored, and what was found."""
    shown = topics.head(SHOWN).iloc[::-1]
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(11, 1.6 + 0.34 * len(shown)), layout="constrained")
    names = [name if len(name) <= 34 else name[:31] + "…" for name in shown["topic"]]
    rows = range(len(shown))

    left.barh(rows, shown["bytes"], color="#3a6ea5", height=0.7)
    left.set_yticks(rows, names)
    left.set_title("stored: bytes · messages", loc="left", fontsize=10)
    label(
        left,
        shown["bytes"].tolist(),
        [f"{size_text(size)} · {count:,}" for size, count in zip(shown["bytes"].tolist(), shown["messages"].tolist(), strict=True)],
    )

    before = pd.Series(0, index=shown.index)
    for severity, colour in COLOURS.items():
        if shown[severity].any():
            right.barh(rows, shown[severity], left=before, color=colour, height=0.7, label=f"{severity}s")
        before += shown[severity]
    right.set_title("findings", loc="left", fontsize=10)
    label(right, list(before), [f"{count:,}" if count else "" for count in before])
    if before.any():
        figure.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=3, frameon=False, fontsize=9)
    more = f"; the {SHOWN} topics with the worst findings" if len(topics) > SHOWN else ""
    messages, size = sum(topics["messages"].tolist()), sum(topics["bytes"].tolist())
    total = f"{len(topics)} topics, {messages:,} messages, {size_text(size)}"
    figure.suptitle(f"{store}\n{total}{more}", x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def label(axes: Axes, values: list[int], texts: list[str]) -> None:
    """A text at the end of each bar in the place of an axis."""
    for row, (value, text) in enumerate(zip(values, texts, strict=True)):
        axes.annotate(text, (value, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color="#333333")
    axes.set_ylim(-0.7, len(values) - 0.3)
    axes.set_xlim(0, max(1, *values) * 1.35)
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def size_text(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python store_report.py STORE FOLDER")
    table = report(session(), sys.argv[1], Path(sys.argv[2]))
    print(table.head(SHOWN).drop(columns="properties").to_string(index=False, max_colwidth=34))  # noqa: T201  (a script)
