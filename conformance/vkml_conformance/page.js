// Draws the matrix of a report and opens its cells. All text goes in as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const report = data.report;
const $ = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en");
const states = new Map(data.states.map((state) => [state.name, state]));
const sign = (state) => states.get(state).sign;
const style = (state) => state.replace(" ", "-");
const any = (name) => name || "any";
const BATCH = 20; // findings drawn at once

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function definitions(pairs, wrap = false) {
  const kept = Object.entries(pairs).filter(([, value]) => value !== "" && value !== null);
  const items = kept.map(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]);
  return wrap ? items.map((pair) => make("div", {}, ...pair)) : items.flat();
}

/* header and devices */

function header() {
  const { selection, machine } = report;
  $("conclusion").dataset.sign = sign(data.outcome);
  $("conclusion").className = style(data.outcome);
  document.title = `${sign(data.outcome)} vkml conformance`;
  const packages = Object.entries(machine.packages).map((pair) => pair.join(" "));
  $("facts").append(...definitions({
    contract: `version ${report.contract}`,
    suite: report.suite.slice(0, 16),
    mode: selection.mode,
    seed: selection.seed,
    "narrowed to": data.narrowed,
    started: report.started,
    took: `${report.seconds.toFixed(1)} s`,
    system: machine.system,
    processor: `${machine.processor}, ${machine.cores} cores`,
    Python: machine.python,
    packages: packages.join(", "),
  }, true));
  $("legend").append(...data.states.map((state) =>
    make("li", {}, make("b", { class: style(state.name) }, state.sign), `${state.name}: ${state.about}`)));
}

function card(device, i) {
  const { counts, reason, state, verdict } = data.devices[i];
  const about = [device.hardware, device.kind, device.level && `level ${device.level}`];
  const apart = [["unsupported", counts.unsupported], ["left out", counts.left_out], ["not run", counts.not_run]]
    .filter(([, n]) => n)
    .flatMap(([name, n]) => [", ", make("span", { class: "whole" }, `${sign(name)} ${number(n)} ${name}`)]);
  const told = counts.cases
    ? [`${number(counts.equal)} of ${number(counts.cases)} checks equal`, ...apart] : ["Nothing was run."];
  const more = definitions({ backend: device.backend, ...device.details, results: device.results });
  return make("article", { class: "card" },
    make("header", {}, make("h3", {}, device.device),
      make("span", { class: `badge ${style(state)}` }, `${sign(state)} ${verdict}`)),
    make("p", { class: "soft" }, about.filter(Boolean).join(", ")),
    make("p", {}, ...told),
    reason ? make("p", { class: "why" }, reason.trim()) : null,
    make("p", { class: "soft" }, [device.distribution, `${device.seconds.toFixed(1)} s`].filter(Boolean).join(", ")),
    make("details", {}, make("summary", {}, "Driver and details"), make("dl", {}, ...more)));
}

/* matrix */

const address = (family, op, dtype) => JSON.stringify([family, op, dtype]);
const cells = data.devices.map((device) =>
  new Map(device.cells.map((cell) => [address(cell.family, cell.op, cell.dtype), cell])));
const findings = report.devices.map((device) => {
  const found = new Map();
  device.findings.forEach((finding, n) => {
    const at = address(finding.family, finding.op, finding.dtype);
    if (!found.has(at)) found.set(at, []);
    found.get(at).push(n);
  });
  return found;
});
const words = new Map(data.rows.map(([family, op]) => {
  const causes = report.devices.flatMap((device) => device.findings
    .filter((finding) => finding.family === family && finding.op === op && finding.place)
    .map((finding) => finding.place.cause));
  return [address(family, op, ""), [op, family, ...new Set(causes)].join(" ").toLowerCase()];
}));

const FILTERS = ["text", "family", "dtype", "device", "state"];
const chosen = () => Object.fromEntries(FILTERS.map((name) => [name, $(name).value]));

function columns(filter) {
  return report.devices.flatMap((device, i) => data.dtypes
    .filter((dtype) => (filter.device === "" || filter.device === String(i))
      && (filter.dtype === "" || filter.dtype === `=${dtype}`)
      && data.devices[i].cells.some((cell) => cell.dtype === dtype))
    .map((dtype) => ({ device: i, dtype })));
}

function rows(filter, shownColumns) {
  const sought = filter.text.trim().toLowerCase().split(/\s+/);
  return data.rows.filter(([family, op]) => {
    const said = words.get(address(family, op, ""));
    if (filter.family !== "" && filter.family !== family) return false;
    if (!sought.every((word) => said.includes(word))) return false;
    return shownColumns.some(({ device, dtype }) => {
      const cell = cells[device].get(address(family, op, dtype));
      return cell && (filter.state === "" || cell.state === filter.state);
    });
  });
}

function draw() {
  const filter = chosen();
  let across = columns(filter);
  const down = rows(filter, across);
  if (filter.state !== "") {
    across = across.filter(({ device, dtype }) => down.some(([family, op]) =>
      cells[device].get(address(family, op, dtype))?.state === filter.state));
  }
  $("only").setAttribute("aria-pressed", String(filter.state === "differs"));
  $("shown").textContent = `${number(down.length)} of ${number(data.rows.length)} operations`;
  $("matrix").replaceChildren(down.length && across.length ? table(down, across, filter)
    : make("p", {}, data.rows.length ? "Nothing matches." : "Nothing was run."));
  const first = $("matrix").querySelector(".cell");
  if (first) first.tabIndex = 0;
}

function table(down, across, filter) {
  const heads = [];
  across.forEach(({ device }, i) => {
    if (i && across[i - 1].device === device) heads.at(-1).colSpan += 1;
    else heads.push(make("th", { class: `device ${i ? "first" : ""}`, scope: "colgroup", title: report.devices[device].device }, report.devices[device].device));
  });
  const first = across.map(({ device }, i) => (i && across[i - 1].device !== device ? "first" : ""));
  const body = make("tbody");
  down.forEach(([family, op], i) => {
    if (!i || down[i - 1][0] !== family) {
      body.append(make("tr", {}, make("th", { class: "family", scope: "rowgroup" }, family), make("td", { colspan: across.length })));
    }
    const boxes = across.map(({ device, dtype }, j) =>
      make("td", { class: first[j] }, box(device, family, op, dtype, filter) ?? ""));
    body.append(make("tr", {}, make("th", { scope: "row", title: op }, op), ...boxes));
  });
  return make("table", { onkeydown: move, onclick: click },
    make("thead", {},
      make("tr", {}, make("th", { class: "corner" }), ...heads),
      make("tr", {}, make("th", { class: "corner" }, "operation"),
        ...across.map(({ dtype }, i) => make("th", { scope: "col", class: first[i] }, any(dtype))))),
    body);
}

const tally = ({ state, counts }) => ({
  differs: counts.differing ? `${number(counts.differing)}/${number(counts.cases)}` : "oracle",
  "in part": `${number(counts.equal)}/${number(counts.cases)}`,
  "not run": `${number(counts.equal)}/${number(counts.cases)}`,
}[state] ?? number(counts.cases));

function box(device, family, op, dtype, filter) {
  const cell = cells[device].get(address(family, op, dtype));
  if (!cell) return null;
  const other = filter.state !== "" && cell.state !== filter.state ? " other" : "";
  const label = `${op} ${any(dtype)} on ${report.devices[device].device}: ${cell.state}, ${tally(cell)}`;
  const made = make("button", { type: "button", class: `cell ${style(cell.state)}${other}`, tabindex: -1, "aria-label": label, title: label },
    `${sign(cell.state)} ${tally(cell)}`);
  made.at = { device, family, op, dtype };
  return made;
}

function click(event) {
  const cell = event.target.closest(".cell");
  if (cell) open(cell.at);
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function move(event) {
  const step = STEPS[event.key];
  const cell = event.target.closest(".cell");
  if (!step || !cell) return;
  event.preventDefault();
  const grid = [...event.currentTarget.tBodies[0].rows];
  let [y, x] = [cell.closest("tr").rowIndex - 2, cell.closest("td").cellIndex];
  for (;;) {
    y += step[0];
    x += step[1];
    if (!grid[y] || x < 1 || (step[1] && x >= grid[y].cells.length)) return;
    const next = grid[y].cells[x]?.querySelector(".cell");
    if (next) {
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return;
    }
  }
}

/* panel */

function open(at) {
  const device = report.devices[at.device];
  const cell = cells[at.device].get(address(at.family, at.op, at.dtype));
  const numbers = findings[at.device].get(address(at.family, at.op, at.dtype)) ?? [];
  const list = make("div");
  const none = cell.counts.differing ? "The report holds no finding of these differences." : "No findings.";
  $("panel").replaceChildren(
    make("header", {},
      make("h2", { id: "panel-title" }, `${at.op} ${any(at.dtype)}`,
        make("small", {}, `${device.device}, ${device.hardware}; ${at.family}`)),
      make("span", { class: `badge ${style(cell.state)}` }, `${sign(cell.state)} ${cell.state}`),
      make("button", { type: "button", class: "close", onclick: () => $("panel").close() }, "Close")),
    parts(at),
    numbers.length ? list : make("p", { class: "soft" }, none));
  extend(list, at.device, numbers, 0);
  $("panel").showModal();
  $("panel").scrollTop = 0;
}

const COUNTS = {
  cases: "checks", equal: "equal", differing: "differ", unsupported: "unsupported", left_out: "left out", not_run: "not run", elements: "elements",
};

function parts(at) {
  const device = report.devices[at.device];
  const all = device.lines.map((line, i) => ({ line, state: data.devices[at.device].states[i] }))
    .filter(({ line }) => line.family === at.family && line.op === at.op && line.dtype === at.dtype);
  const counted = Object.keys(COUNTS).filter((name) =>
    ["cases", "equal", "differing"].includes(name) || all.some(({ line }) => line[name]));
  const body = make("tbody");
  for (const { line, state } of all) {
    body.append(make("tr", {},
      make("td", { class: style(state) }, `${sign(state)} ${line.part}`),
      ...counted.map((name) => make("td", {}, number(line[name])))));
    if (line.recorded === false) {
      body.append(make("tr", {}, make("td", { colspan: counted.length + 1, class: "differs" },
        "✗ The oracle itself does not give the recorded results.")));
    }
  }
  const heads = ["part", ...counted.map((name) => COUNTS[name])];
  return make("div", { class: "scroll" }, make("table", { class: "counts" },
    make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)))), body));
}

function extend(list, device, numbers, from) {
  const upto = Math.min(from + BATCH, numbers.length);
  list.append(...numbers.slice(from, upto).map((n) => entry(device, n)));
  if (upto === numbers.length) return;
  const more = make("button", { type: "button", class: "more" }, `Show more (${number(numbers.length - upto)} left)`);
  more.addEventListener("click", () => {
    more.remove();
    extend(list, device, numbers, upto);
    list.children[upto].querySelector("button").focus();
  });
  list.append(more);
}

function entry(device, n) {
  const finding = report.devices[device].findings[n];
  return make("article", { class: "finding" },
    make("header", {}, make("h3", {}, finding.part), make("span", { class: "badge differs" }, `✗ ${finding.status}`)),
    make("p", { class: "mono soft" }, finding.id),
    make("dl", {}, ...definitions(finding.about)),
    finding.message ? make("p", { class: "message mono" }, finding.message) : null,
    ...(finding.place ? place(finding.place) : []),
    code(data.devices[device].commands[n], "command"),
    finding.script ? code(finding.script, "script") : null);
}

function place(at) {
  const where = at.index.length ? `, first at (${at.index.join(", ")})` : "";
  const found = [
    make("p", {}, `${at.what}, ${at.run} run: ${number(at.wrong)} of ${number(at.of)} elements differ${where}`),
    make("table", { class: "bits" }, make("tbody", {},
      bits("got", at.got, at.want, at.got_value), bits("want", at.want, at.got, at.want_value))),
  ];
  const distance = at.ulps === null ? "" : `${number(at.ulps)} ulp`;
  const told = [distance, at.cause && `likely cause: ${at.cause}`].filter(Boolean).join("; ");
  if (told) found.push(make("p", {}, make("strong", {}, told)));
  return found;
}

function bits(name, own, other, value) {
  const digits = [...own].map((digit, i) =>
    (own.length === other.length && digit !== other[i] ? make("mark", {}, digit) : digit));
  return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("code", {}, ...digits)), make("td", {}, make("code", {}, value)));
}

function code(text, kind) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `Copy the ${kind}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text, button)) ? "Copied" : "Select it";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", { class: `code ${kind}` }, make("pre", {}, make("code", {}, text)), button);
}

async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.parentNode.querySelector("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
}

/* start */

function options(id, all, pairs) {
  $(id).append(make("option", { value: "" }, all), ...pairs.map(([value, text]) => make("option", { value }, text)));
}

function start() {
  header();
  $("devices").append(...report.devices.map(card));
  options("family", "all", [...new Set(data.rows.map(([family]) => family))].map((name) => [name, name]));
  options("dtype", "all", data.dtypes.map((name) => [`=${name}`, any(name)]));
  options("device", "all", report.devices.map((device, i) => [String(i), device.device]));
  options("state", "all", data.states.map((state) => [state.name, `${state.sign} ${state.name}`]));
  $("filters").addEventListener("input", draw);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    for (const name of FILTERS) $(name).value = "";
    draw();
  });
  $("only").addEventListener("click", () => {
    $("state").value = $("state").value === "differs" ? "" : "differs";
    draw();
  });
  $("panel").addEventListener("click", (event) => { // on the backdrop
    if (event.target === $("panel") && event.clientX < $("panel").getBoundingClientRect().left) $("panel").close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !$("panel").open && !event.target.closest("input, select")) {
      event.preventDefault();
      $("text").focus();
    }
  });
  draw();
}

start();
