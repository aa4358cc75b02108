// One episode as people read it: what was asked, what was delivered, and the truth beside it.
// Every text goes into the page as text, never as markup: models and tools may have written anything.

function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

const SILENT = ["partial", "stale", "factual_error"];
const NOISE_LABELS = {
  timeout: "timeout", rate_limit: "rate limit", server_error: "server error", malformed_response: "malformed",
  auth_error: "auth error", schema_drift: "schema drift", partial: "partial", stale: "stale",
  factual_error: "factual error", blocked: "blocked",
};
const WITHHELD = {
  budget: "the episode’s budget was spent",
  consecutive: "the tool’s consecutive limit was reached",
  not_landed: "there was nothing to corrupt",
};
const SCENARIO_LABELS = { s1: "S1 retry works", s2: "S2 switch needed", s3: "S3 impossible" };
const ENDED = {
  done: "done", escalated: "handed over to a human", transferred: "the user believed to be handed over",
  out_of_scope: "the user had no words for what was asked", max_steps: "step limit reached",
  too_many_errors: "too many errors", context_exceeded: "context full", malformed_call: "calls could not be read",
  empty_reply: "empty reply",
};
const FOLD_LINES = 9, MARKED_LINES = 14, FOLD_LETTERS = 480;

const chip = (kind, text) => h("span", { class: `chip ${kind}` }, text);
const noiseChip = (noise) => chip(SILENT.includes(noise) ? "silent" : noise === "blocked" ? "blocked" : "visible", NOISE_LABELS[noise]);

function verdictOf(episode) {
  if (episode.escalation === "abstain") return ["good", "Abstained correctly"];
  if (episode.passed) return ["good", "Passed"];
  if (episode.escalation === "premature") return ["bad", "Gave up too early"];
  if (episode.effective === "s3") return ["bad", "Kept acting, impossible"];
  return ["bad", "Failed"];
}

const verdictChip = (episode) => {
  const [kind, text] = verdictOf(episode);
  return h("span", { class: `verdict ${kind}` }, h("span", { "aria-hidden": "true" }, kind === "good" ? "✓" : "✕"), ` ${text}`);
};

/** A JSON value as lines, each with the path that corrupted fields are named by. */
function outline(value, path = "$", depth = 0, lead = "", last = true) {
  const comma = last ? "" : ",";
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) {
    return [{ path, depth, text: `${lead}${JSON.stringify(value)}${comma}` }];
  }
  const list = Array.isArray(value);
  const keys = Object.keys(value);
  const inner = keys.flatMap((key, place) => outline(
    value[key], path === "$" ? key : `${path}.${key}`, depth + 1,
    list ? "" : `${JSON.stringify(key)}: `, place === keys.length - 1,
  ));
  return [
    { path, depth, text: `${lead}${list ? "[" : "{"}` },
    ...inner,
    { path, depth, text: `${list ? "]" : "}"}${comma}`, closes: true },
  ];
}

function linesOf(text) {
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object") return outline(value);
  } catch { /* A text that is no JSON is shown as it is. */ }
  return null;
}

const isUnder = (path, roots) => roots.some((root) => root === "$" || path === root || path.startsWith(`${root}.`));

/** A response; lines of corrupted fields are marked, and what is far from them is folded away. */
function response(text, marked = [], kind = "") {
  const lines = linesOf(text);
  const box = h("pre", { class: "response", tabindex: "0" });
  if (!lines) {
    const fold = text.length > FOLD_LETTERS;
    const shown = fold ? `${text.slice(0, FOLD_LETTERS)}…` : text;
    box.append(marked.length ? h("mark", { class: kind }, shown) : shown || "(empty)");
    if (fold) box.append(unfold(`all ${text.length.toLocaleString("en")} characters`, () => box.replaceChildren(text)));
    return box;
  }
  const hit = lines.map((line) => marked.length > 0 && !line.closes && isUnder(line.path, marked));
  const keep = lines.map((_, at) => hit.slice(Math.max(0, at - 1), at + 2).includes(true));
  const some = keep.includes(true);
  const draw = (all) => {
    box.replaceChildren();
    let hidden = 0, shown = 0;
    const flush = () => {
      if (hidden) box.append(unfold(`${hidden} more lines`, () => draw(true)));
      hidden = 0;
    };
    lines.forEach((line, at) => {
      if (!all && lines.length > FOLD_LINES && !(some ? keep[at] && shown < MARKED_LINES : at < FOLD_LINES - 2)) {
        hidden += 1;
        return;
      }
      flush();
      shown += 1;
      const row = h("span", { class: "line" }, "  ".repeat(line.depth), hit[at] ? h("mark", { class: kind }, line.text) : line.text);
      box.append(row, "\n");
    });
    flush();
  };
  draw(false);
  return box;
}

const unfold = (text, open) => h("button", { type: "button", class: "unfold", onclick: open }, `+ ${text}`);

function argumentsOf(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");
  } catch {
    return text;
  }
}

const callText = (tool, args) => h("code", { class: "call" }, h("b", {}, tool), `(${argumentsOf(args)})`);
const labelled = (label, node, kind = "") => h("div", { class: `pane ${kind}` }, h("p", { class: "label" }, label), node);

function chipsOf(call) {
  if (call.blocked) return [noiseChip("blocked")];
  if (call.noise) return [noiseChip(call.noise)];
  return call.genuine ? [chip("genuine", "the tool’s own error")] : [];
}

function bodyOf(call) {
  const parts = [];
  if (call.corrupted.length) {
    const paths = call.corrupted.map(([path]) => path);
    parts.push(
      h("div", { class: "panes" },
        labelled("The agent saw", response(call.delivered, paths, "false"), "delivered"),
        labelled("The truth", response(call.truth ?? call.delivered, paths, "true"), "truth")),
      fieldsOf(call.corrupted),
    );
  } else if (call.blocked || call.noise) {
    const ran = call.executed ? response(call.truth ?? call.delivered) : h("p", { class: "nothing" }, "The tool did not run.");
    parts.push(h("div", { class: "panes" },
      labelled("The agent saw", response(call.delivered), "delivered lost"),
      labelled(call.executed ? "The truth: the tool ran" : "The truth", ran, "truth")));
  } else {
    parts.push(response(call.delivered));
  }
  if (call.blocked) parts.push(h("p", { class: "aside" }, "Blocked for the whole episode."));
  if (call.withheld) {
    parts.push(h("p", { class: "aside" }, `${NOISE_LABELS[call.drawn]} was drawn and not delivered: ${WITHHELD[call.withheld] ?? call.withheld}.`));
  }
  if (call.note) parts.push(labelled("Note that came with it", h("pre", { class: "response", tabindex: "0" }, call.note), "note"));
  return parts;
}

function fieldsOf(corrupted) {
  const row = ([path, truth, delivered]) => h("tr", {},
    h("th", { scope: "row" }, path), h("td", {}, h("mark", { class: "false" }, shorten(delivered))), h("td", {}, h("mark", { class: "true" }, shorten(truth))));
  const head = h("tr", {}, ...["Corrupted field", "Seen", "True"].map((text) => h("th", { scope: "col" }, text)));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Corrupted fields" },
    h("table", { class: "fields" }, h("thead", {}, head), h("tbody", {}, ...corrupted.map(row))));
}

const shorten = (text) => (text.length > 120 ? `${text.slice(0, 119)}…` : text);

function stepOf(message, calls, count) {
  if (message.kind === CALL) {
    const call = calls[message.call];
    const kind = call.blocked ? "blocked" : call.noise ? (SILENT.includes(call.noise) ? "silent" : "visible") : call.genuine ? "genuine" : "plain";
    return h("li", { class: `step calls ${kind}` },
      h("p", { class: "who" }, `Call ${count}`, ...chipsOf(call)),
      message.aside ? h("p", { class: "words said" }, message.aside) : null,
      h("p", {}, callText(call.tool, call.args)), ...bodyOf(call));
  }
  if (message.kind === USER) return h("li", { class: "step user" }, h("p", { class: "who" }, "User"), h("p", { class: "words" }, message.text));
  if (message.kind === ASSISTANT) return h("li", { class: "step agent" }, h("p", { class: "who" }, "Agent"), h("p", { class: "words" }, message.text));
  const [args, answer] = message.rest;
  return h("li", { class: "step user" }, h("p", { class: "who" }, "User, on their own device"), h("p", {}, callText(message.text, args)), response(answer));
}

/** The calls of an episode as a row of marks: its shape at a glance. */
function strip(calls) {
  const marks = calls.map((call) => {
    const kind = call.blocked ? "blocked" : call.noise ? (SILENT.includes(call.noise) ? "silent" : "visible") : call.genuine ? "genuine" : "plain";
    return h("i", { class: kind, title: `${call.tool}: ${call.blocked ? "blocked" : NOISE_LABELS[call.noise] ?? (call.genuine ? "the tool’s own error" : "clean")}` });
  });
  const hit = calls.filter((call) => call.blocked || call.noise).length;
  return h("p", { class: "strip", role: "img", "aria-label": `${calls.length} calls, ${hit} of them disturbed` }, ...marks);
}

function factsOf(episode, found) {
  const scenario = SCENARIO_LABELS[episode.effective] + (episode.assigned === episode.effective ? "" : ` (drawn as ${episode.assigned.toUpperCase()}, the task cannot be made so)`);
  const facts = [["Scenario", episode.mode === "inject_alt" ? scenario : "–"], ["Ended", ENDED[episode.ended] ?? episode.ended],
    ["Steps", `${episode.steps}, ${episode.calls} calls`]];
  if (episode.tokens) facts.push(["Tokens", episode.tokens.toLocaleString("en")]);
  if (found?.blocked.length) facts.push(["Blocked", found.blocked.join(", ")]);
  const parts = found?.parts.filter(([name]) => name).map(([name, verdict]) => `${verdict ? "✓" : "✕"} ${name.replaceAll("_", " ")}`) ?? [];
  if (parts.length) facts.push(["Verdict", parts.join("  ")]);
  return h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** A whole episode: who, how it ended, and every step. */
async function episodeView(data, number, level = 3) {
  const episode = data.episode(number);
  const found = await data.timeline(number);
  const title = h(`h${level}`, { class: "episode-title", tabindex: "-1" }, episode.system);
  const where = h("p", { class: "where" }, `${episode.benchmark} · task ${episode.task} · ${episode.mode} · seed ${episode.seed}`);
  const head = h("header", {}, h("div", { class: "headline" }, title, verdictChip(episode)), where);
  const view = h("article", { class: "episode", "data-number": number }, head);
  if (found) view.append(strip(found.calls));
  view.append(factsOf(episode, found));
  if (!found) {
    view.append(h("p", { class: "left-out" }, "This episode’s timeline is not in this file (see “What is in this file”). It is in the run folder:"),
      h("pre", { class: "response", tabindex: "0" }, `b2r show ${episode.folder} ${episode.id}`));
    return view;
  }
  let count = 0;
  view.append(h("ol", { class: "timeline" }, ...found.messages.map((message) => {
    if (message.kind === CALL) count += 1;
    return stepOf(message, found.calls, count);
  })));
  return view;
}
