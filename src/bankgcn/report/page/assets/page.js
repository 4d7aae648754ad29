"use strict";
// Draws the figures and the graphs of a page from the data that it holds. Text goes into elements as text, never as HTML.

const DATA = JSON.parse(document.getElementById("data").textContent);
const DASHES = [
  "solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "8px,2px,2px,2px,2px,2px", "2px,6px", "14px,3px", "4px,2px",
  "16px,4px,4px,4px,4px,4px", "1px,3px,5px,3px", "10px,8px", "20px,3px,2px,3px", "6px,2px,2px,6px", "3px,3px,9px,3px",
];
const SYMBOLS = [
  "circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down", "circle-open", "square-open",
  "diamond-open", "triangle-up-open", "pentagon", "hexagram", "hourglass", "bowtie",
];
const DARK = ["#4da3d9", "#ff8a3d", "#2fc79b", "#e39cc4", "#f0b93a", "#8fd0f5", "#f2f2f2", "#a6a6a6"];
const LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz";
const SVG = "http://www.w3.org/2000/svg";
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)").matches;
const drawn = new Map(); // chart element -> what draws it again

const palette = () => (darkMode.matches ? DARK : DATA.colors);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const level = (letter) => LEVELS.indexOf(letter) / (LEVELS.length - 1);

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function shape(tag, attributes, parent) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (parent) parent.append(element);
  return element;
}

// ---- charts

async function loadPlotly() {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

function colorOf(series) {
  return series.color === null || series.color === undefined ? css("--soft") : palette()[series.color % palette().length];
}

// Sixteen styles; then each colour meets another one.
const styled = (styles, number) => styles[((number || 0) + Math.floor((number || 0) / styles.length)) % styles.length];

// Plotly reads some HTML in words: they are escaped, so that names show as they are.
function escaped(value) {
  if (Array.isArray(value)) return value.map(escaped);
  return typeof value === "string" ? value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : value;
}

function traceOf(series) {
  const trace = { x: escaped(series.x), y: escaped(series.y), name: escaped(series.name || ""), showlegend: Boolean(series.name) };
  const color = colorOf(series);
  if (series.axis === "y2") trace.yaxis = "y2";
  if (series.hidden) trace.visible = "legendonly";
  if (series.text) trace.text = escaped(series.text);
  if (series.kind === "heat") {
    const strong = palette()[0];
    const heat = {
      ...trace, type: "heatmap", z: series.z, zmin: 0, zmax: 1, colorscale: [[0, css("--card")], [1, strong]],
      showscale: false, xgap: 2, ygap: 2, texttemplate: "%{text}", textfont: { size: series.x.length > 6 ? 10 : 13 },
      hovertemplate: "true %{y}<br>predicted %{x}<br>%{text} graphs (%{z:.0%} of the class)<extra></extra>",
    };
    if (!series.neutral) return heat;
    const colorscale = [[0, css("--against")], [series.neutral, css("--card")], [1, css("--for")]];
    return { ...heat, colorscale, hovertemplate: "%{y}<br>filter %{x}<br>weight %{text}<extra></extra>" };
  }
  if (series.kind === "bars" && series.signed) { // what speaks for and against has the colours of the nodes
    return { ...trace, type: "bar", marker: { color: series.y.map((value) => css(value >= 0 ? "--for" : "--against")) } };
  }
  if (series.kind === "bars") {
    const pattern = { shape: series.dash ? "/" : "", fillmode: "overlay", solidity: 0.3, fgcolor: css("--card") };
    return { ...trace, type: "bar", marker: { color, pattern } };
  }
  if (series.error) trace.error_y = { type: "data", array: series.error, color, thickness: 1.5, width: 4 };
  const marker = { color, size: 8, symbol: styled(SYMBOLS, series.dash), opacity: series.x.length > 200 ? 0.45 : 0.9 };
  if (series.kind === "points") return { ...trace, type: "scatter", mode: "markers", marker };
  const dash = styled(DASHES, series.dash);
  const mode = series.error ? "lines+markers" : "lines";
  return { ...trace, type: "scatter", mode, marker, line: { color, dash, width: 2.2 } };
}

function axisOf(axis, more) {
  const layout = {
    title: { text: escaped(axis.title || ""), standoff: 8 }, gridcolor: css("--line"), linecolor: css("--line"), zeroline: false,
    automargin: true, ...more,
  };
  if (axis.words) Object.assign(layout, { categoryorder: "array", categoryarray: escaped(axis.words) });
  if (axis.limits) layout.range = axis.limits;
  if (axis.log) layout.type = "log";
  if (axis.reverse) layout.autorange = "reversed";
  return layout;
}

function showChart(element, chart) {
  const narrow = element.clientWidth < 480;
  const heat = chart.series.some((series) => series.kind === "heat");
  const words = chart.series.some((series) => series.x && typeof series.x[0] === "string");
  const names = chart.series.filter((series) => series.name);
  const entry = 55 + 7 * Math.max(0, ...names.map((series) => series.name.length)); // the legend has columns of one width
  element.style.maxWidth = "";
  let width = element.clientWidth || 600;
  const beside = names.length > 4 && chart.square && width > 330 + entry; // a long legend stands beside a square
  if (chart.square) { // no wider than it is high, and in the middle
    width = Math.min(width, (chart.height || 340) + (beside ? entry + 60 : 40));
    Object.assign(element.style, { maxWidth: `${width}px`, margin: "0 auto" });
  }
  const legendRows = beside ? 0 : Math.ceil(names.length / Math.max(1, Math.floor((width - 70) / entry)));
  const side = Math.min(chart.height || 340, width - (beside ? entry : 0)); // of a square, with the words at its axes
  const layout = {
    height: (chart.square ? side + 40 : chart.height || 340) + 19 * legendRows, margin: { l: 10, r: 10, t: 14, b: 10 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--text"), size: narrow ? 11 : 13, family: "inherit" },
    xaxis: axisOf(chart.x, heat || words ? { type: "category" } : {}), yaxis: axisOf(chart.y, heat ? { type: "category" } : {}),
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, dragmode: coarse ? false : "zoom", hovermode: "closest",
    hoverlabel: { bgcolor: css("--card"), font: { color: css("--text") } }, barmode: "group", bargap: 0.25,
    shapes: [], annotations: [],
  };
  if (beside) Object.assign(layout.legend, { orientation: "v", x: 1.02, y: 1, yanchor: "top" });
  if (chart.square) {
    Object.assign(layout.yaxis, { scaleanchor: "x", scaleratio: 1, constrain: "domain" });
    Object.assign(layout.xaxis, { constrain: "domain", constraintoward: beside ? "left" : "center" });
  }
  if (narrow && layout.xaxis.title.text.length > 40) layout.xaxis.title.text = layout.xaxis.title.text.replace(" (", "<br>(");
  if (chart.y2) layout.yaxis2 = axisOf(chart.y2, { overlaying: "y", side: "right", showgrid: false, tickmode: "auto", nticks: 6 });
  for (const [x, word] of chart.marks || []) {
    layout.shapes.push({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: css("--soft"), dash: "dot" } });
    layout.annotations.push({ x, y: 1, yref: "paper", text: word, showarrow: false, xanchor: "left", yanchor: "top", xshift: 4 });
  }
  const options = { responsive: true, displaylogo: false, displayModeBar: false };
  drawn.set(element, () => showChart(element, chart));
  return window.Plotly.react(element, chart.series.map(traceOf), layout, options);
}

function setUpFigure(figure) {
  const { charts, facts } = DATA.figures[figure.dataset.figure];
  const selects = [...figure.querySelectorAll(".choices select")];
  const fact = figure.querySelector(".fact");
  const update = () => {
    const place = selects.reduce((sum, select) => sum * select.options.length + select.selectedIndex, 0);
    if (facts && facts[place]) {
      fact.textContent = facts[place];
      fact.hidden = false;
    }
    return showChart(figure.querySelector(".chart"), charts[place]);
  };
  selects.forEach((select) => select.addEventListener("change", update));
  return update();
}

// ---- single graphs

function mix(color, share) {
  return `color-mix(in srgb, ${color} ${Math.round(share * 100)}%, ${css("--card")})`;
}

// What is written at a node: a chemist's label, or else its word.
function written(graph, node, word) {
  return graph.labels ? graph.labels[node] : word;
}

// How to paint the nodes: fill, text and tooltip of each.
function paintSignal(graph) {
  const { words, colors, levels } = graph.signal;
  if (colors) return colors.map((color) => ({ fill: color }));
  if (words) {
    const kinds = [...new Set(words)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return words.map((word, node) => ({
      fill: mix(palette()[kinds.indexOf(word) % 8], 0.45), text: written(graph, node, word), note: word,
    }));
  }
  const high = Math.max(...levels, 1e-30);
  return levels.map((value) => ({ fill: mix(palette()[0], value / high), note: value.toPrecision(3) }));
}

// What the edges decided: an edge without effect is thin and grey.
function edgeEvidence(graph, output, scale) {
  return (unit) => graph.edge_evidence[output].map((value) => {
    const share = Math.min(1, Math.abs(value) / (scale || 1e-30));
    const stroke = `color-mix(in srgb, ${css(value >= 0 ? "--for" : "--against")} ${Math.round(share * 100)}%, ${css("--line")})`;
    return { stroke, width: unit * (0.06 + 0.12 * share), note: signed(value), dashed: value < 0 && share > 0.05 };
  });
}

// The weights of the edges for a filter, from 0 to 2: colour and width; 1 is neutral.
const weightColor = (weight) => `color-mix(in srgb, ${css(weight >= 1 ? "--for" : "--against")} ${Math.round(Math.min(1, Math.abs(weight - 1)) * 100)}%, ${css("--neutral")})`;
const weightWidth = (weight, unit) => unit * (0.03 + 0.15 * weight);

function edgeWeights(graph, weights) {
  return (unit) => graph.edge_kinds.map((kind) => ({
    stroke: weightColor(weights[kind]), width: weightWidth(weights[kind], unit), note: weights[kind].toFixed(2),
  }));
}

const STRONGEST = 0.8; // of a colour, so that words on it can be read
const signed = (value) => `${value >= 0 ? "+" : "−"}${+Math.abs(value).toPrecision(3)}`;

// What decided, on the scale of colours that all graphs share.
function paintEvidence(output, scale) {
  return (graph) => {
    const words = graph.elements || graph.signal.words;
    return graph.evidence[output].map((value, node) => ({
      fill: mix(css(value >= 0 ? "--for" : "--against"), STRONGEST * Math.min(1, Math.abs(value) / (scale || 1e-30))), dashed: value < 0,
      text: words && written(graph, node, words[node]), note: `${words ? words[node] + " " : ""}${signed(value)}`,
    }));
  };
}

function paintPlain(graph) {
  const words = graph.elements || (graph.signal && graph.signal.words);
  if (graph.signal && graph.signal.colors) return paintSignal(graph);
  return Array.from({ length: graph.places.length / 2 }, (_, node) => ({
    fill: graph.labels ? "none" : mix(palette()[0], 0.35), text: words && written(graph, node, words[node]),
  }));
}

function directions(graph) {
  const around = Array.from({ length: graph.places.length / 2 }, () => []);
  const { places, lines } = graph;
  for (let e = 0; e < lines.length; e += 2) {
    const [a, b] = [lines[e], lines[e + 1]];
    const angle = Math.atan2(places[2 * b + 1] - places[2 * a + 1], places[2 * b] - places[2 * a]);
    around[a].push(angle);
    around[b].push(angle + Math.PI);
  }
  return around;
}

// Hydrogens stand where no bond is: right, left, below or above.
function freeSide(angles) {
  const sides = [[0, "right"], [Math.PI, "left"], [Math.PI / 2, "below"], [-Math.PI / 2, "above"]];
  const room = ([side]) => Math.min(Math.PI, ...angles.map((angle) => Math.abs(Math.atan2(Math.sin(angle - side), Math.cos(angle - side)))));
  return sides.reduce((best, side) => (room(side) > room(best) + 0.3 ? side : best))[1];
}

function drawLabel(svg, label, x, y, size, angles, back) {
  const [, isotope, element, hydrogen, count, charge] = /^(\d*)([A-Z][a-z]?)(H?)(\d*)([+-]\d*)?$/.exec(label) || [, "", label, "", "", ""];
  const style = (share) => `font-size:${size * share}px`;
  const put = (text, dx, dy, anchor, share) => {
    const attributes = { x: x + dx, y: y + dy, fill: css("--text"), style: `${style(share)};text-anchor:${anchor}` };
    if (back) Object.assign(attributes, { stroke: back, "stroke-width": size / 6, "paint-order": "stroke" });
    shape("text", attributes, svg).textContent = text;
  };
  const half = size * 0.43 * Math.max(1, element.length * 0.8);
  if (isotope) put(isotope, -half, -size * 0.4, "end", 0.65);
  const side = freeSide(angles);
  const wide = size * (0.72 + (count ? 0.38 : 0));
  if (hydrogen) {
    const start = { right: half, left: -half - wide, below: -size * 0.36, above: -size * 0.36 }[side];
    const down = { right: 0, left: 0, below: size * 0.95, above: -size * 0.95 }[side];
    put("H", start, down, "start", 1);
    if (count) put(count, start + size * 0.7, down + size * 0.32, "start", 0.65);
  }
  if (charge) {
    const word = charge.length > 1 ? charge.slice(1) + charge[0] : charge[0];
    put(word.replace("-", "−"), half + (hydrogen && side === "right" ? wide : 0), -size * 0.42, "start", 0.75);
  }
  put(element, 0, 0, "middle", 1);
}

// One line for each edge, with a colour and a width of its own; it ends before a label.
function drawEdges(graph, svg, styles, kind, labelled) {
  const { places, lines } = graph;
  styles.forEach(({ stroke, width, note, dashed }, edge) => {
    const [a, b] = [lines[2 * edge], lines[2 * edge + 1]];
    const [dx, dy] = [places[2 * b] - places[2 * a], places[2 * b + 1] - places[2 * a + 1]];
    const [from, to] = [a, b].map((node) => Math.min(0.45, labelled[node] / (Math.hypot(dx, dy) || 1)));
    const line = shape("line", {
      x1: places[2 * a] + dx * from, y1: places[2 * a + 1] + dy * from, x2: places[2 * b] - dx * to, y2: places[2 * b + 1] - dy * to,
      stroke, "stroke-width": width, "stroke-linecap": "round",
    }, svg);
    if (dashed) line.setAttribute("stroke-dasharray", `${width} ${1.6 * width}`);
    shape("title", {}, line).textContent = `${a}-${b}, ${graph.edge_words[graph.edge_kinds[edge]]}: ${kind} ${note}`;
  });
}

function drawLines(graph, svg, stroke, gap, labelled) {
  const { places, lines, orders, sides } = graph;
  for (let e = 0; e < lines.length; e += 2) {
    const [a, b] = [lines[e], lines[e + 1]];
    const order = orders ? orders[e / 2] : 1;
    const side = sides ? sides[e / 2] : 0;
    const [dx, dy] = [places[2 * b] - places[2 * a], places[2 * b + 1] - places[2 * a + 1]];
    const length = Math.hypot(dx, dy) || 1;
    const shifts = order === 3 ? [-gap, 0, gap] : order === 1 ? [0] : side ? [0, side * gap] : [-gap / 2, gap / 2];
    shifts.forEach((shift, place) => {
      const inner = place && side ? 0.14 * length : 0; // the second line in a ring is shorter
      const [from, to] = [a, b].map((node) => Math.min(0.45 * length, Math.max(inner, labelled[node])));
      const [sx, sy] = [(-dy / length) * shift, (dx / length) * shift];
      const [ux, uy] = [dx / length, dy / length];
      const line = {
        x1: places[2 * a] + sx + ux * from, y1: places[2 * a + 1] + sy + uy * from,
        x2: places[2 * b] + sx - ux * to, y2: places[2 * b + 1] + sy - uy * to, ...stroke,
      };
      if (order === 4 && place) line["stroke-dasharray"] = `${gap} ${gap * 0.7}`;
      shape("line", line, svg);
    });
  }
}

function typicalLength(graph) {
  const { places, lines } = graph;
  const lengths = [];
  for (let e = 0; e < lines.length; e += 2) {
    const [a, b] = [2 * lines[e], 2 * lines[e + 1]];
    lengths.push(Math.hypot(places[a] - places[b], places[a + 1] - places[b + 1]));
  }
  lengths.sort((a, b) => a - b);
  return lengths.length ? Math.min(260, lengths[lengths.length >> 1]) : 200;
}

// The view: as large as the drawing, and for small graphs larger, so that bonds have about one length on all drawings.
function viewOf(graph, pad, unit, small) {
  const { places } = graph;
  const [xs, ys] = [0, 1].map((side) => places.filter((_, place) => place % 2 === side));
  const [right, bottom] = [Math.max(...xs), Math.max(...ys)];
  const width = Math.max(right, unit * (small ? 3 : 7.5)) + 2 * pad;
  const height = Math.max(bottom, unit * 1.5) + 2 * pad;
  return `${(right - width) / 2} ${(bottom - height) / 2} ${width} ${height}`;
}

function drawGraph(graph, paint, small, edges) {
  const { places } = graph;
  const unit = typicalLength(graph);
  const image = Boolean(graph.signal && graph.signal.colors);
  const molecule = Boolean(graph.labels);
  const radius = Math.min(image ? 38 : 0.3 * unit, molecule ? 1e9 : 34);
  const pad = Math.max(45, molecule ? 0.95 * unit : 0);
  const svg = shape("svg", { class: "graph", viewBox: viewOf(graph, pad, image ? 0 : unit, small), role: "img" });
  const stroke = { stroke: css(molecule ? "--text" : "--soft"), "stroke-width": small ? Math.max(6, unit / 14) : Math.max(2, unit / 24), "stroke-linecap": "round", "stroke-opacity": image ? 0.12 : 0.85 };
  const nodes = paint(graph);
  const circles = shape("g", {}, svg);
  const bonds = shape("g", {}, svg);
  const size = Math.min(0.5 * unit, 110);
  const far = nodes.map((node) => (molecule && node.text ? size * 0.62 : 0));
  if (edges) drawEdges(graph, circles, edges(unit), small ? "weight" : "adds", far);
  else drawLines(graph, molecule ? bonds : circles, stroke, unit * 0.13, far);
  const around = molecule ? directions(graph) : [];
  nodes.forEach((node, v) => {
    const at = { cx: places[2 * v], cy: places[2 * v + 1], r: Math.max(9, molecule ? 0.36 * unit : radius), fill: node.fill };
    const outline = molecule ? { stroke: node.fill, "stroke-width": unit / 40 } : { stroke: css("--soft"), "stroke-width": image ? 0.5 : small ? 3 : 2 };
    const circle = shape("circle", { ...at, ...outline }, circles);
    if (node.dashed) circle.setAttribute("stroke-dasharray", molecule ? `${unit / 12} ${unit / 12}` : "7 5");
    if (node.dashed && molecule) circle.setAttribute("stroke", css("--against"));
    if (node.dashed && molecule) circle.setAttribute("stroke-opacity", 0.5);
    if (node.note) shape("title", {}, circle).textContent = `node ${v}: ${node.note}`;
    if (!node.text) return;
    if (molecule) drawLabel(svg, node.text, at.cx, at.cy, size, around[v], null);
    else if (!small && radius > 12) {
      const font = Math.min(30, (radius * 1.7) / Math.max(1, node.text.length * 0.62));
      shape("text", { x: at.cx, y: at.cy, fill: css("--text"), style: `font-size:${font}px` }, svg).textContent = node.text;
    }
  });
  svg.setAttribute("aria-label", `Drawing of ${graph.name}`);
  return svg;
}

// The scale of colours, which all graphs of a page share.
function scaleOf(kind, name, scale) {
  const box = make("div", "scale");
  const values = kind === "values";
  const most = +scale.toPrecision(2);
  const bar = make("i");
  bar.style.background = `linear-gradient(to right, ${mix(css("--against"), STRONGEST)}, ${css("--card")}, ${mix(css("--for"), STRONGEST)})`;
  box.append(make("span", "", `−${most} or less: ${values ? "lowers" : "against"} ${name}`), bar, make("span", "", `+${most} or more: ${values ? "raises" : "for"} ${name}`));
  return box;
}

function legendOf(graph) {
  const legend = make("div", "legend");
  const add = (color, word) => {
    const item = make("span");
    const dot = make("b");
    dot.style.background = color;
    item.append(dot, word);
    legend.append(item);
  };
  if (graph.signal.words) {
    const kinds = [...new Set(graph.signal.words)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    kinds.forEach((word, place) => add(mix(palette()[place % 8], 0.45), word));
  } else if (graph.signal.colors) legend.textContent = "the colours of the image";
  else legend.textContent = "the stronger the colour of a node, the larger its signal";
  return legend;
}

function predictionRows(graph, output) {
  const box = make("div", "rows");
  for (const [number, name, value, truth] of graph.rows) {
    const known = truth !== null && truth !== undefined;
    const right = graph.kind === "classes" && truth === 1;
    const row = make("div", `bar${right ? " true" : ""}${number === output ? " explained" : ""}`);
    const bar = make("div");
    if (graph.kind !== "values") { // a probability
      const inner = make("i");
      inner.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
      bar.append(inner);
    }
    const wrong = graph.kind === "labels" && known && (value >= 0.5) !== (truth === 1);
    const shown = graph.kind === "values" ? `${+value.toPrecision(4)}` : value.toFixed(3);
    const told = graph.kind === "classes" ? "" : known ? `true ${+truth.toPrecision(4)}${wrong ? " ✗" : ""}` : "not known";
    const label = make("span", "", name + (right ? " (true)" : ""));
    label.title = name;
    row.append(label, bar, make("span", "", shown), make("span", "told", told));
    box.append(row);
  }
  return box;
}

function chartBox(parent, title, chart) {
  const box = make("div");
  box.append(make("h5", "", title));
  const element = make("div", "chart");
  box.append(element);
  parent.append(box);
  return () => showChart(element, chart);
}

function drawingOf(graph, output, shared) {
  const box = make("div");
  const choices = make("div", "choices");
  const label = make("label", "", graph.edge_evidence ? "colour by " : "colour the nodes by ");
  const select = make("select", "view");
  const views = [["evidence", "what decided"], ...(graph.edge_evidence ? [["edges", "what decided: edges"]] : []), ["signal", "node signal"]];
  for (const [value, word] of views) {
    const option = make("option", "", word);
    option.value = value;
    select.append(option);
  }
  label.append(select);
  choices.append(label);
  choices.hidden = Boolean(graph.signal.colors && !graph.edge_evidence);
  const canvas = make("div", "drawing chart");
  const scale = shared.scales[output];
  const name = nameOf(graph, output);
  const less = graph.kind === "classes" ? ", less the mean over the classes" : "";
  const paint = () => {
    const method = make("p", "caption", `Shown: what each node adds to ${name}${less}. ${graph.method}.`);
    if (select.value === "edges") {
      const drawing = drawGraph(graph, paintPlain, false, edgeEvidence(graph, output, shared.edge_scales[output]));
      const about = make("p", "caption", `Shown: what each edge adds to ${name}${less}. ${graph.edge_method}.`);
      canvas.replaceChildren(drawing, scaleOf(graph.kind, name, shared.edge_scales[output]), about);
      return;
    }
    const evidence = drawGraph(graph, paintEvidence(output, scale));
    if (graph.signal.colors) { // an image is shown beside what decided
      const both = make("div", "pair");
      both.append(drawGraph(graph, paintSignal), evidence);
      canvas.replaceChildren(both, scaleOf(graph.kind, name, scale), method);
    } else if (select.value === "signal") canvas.replaceChildren(drawGraph(graph, paintSignal), legendOf(graph));
    else canvas.replaceChildren(evidence, scaleOf(graph.kind, name, scale), method);
  };
  select.addEventListener("change", paint);
  drawn.set(canvas, paint);
  box.append(choices, canvas);
  paint();
  return box;
}

function nameOf(graph, output) {
  const row = graph.rows.find(([number]) => number === output);
  const name = row ? row[1] : (DATA.graphs.flatMap((shared) => shared.outputs).find(([number]) => number === output) || ["", ""])[1];
  return `${graph.kind === "classes" ? "class " : ""}${name}`;
}

// Spectrum, bands and filters of one graph, for readers who are after them.
function frequenciesOf(graph, output, unfolded) {
  const fold = make("details", "frequencies");
  fold.append(make("summary", "", "Frequencies and filters of this graph"));
  const pair = make("div", "pair");
  fold.append(pair);
  const later = [];
  if (graph.spectrum) {
    const { lam, energy } = graph.spectrum;
    const x = lam.flatMap((value) => [value, value, null]);
    const y = energy.flatMap((value) => [0, value, null]);
    later.push(chartBox(pair, "Spectrum of the node signal", {
      height: 230, x: { title: "frequency λ", limits: [-0.02, 2.02] }, y: { title: "share of energy" },
      series: [{ kind: "line", color: 0, x, y }, { kind: "points", color: 0, x: lam, y: energy }],
    }));
  }
  if (graph.bands) {
    const bands = graph.bands[output];
    const width = 2 / bands.length;
    const x = bands.map((_, band) => `${+(band * width).toFixed(2)}-${+((band + 1) * width).toFixed(2)}`);
    later.push(chartBox(pair, `Which frequencies decided for ${nameOf(graph, output)}`, {
      height: 230, x: { title: "band of frequencies λ" }, y: { title: "for (+) or against (−)" },
      series: [{ kind: "bars", signed: true, x, y: bands }],
    }));
  }
  if (graph.weights) fold.append(make("p", "caption", "Spectrum and bands are those of the graph without the features of its edges."));
  if (graph.places && graph.outputs && graph.outputs.length) fold.append(filterOutputs(graph));
  const open = () => { // charts need their width
    if (fold.open) later.splice(0).forEach((draw) => draw());
  };
  fold.addEventListener("toggle", open);
  fold.open = unfolded;
  return [fold, open];
}

function showGraph(graph, detail, shared) {
  // Read from the page: a fold says that it was opened only in a later task, and the next graph may come before it.
  const unfolded = Boolean(detail.querySelector("details.frequencies[open]"));
  detail.querySelectorAll(".chart").forEach((element) => drawn.delete(element));
  detail.replaceChildren();
  detail.append(make("h4", "", graph.name));
  if (graph.smiles && graph.smiles !== graph.name) detail.append(make("p", "smiles", graph.smiles));
  const truth = graph.true === null ? "" : `true: ${graph.true}; `;
  detail.append(make("p", "caption", `${truth}predicted: ${graph.predicted}; ${graph.nodes} nodes, ${graph.edges} edges`));
  const output = shared.output === null || !graph.evidence || !(shared.output in graph.evidence) ? graph.explained : shared.output;
  detail.append(predictionRows(graph, graph.evidence ? output : null));
  if (graph.places) detail.append(drawingOf(graph, output, shared));
  if (graph.weights) detail.append(weightDrawings(graph));
  if (!graph.places && (graph.evidence || !graph.nodes)) detail.append(make("p", "caption", graph.nodes ? "The graph is too large to draw." : "The graph has no nodes."));
  if (!graph.evidence) return; // of no nodes, or by a model without layers
  const [fold, open] = frequenciesOf(graph, output, unfolded);
  detail.append(fold);
  open();
}

// What each edge weighs for each filter of a layer: small drawings side by side.
const rangeOf = (weights) => [...new Set([Math.min(...weights), Math.max(...weights)].map((weight) => weight.toFixed(2)))].join(" to ");

function weightDrawings(graph) {
  const box = make("div", "weights");
  box.append(make("h5", "", "What each edge weighs for each filter"));
  const thumbs = make("div", "thumbs chart");
  let layer = 0;
  const paint = () => {
    thumbs.replaceChildren(...graph.weights[layer].map(([number, weights]) => {
      const figure = make("figure");
      const nodes = () => paintPlain(graph).map((node) => ({ ...node, fill: graph.labels ? "none" : css("--card") }));
      figure.append(drawGraph(graph, nodes, true, edgeWeights(graph, weights)), make("figcaption", "", `filter ${number}: ${rangeOf(weights)}`));
      return figure;
    }));
    legend.replaceChildren(...[[0, "0: ignored"], [0.5, "0.5"], [1, "1: neutral"], [1.5, "1.5"], [2, "2: the most"]].map(([weight, word]) => {
      const item = make("span");
      const line = make("i");
      Object.assign(line.style, { background: weightColor(weight), height: `${(2 + 10 * weight / 2).toFixed(1)}px` });
      item.append(line, word);
      return item;
    }));
  };
  const legend = make("div", "legend lines");
  if (graph.weights.length > 1) {
    const label = make("label", "", "layer ");
    const select = make("select");
    graph.weights.forEach((_, place) => select.append(make("option", "", place + 1)));
    select.addEventListener("change", () => { layer = select.selectedIndex; paint(); });
    label.append(select);
    const choices = make("div", "choices");
    choices.append(label);
    box.append(choices);
  }
  drawn.set(thumbs, paint);
  box.append(legend, thumbs);
  paint();
  return box;
}

function filterOutputs(graph) {
  const box = make("div");
  box.append(make("h5", "", graph.outputs[0][0][0] ? "Output of each filter" : "Output of each layer"));
  const thumbs = make("div", "thumbs chart");
  const add = (levels, word) => {
    const figure = make("figure");
    const paint = () => [...levels].map((letter) => ({ fill: mix(palette()[0], level(letter)) }));
    figure.append(drawGraph(graph, paint, true), make("figcaption", "", word));
    thumbs.append(figure);
  };
  let layer = 0;
  const paint = () => {
    thumbs.replaceChildren();
    if (graph.outputs[0][0][0]) graph.outputs[layer].forEach(([number, levels]) => add(levels, number ? `filter ${number}` : "all channels"));
    else graph.outputs.forEach((outputs, place) => add(outputs[0][1], `layer ${place + 1}`));
  };
  if (graph.outputs[0][0][0] && graph.outputs.length > 1) {
    const label = make("label", "", "layer ");
    const select = make("select");
    graph.outputs.forEach((_, place) => select.append(make("option", "", place + 1)));
    select.addEventListener("change", () => { layer = select.selectedIndex; paint(); });
    label.append(select);
    const choices = make("div", "choices");
    choices.append(label);
    box.append(choices);
  }
  drawn.set(thumbs, paint);
  box.append(thumbs);
  paint();
  return box;
}

// What the list says of a graph: of the chosen label or value, or of all.
function verdictOf(graph, output) {
  const row = output === null || graph.kind === "classes" ? undefined : graph.rows.find(([number]) => number === output);
  if (row === undefined) {
    const known = graph.wrong !== null && (graph.true !== null || graph.wrong);
    return { wrong: graph.wrong, known, text: `${graph.predicted}${graph.true === null ? "" : ` (true ${graph.true})`}` };
  }
  const [, name, value, truth] = row;
  const known = graph.kind === "labels" && truth !== null;
  const text = `${name} ${+value.toPrecision(3)}${truth === null ? "" : ` (true ${+truth.toPrecision(4)})`}`;
  return { wrong: known && (value >= 0.5) !== (truth === 1), known, text };
}

function setUpBrowser(browser, shared) {
  const graphs = shared.entries;
  const [list, detail] = [browser.querySelector(".list"), browser.querySelector(".detail")];
  const [which, search, choice] = [".which", ".search", ".output"].map((name) => browser.querySelector(name));
  const outputNow = () => (choice ? (choice.value === "own" ? null : Number(choice.value)) : null);
  shared.output = outputNow();
  let shown = 0;
  const small = new IntersectionObserver((entries) => { // a list may be long: drawings are made when they are seen
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      small.unobserve(target);
      const paint = () => target.replaceChildren(drawGraph(graphs[target.dataset.place], paintPlain, true));
      drawn.set(target, paint);
      paint();
    }
  }, { root: list, rootMargin: "300px" });
  const verdicts = graphs.map((graph) => verdictOf(graph, shared.output));
  const buttons = graphs.map((graph, place) => {
    const button = make("button", "entry");
    button.type = "button";
    button.setAttribute("role", "option");
    const thumb = make("span", "thumb");
    thumb.dataset.place = place;
    const words = make("span", "words");
    words.append(make("span", "name", graph.name), make("span", "verdict"));
    button.append(thumb, words);
    button.title = graph.smiles || graph.name;
    button.addEventListener("click", () => choose(place));
    list.append(button);
    if (graph.places) small.observe(thumb);
    return button;
  });
  const judge = () => buttons.forEach((button, place) => {
    verdicts[place] = verdictOf(graphs[place], shared.output);
    const { wrong, known, text } = verdicts[place];
    button.classList.toggle("wrong", Boolean(wrong));
    button.classList.toggle("right", Boolean(known && !wrong));
    button.querySelector(".verdict").textContent = text;
  });
  const choose = (place) => {
    shown = place;
    buttons.forEach((button, other) => button.setAttribute("aria-selected", other === place));
    showGraph(graphs[place], detail, shared);
  };
  const filter = () => {
    const wanted = search.value.toLowerCase();
    buttons.forEach((button, place) => {
      const graph = graphs[place];
      const kind = which.value === "all" || (which.value === "wrong") === Boolean(verdicts[place].wrong);
      button.hidden = !(kind && `${graph.name} ${graph.smiles || ""}`.toLowerCase().includes(wanted));
    });
  };
  which.closest("label").hidden = graphs.every((graph) => graph.wrong === null);
  which.addEventListener("change", filter);
  search.addEventListener("input", filter);
  if (choice) {
    choice.addEventListener("change", () => {
      shared.output = outputNow();
      judge();
      filter();
      choose(shown);
    });
  }
  judge();
  if (graphs.length) choose(0);
}

// A link to a folded section opens it.
function unfold(address) {
  const section = address.length > 1 && document.getElementById(address.slice(1));
  const fold = section && section.querySelector("details.fold");
  if (fold) fold.open = true;
}

// ---- start

function trouble(message) {
  const element = document.getElementById("trouble");
  element.textContent = message;
  element.hidden = false;
}

async function start() {
  if (!window.DecompressionStream) return trouble("The figures need a browser of 2023 or later.");
  await loadPlotly();
  const waiting = new Set(document.querySelectorAll("[data-figure]"));
  const draw = (figure) => {
    later.unobserve(figure);
    if (waiting.delete(figure)) setUpFigure(figure);
  };
  const later = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "600px" },
  );
  waiting.forEach((figure) => later.observe(figure));
  // Paper shows what nobody scrolled to.
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details.fold").forEach((fold) => { fold.open = true; });
    [...waiting].forEach(draw);
  });
  document.querySelectorAll("nav a").forEach((link) => link.addEventListener("click", () => unfold(link.getAttribute("href"))));
  unfold(location.hash);
  document.querySelectorAll(".browser").forEach((browser, place) => setUpBrowser(browser, DATA.graphs[place]));
  darkMode.addEventListener("change", () => [...drawn.values()].forEach((draw) => draw()));
  document.documentElement.dataset.ready = "yes";
}

start();
