"use strict";
// Draws the figures and the graphs of a page from the data that it holds. Text goes into elements as text, never as HTML.

const DATA = JSON.parse(document.getElementById("data").textContent);
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "8px,2px,2px,2px,2px,2px", "2px,6px"];
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
    return {
      ...trace, type: "heatmap", z: series.z, zmin: 0, zmax: 1, colorscale: [[0, css("--card")], [1, strong]],
      showscale: false, xgap: 2, ygap: 2, texttemplate: "%{text}", textfont: { size: series.x.length > 6 ? 10 : 13 },
      hovertemplate: "true %{y}<br>predicted %{x}<br>%{text} graphs (%{z:.0%} of the class)<extra></extra>",
    };
  }
  if (series.kind === "bars") {
    const pattern = { shape: series.dash ? "/" : "", fillmode: "overlay", solidity: 0.3, fgcolor: css("--card") };
    return { ...trace, type: "bar", marker: { color, pattern } };
  }
  if (series.error) trace.error_y = { type: "data", array: series.error, color, thickness: 1.5, width: 4 };
  const symbols = ["circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down"];
  const marker = { color, size: 8, symbol: symbols[(series.dash || 0) % 8], opacity: series.x.length > 200 ? 0.45 : 0.9 };
  if (series.kind === "points") return { ...trace, type: "scatter", mode: "markers", marker };
  const dash = DASHES[(series.dash || 0) % DASHES.length];
  const mode = series.error ? "lines+markers" : "lines";
  return { ...trace, type: "scatter", mode, marker, line: { color, dash, width: 2.2 } };
}

function axisOf(axis, more) {
  const found = {
    title: { text: escaped(axis.title || ""), standoff: 8 }, gridcolor: css("--line"), linecolor: css("--line"), zeroline: false,
    automargin: true, ...more,
  };
  if (axis.words) Object.assign(found, { categoryorder: "array", categoryarray: escaped(axis.words) });
  if (axis.limits) found.range = axis.limits;
  if (axis.log) found.type = "log";
  if (axis.reverse) found.autorange = "reversed";
  return found;
}

function showChart(element, chart) {
  const narrow = element.clientWidth < 480;
  const heat = chart.series.some((series) => series.kind === "heat");
  const words = chart.series.some((series) => series.x && typeof series.x[0] === "string");
  const names = chart.series.filter((series) => series.name);
  const entry = 55 + 7 * Math.max(0, ...names.map((series) => series.name.length)); // the legend has columns of one width
  const legendRows = Math.ceil(names.length / Math.max(1, Math.floor(((element.clientWidth || 600) - 70) / entry)));
  const layout = {
    height: (chart.height || 340) + 19 * legendRows, margin: { l: 10, r: 10, t: 14, b: 10 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--text"), size: narrow ? 11 : 13, family: "inherit" },
    xaxis: axisOf(chart.x, heat || words ? { type: "category" } : {}), yaxis: axisOf(chart.y, heat ? { type: "category" } : {}),
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, dragmode: coarse ? false : "zoom", hovermode: "closest",
    hoverlabel: { bgcolor: css("--card"), font: { color: css("--text") } }, barmode: "group", bargap: 0.25,
    shapes: [], annotations: [],
  };
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

// Chemists do not write carbon.
function symbol(graph, word) {
  return graph.elements && word === "C" ? "" : word;
}

// How to paint the nodes: [fill, outline, text, tooltip] of each.
function paintSignal(graph) {
  const { words, colors, levels } = graph.signal;
  if (colors) return colors.map((color) => ({ fill: color }));
  if (words) {
    const kinds = [...new Set(words)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return words.map((word) => ({ fill: mix(palette()[kinds.indexOf(word) % 8], 0.45), text: symbol(graph, word), note: word }));
  }
  const high = Math.max(...levels, 1e-30);
  return levels.map((value) => ({ fill: mix(palette()[0], value / high), note: value.toPrecision(3) }));
}

function paintEvidence(graph) {
  const values = graph.nodes_evidence;
  const high = Math.max(...values.map(Math.abs), 1e-30);
  const words = graph.elements || graph.signal.words;
  return values.map((value, node) => ({
    fill: mix(css(value >= 0 ? "--for" : "--against"), Math.abs(value) / high), dashed: value < 0,
    text: words && symbol(graph, words[node]), note: `${words ? words[node] + " " : ""}${value >= 0 ? "+" : "−"}${Math.abs(value).toPrecision(3)}`,
  }));
}

function drawGraph(graph, paint, small) {
  const { places, lines, orders, elements } = graph;
  const pad = 45;
  let bottom = 0;
  for (let i = 1; i < places.length; i += 2) bottom = Math.max(bottom, places[i]);
  const svg = shape("svg", { class: "graph", viewBox: `${-pad} ${-pad} ${1000 + 2 * pad} ${Math.max(bottom, 120) + 2 * pad}`, role: "img" });
  const lengths = [];
  for (let e = 0; e < lines.length; e += 2) {
    const [a, b] = [2 * lines[e], 2 * lines[e + 1]];
    lengths.push(Math.hypot(places[a] - places[b], places[a + 1] - places[b + 1]));
  }
  lengths.sort((a, b) => a - b);
  const typical = lengths.length ? lengths[lengths.length >> 1] : 200;
  const image = Boolean(graph.signal.colors);
  const radius = Math.min(34, Math.max(9, image ? 38 : typical * 0.3));
  const stroke = { stroke: css("--soft"), "stroke-width": small ? 8 : Math.max(2, radius / 6), "stroke-opacity": image ? 0.12 : 0.8 };
  for (let e = 0; e < lines.length; e += 2) {
    const [a, b] = [2 * lines[e], 2 * lines[e + 1]];
    const order = orders ? orders[e / 2] : 1;
    const [dx, dy] = [places[b] - places[a], places[b + 1] - places[a + 1]];
    const length = Math.hypot(dx, dy) || 1;
    const shifts = small || order === 1 ? [0] : order === 3 ? [-11, 0, 11] : order === 2 ? [-6, 6] : [-5, 7];
    shifts.forEach((shift, place) => {
      const [sx, sy] = [(-dy / length) * shift, (dx / length) * shift];
      const line = { x1: places[a] + sx, y1: places[a + 1] + sy, x2: places[b] + sx, y2: places[b + 1] + sy, ...stroke };
      if (order === 4 && place) line["stroke-dasharray"] = "12 9";
      shape("line", line, svg);
    });
  }
  const nodes = paint(graph);
  for (let v = 0; v < places.length / 2; v++) {
    const node = nodes[v];
    const at = { cx: places[2 * v], cy: places[2 * v + 1], r: radius, fill: node.fill };
    const circle = shape("circle", { ...at, stroke: css("--soft"), "stroke-width": image ? 0.5 : small ? 3 : 2 }, svg);
    if (node.dashed) circle.setAttribute("stroke-dasharray", "7 5");
    if (node.note) shape("title", {}, circle).textContent = `node ${v}: ${node.note}`;
    if (node.text && !small && radius > 12) {
      const size = Math.min(30, (radius * 1.7) / Math.max(1, node.text.length * 0.62));
      const text = shape("text", { x: at.cx, y: at.cy, fill: css("--text"), style: `font-size:${size}px` }, svg);
      text.textContent = node.text;
    }
  }
  svg.setAttribute("aria-label", `Drawing of ${graph.name}`);
  return svg;
}

function legendOf(graph, view) {
  const legend = make("div", "legend");
  const add = (color, word) => {
    const item = make("span");
    const dot = make("b");
    dot.style.background = color;
    item.append(dot, word);
    legend.append(item);
  };
  if (view === "evidence") {
    const values = graph.kind === "values";
    add(css("--for"), `${values ? "raises" : "speaks for"} ${graph.explainedName}`);
    add(css("--against"), `${values ? "lowers" : "speaks against"} it (dashed outline)`);
  } else if (graph.signal.words) {
    const kinds = [...new Set(graph.signal.words)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    kinds.forEach((word, place) => add(mix(palette()[place % 8], 0.45), word));
  } else if (graph.signal.colors) legend.textContent = "the colours of the image";
  else legend.textContent = "the stronger the colour of a node, the larger its signal";
  return legend;
}

function predictionRows(graph) {
  const box = make("div");
  for (const [name, value, truth] of graph.rows) {
    const row = make("div", `bar${name === graph.true ? " true" : ""}`);
    const bar = make("div");
    if (graph.kind !== "values") { // a probability
      const inner = make("i");
      inner.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
      bar.append(inner);
    }
    const shown = truth === undefined ? value.toFixed(3) : `${+value.toPrecision(4)}${truth === null ? "" : ` (true ${+truth.toPrecision(4)})`}`;
    row.append(make("span", "", name + (name === graph.true ? " (true)" : "")), bar, make("span", "", shown));
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

function showGraph(graph, detail) {
  detail.querySelectorAll(".chart").forEach((element) => drawn.delete(element));
  detail.replaceChildren();
  detail.append(make("h4", "", graph.name));
  const truth = graph.true === null ? "" : `true: ${graph.true}; `;
  detail.append(make("p", "caption", `${truth}predicted: ${graph.predicted}; ${graph.nodes} nodes, ${graph.edges} edges`));
  detail.append(predictionRows(graph));
  const later = [];
  if (graph.places) {
    const choices = make("div", "choices");
    const label = make("label", "", "colour the nodes by ");
    const select = make("select", "view");
    for (const [value, word] of [["evidence", "what decided"], ["signal", "node signal"]]) {
      const option = make("option", "", word);
      option.value = value;
      select.append(option);
    }
    label.append(select);
    choices.append(label);
    const canvas = make("div", "drawing");
    const paint = () => {
      const view = select.value;
      if (graph.signal.colors) { // an image is shown beside what decided
        const both = make("div", "pair");
        both.append(drawGraph(graph, paintSignal), drawGraph(graph, paintEvidence));
        canvas.replaceChildren(both, legendOf(graph, "evidence"), make("p", "caption", graph.method));
        return;
      }
      canvas.replaceChildren(drawGraph(graph, view === "signal" ? paintSignal : paintEvidence), legendOf(graph, view));
      if (view === "evidence") canvas.append(make("p", "caption", graph.method));
    };
    select.addEventListener("change", paint);
    drawn.set(canvas, paint);
    canvas.classList.add("chart");
    choices.hidden = Boolean(graph.signal.colors);
    detail.append(choices, canvas);
    paint();
  } else detail.append(make("p", "caption", graph.nodes ? "The graph is too large to draw." : "The graph has no nodes."));
  const pair = make("div", "pair");
  detail.append(pair);
  if (graph.spectrum) {
    const { lam, energy } = graph.spectrum;
    const x = lam.flatMap((value) => [value, value, null]);
    const y = energy.flatMap((value) => [0, value, null]);
    later.push(chartBox(pair, "Spectrum of the node signal", {
      height: 230, x: { title: "frequency λ", limits: [-0.02, 2.02] }, y: { title: "share of energy" },
      series: [{ kind: "line", color: 0, x, y }, { kind: "points", color: 0, x: lam, y: energy }],
    }));
  }
  if (graph.bands_evidence) {
    const width = 2 / graph.bands_evidence.length;
    const x = graph.bands_evidence.map((_, band) => `${+(band * width).toFixed(2)}-${+((band + 1) * width).toFixed(2)}`);
    later.push(chartBox(pair, `Which frequencies decided for ${graph.explainedName}`, {
      height: 230, x: { title: "band of frequencies λ" }, y: { title: "for (+) or against (−)" },
      series: [{ kind: "bars", color: 1, x, y: graph.bands_evidence }],
    }));
  }
  if (graph.places && graph.outputs && graph.outputs.length) detail.append(filterOutputs(graph));
  later.forEach((draw) => draw());
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

function setUpBrowser(browser, graphs) {
  const [list, detail] = [browser.querySelector(".list"), browser.querySelector(".detail")];
  const [which, search] = [browser.querySelector(".which"), browser.querySelector(".search")];
  const buttons = graphs.map((graph, place) => {
    const known = graph.wrong !== null && (graph.true !== null || graph.wrong);
    const button = make("button", `entry ${graph.wrong ? "wrong" : known ? "right" : ""}`);
    button.type = "button";
    button.setAttribute("role", "option");
    const truth = graph.true === null ? "" : ` (true ${graph.true})`;
    button.append(make("span", "name", graph.name), make("span", "verdict", `${graph.predicted}${truth}`));
    button.addEventListener("click", () => choose(place));
    list.append(button);
    return button;
  });
  const choose = (place) => {
    buttons.forEach((button, other) => button.setAttribute("aria-selected", other === place));
    showGraph(graphs[place], detail);
  };
  const filter = () => {
    const wanted = search.value.toLowerCase();
    buttons.forEach((button, place) => {
      const graph = graphs[place];
      const kind = which.value === "all" || (which.value === "wrong") === Boolean(graph.wrong);
      button.hidden = !(kind && graph.name.toLowerCase().includes(wanted));
    });
  };
  which.addEventListener("change", filter);
  search.addEventListener("input", filter);
  if (graphs.length) choose(0);
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
  window.addEventListener("beforeprint", () => [...waiting].forEach(draw));
  document.querySelectorAll(".browser").forEach((browser, place) => setUpBrowser(browser, DATA.graphs[place]));
  darkMode.addEventListener("change", () => [...drawn.values()].forEach((draw) => draw()));
  document.documentElement.dataset.ready = "yes";
}

start();
