# SPDX-License-Identifier: BSD-3-Clause
"""A line chart as SVG, without any library."""
from math import ceil, log2
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 92, 190, 46, 74
COLOURS = ["#0b6e99", "#d9730d", "#6f9f3b", "#9a4fa3", "#8a8a8a", "#c03a3a"]


def step_of(largest):
    """A round distance between grid lines, with at most five steps from 0 to `largest`."""
    raw = largest / 5 or 1
    power = 10 ** (len(str(int(raw))) - 1) if raw >= 1 else 0.1
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)


def text(x, y, words, anchor="middle", size=12, colour="#333", turn=None):
    rotate = f' transform="rotate({turn} {x} {y})"' if turn is not None else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size}" fill="{colour}" '
            f'text-anchor="{anchor}"{rotate}>{escape(words)}</text>')


def line_chart(title, x_label, y_label, series, footnote, x_text=str):
    """`series`: {name: {x: y}}. The x axis is logarithmic and begins at the least x; the y axis begins at 0."""
    places = sorted({x for points in series.values() for x in points})
    first, last = log2(places[0]), log2(places[-1])
    largest = max(y for points in series.values() for y in points.values())
    step = step_of(largest)
    ceiling = step * ceil(largest / step)

    def at(x, y):
        across = (log2(x) - first) / ((last - first) or 1)
        return (LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / ceiling * (HEIGHT - TOP - BOTTOM))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(WIDTH / 2, 24, title, size=16),
           text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 34, x_label),
           text(18, (TOP + HEIGHT - BOTTOM) / 2, y_label, turn=-90),
           text(WIDTH - 8, HEIGHT - 8, footnote, "end", 10, "#888")]
    for i in range(round(ceiling / step) + 1):
        (left, y), (right, _) = at(places[0], i * step), at(places[-1], 0)
        out.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, y + 4, f"{i * step:g}", "end"))
    for x in places:
        out.append(text(at(x, 0)[0], HEIGHT - BOTTOM + 18, x_text(x)))
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        corners = [at(x, y) for x, y in sorted(points.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in corners]
        out.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{TOP + 22 * number}" width="12" height="12" fill="{colour}"/>')
        out.append(text(WIDTH - RIGHT + 34, TOP + 22 * number + 11, name, "start"))
    return "\n".join(out + ["</svg>", ""])
