"use strict";
const PICTURES = {{pictures}}, SHOWN = 200, NEEDS_TOKEN = {{needs_token}}, EXAMPLE = {{example}};
const LIMITS = {
  graphs: "graphs of a request", nodes: "nodes of a graph, or letters of a SMILES", edges: "edges of a graph",
  total: "nodes and edges of a request, or letters", body: "bytes of a request", seconds: "seconds until an answer",
  waiting: "requests that wait", waiting_body: "bytes of all requests that wait",
};
const at = (id) => document.getElementById(id);
let takes = ["smiles", "graphs"];

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function headers() {
  const token = at("token").value.trim();
  return token ? { "Content-Type": "application/json", Authorization: "Bearer " + token } : { "Content-Type": "application/json" };
}

// What is typed as a request: JSON as it is, lines as SMILES.
function request() {
  const text = at("input").value.trim();
  if (text.startsWith("{")) return JSON.parse(text);
  return { smiles: text.split("\n").map((line) => line.trim()).filter(Boolean) };
}

function showCurl() {
  let body;
  try { body = JSON.stringify(request()); } catch { body = "..."; }
  const shown = body.length > 2000 ? body.slice(0, 2000) + "..." : body;
  const token = NEEDS_TOKEN ? "-H \"Authorization: Bearer $BANKGCN_TOKEN\" " : "";
  at("curl").textContent = `curl -s ${location.origin}/predict ${token}-H 'Content-Type: application/json' -d '${shown.replaceAll("'", "'\\''")}'`;
}

function fail(message) {
  at("error").textContent = message;
  at("error").hidden = false;
}

async function ask(path, options) {
  let answer;
  try { answer = await fetch(path, { ...options, headers: headers() }); }
  catch { throw new Error("the service does not answer; is it running?"); }
  const content = await answer.json().catch(() => ({ detail: "status " + answer.status }));
  if (answer.ok) return content;
  if (answer.status === 401) throw new Error("The token is missing or wrong.");
  const errors = content.errors || [];
  throw new Error(errors.length > 1 ? content.detail + "\n" + errors.map((one) => one.message).join("\n") : content.detail);
}

function number(value) {
  return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) : value.toFixed(4);
}

function card(prediction, name) {
  const made = element("div", undefined, "card"), table = element("table");
  if (prediction.picture) {
    const image = element("img");
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(prediction.picture);
    image.alt = "Structure of " + name;
    made.append(image);
  }
  made.append(element("div", name, "name"), table);
  for (const [output, value] of Object.entries(prediction.values || prediction.probabilities)) {
    const row = element("tr", undefined, output === prediction.class ? "best" : "");
    const spread = prediction.spread ? " ± " + number(prediction.spread[output]) : "";
    row.append(element("th", output), element("td", number(value) + spread));
    table.append(row);
  }
  return made;
}

async function predict(event) {
  event.preventDefault();
  at("error").hidden = true;
  at("results").replaceChildren();
  at("send").disabled = true;
  try {
    let body;
    try { body = request(); } catch (error) { throw new Error("This is not JSON: " + error.message); }
    const names = body.smiles || [];
    if (body.smiles && !names.length) throw new Error("Type a SMILES, such as CCO, or a request in JSON.");
    if (body.smiles && !takes.includes("smiles")) throw new Error("This model takes graphs in JSON, not SMILES.");
    if (Array.isArray(names) && names.length && names.length <= PICTURES) body = { ...body, pictures: true };
    const found = (await ask("predict", { method: "POST", body: JSON.stringify(body) })).predictions;
    at("results").append(...found.slice(0, SHOWN).map((one, place) => card(one, names[place] ?? "graph " + (place + 1))));
    if (found.length > SHOWN) at("results").append(element("p", `The first ${SHOWN} of ${found.length} predictions.`));
  } catch (error) {
    fail(error.message);
  }
  at("send").disabled = false;
}

async function describe() {
  if (NEEDS_TOKEN && !at("token").value.trim()) {
    at("about").textContent = "This service needs a token.";
    return;
  }
  try {
    const model = await ask("model", {});
    takes = model.takes;
    const several = model.models > 1 ? `, the mean of ${model.models} models` : "";
    at("about").textContent = `It predicts ${model.task}${several}: ${model.outputs.join(", ")}`;
    at("input-label").textContent = takes.includes("smiles") ? "SMILES, one a line, or a request in JSON" : "Graphs, as a request in JSON";
    at("limits").replaceChildren(...Object.entries(model.limits).filter(([key]) => LIMITS[key]).map(([key, value]) => {
      const row = element("tr");
      row.append(element("th", LIMITS[key]), element("td", value.toLocaleString("en")));
      return row;
    }));
    at("error").hidden = true;
  } catch (error) {
    at("about").textContent = "";
    fail(error.message);
  }
}

at("token-row").hidden = !NEEDS_TOKEN;
at("input").value = EXAMPLE;
at("form").addEventListener("submit", predict);
at("token").addEventListener("change", describe);
at("input").addEventListener("input", showCurl);
at("input").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
});
showCurl();
describe();
