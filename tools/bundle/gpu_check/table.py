"""The readable end of it: what was measured beside its bar."""


def judge(result):
    """(measured, bar, verdict) of a result that has a bar, or None."""
    bar = result.get("bar")
    if bar is None:
        return None
    if "seconds" in result:
        return f"{result['seconds']:.2f} s", f"<= {bar} s", result["seconds"] <= bar
    if "torch_ms" in result:
        ratio = result.get("ratio")
        text = f"{ratio:.2f} x" if ratio is not None else "-"
        return text, f">= {bar} x", None if ratio is None else ratio >= bar
    reached = result.get("reached")
    digits = 0 if bar > 10 else 2
    text = f"{reached:.{digits}f}" if reached is not None else f"{result['ms']:.3f} ms"
    return text, f">= {bar}", None if reached is None else reached >= bar


def make_table(results):
    """Lines of a Markdown table of all results that have a bar, and one that counts the others."""
    rows = [("work", "bar", "measured", "")]
    for result in results:
        if judged := judge(result):
            measured, bar, met = judged
            rows.append((result["name"], bar, measured,
                         "not judged" if met is None else "met" if met else "MISSED"))
    outcomes = {}
    for result in results:
        outcomes[result["outcome"]] = outcomes.get(result["outcome"], 0) + 1
    counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    lines = []
    if len(rows) > 1:
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for i, row in enumerate(rows):
            lines.append("| " + " | ".join(cell.ljust(width)
                                           for cell, width in zip(row, widths)) + " |")
            if i == 0:
                lines.append("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines + [counted or "nothing was run"]
