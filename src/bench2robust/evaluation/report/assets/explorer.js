// The explorer: filters, a list that draws only the rows in view, one or two episodes, links and keys.

const ROW = 58, AROUND = 8, MOST_ROWS = 250000;
const BLOCKED_NAME = "blocked";

class Explorer {
  constructor(data, root) {
    Object.assign(this, { data, root });
    const find = (name) => root.querySelector(`[data-part="${name}"]`);
    this.list = find("list");
    this.detail = find("detail");
    this.count = find("count");
    this.form = find("filters");
    this.rows = h("div", { class: "rows", role: "presentation" });
    this.list.append(this.rows);
    this.noises = [...data.index.noises, BLOCKED_NAME];
    this.matches = [];
    this.selected = -1;
    this.beside = -1;
    this.drawing = 0;
    this.fillFilters();
    this.form.addEventListener("input", () => this.filter());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.list.focus();
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.filter()));
    this.list.addEventListener("scroll", () => this.drawRows());
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("[data-number]");
      if (row) this.open(Number(row.dataset.number), { show: true });
    });
    this.list.addEventListener("keydown", (event) => this.listKey(event));
    new ResizeObserver(() => this.drawRows()).observe(this.list);
  }

  fillFilters() {
    const { index, columns } = this.data;
    const fill = (name, values) => {
      const select = this.form.elements[name];
      for (const [value, label] of values) select.append(h("option", { value }, label));
      select.closest("label").hidden = values.length < 2;
    };
    const present = (column) => [...new Set(columns[column])].sort((a, b) => a - b);
    fill("system", index.systems.map(([name]) => [name, name]));
    fill("mode", present("mode").map((place) => [index.modes[place], index.modes[place]]));
    fill("scenario", present("effective").map((place) => [index.scenarios[place], SCENARIO_LABELS[index.scenarios[place]]]));
    fill("benchmark", [...new Set(index.tasks.map(([name]) => name))].map((name) => [name, name]));
    fill("intent", [...new Set(index.tasks.map(([, , intent]) => intent))].map((name) => [name, name]));
    const met = columns.met.reduce((all, bits) => all | bits, 0);
    const noises = this.noises.filter((_, bit) => met & (1 << bit)).map((name) => [name, NOISE_LABELS[name]]);
    fill("noise", [["none", "nothing"], ["silent", "any silent error"], ...noises]);
  }

  /** What the form asks for, as a test of an episode's number. */
  wanted() {
    const { index, columns } = this.data;
    const value = (name) => this.form.elements[name].value;
    const tests = [];
    const systems = index.systems.map(([name]) => name);
    for (const [name, column, names] of [["system", "system", systems], ["mode", "mode", index.modes], ["scenario", "effective", index.scenarios]]) {
      const place = names.indexOf(value(name));
      if (value(name) !== "") tests.push((at) => columns[column][at] === place);
    }
    for (const [name, place] of [["benchmark", 0], ["intent", 2]]) {
      const sought = value(name);
      if (sought !== "") tests.push((at) => index.tasks[columns.task[at]][place] === sought);
    }
    const noise = value("noise");
    const silent = SILENT.reduce((bits, name) => bits | (1 << this.noises.indexOf(name)), 0);
    if (noise === "none") tests.push((at) => columns.met[at] === 0);
    else if (noise === "silent") tests.push((at) => (columns.met[at] & silent) !== 0);
    else if (noise !== "") tests.push((at) => (columns.met[at] & (1 << this.noises.indexOf(noise))) !== 0);
    const outcome = OUTCOMES[value("outcome")];
    if (outcome) tests.push((at) => outcome(this.data.episode(at)));
    if (this.form.elements.differ.checked) {
      const differing = this.differing();
      tests.push((at) => differing.has(this.groupOf(at)));
    }
    const words = value("q").trim().toLowerCase();
    if (words) {
      const fits = index.tasks.map(([, task]) => task.toLowerCase().includes(words));
      tests.push((at) => fits[columns.task[at]] || this.data.episode(at).id.toLowerCase() === words);
    }
    return (at) => tests.every((test) => test(at));
  }

  groupOf(at) {
    const { task, mode, seed } = this.data.columns;
    return `${task[at]},${mode[at]},${seed[at]}`;
  }

  /** The groups (task, mode, seed) in which one system passes and another fails. */
  differing() {
    if (!this.known) {
      const first = new Map();
      this.known = new Set();
      this.data.columns.passed.forEach((passed, at) => {
        const group = this.groupOf(at);
        if (!first.has(group)) first.set(group, passed);
        else if (first.get(group) !== passed) this.known.add(group);
      });
    }
    return this.known;
  }

  filter({ keepLink = false } = {}) {
    const wanted = this.wanted();
    const { passed } = this.data.columns;
    this.matches = [];
    let won = 0;
    for (let at = 0; at < this.data.size; at += 1) {
      if (!wanted(at)) continue;
      this.matches.push(at);
      won += passed[at];
    }
    const all = this.matches.length;
    const rate = all ? `, ${((100 * won) / all).toFixed(1)} % passed` : "";
    this.count.textContent = `${all.toLocaleString("en")} of ${this.data.size.toLocaleString("en")} episodes${rate}`
      + (all > MOST_ROWS ? `; the list shows the first ${MOST_ROWS.toLocaleString("en")}` : "");
    this.rows.style.height = `${Math.min(all, MOST_ROWS) * ROW}px`;
    this.drawRows();
    if (!keepLink) this.link();
  }

  drawRows() {
    const shown = Math.min(this.matches.length, MOST_ROWS);
    const from = Math.max(0, Math.floor(this.list.scrollTop / ROW) - AROUND);
    const to = Math.min(shown, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + AROUND);
    const rows = [];
    for (let place = from; place < to; place += 1) rows.push(this.row(place));
    if (!shown) rows.push(h("p", { class: "empty" }, "No episode fits. Loosen a filter."));
    this.rows.replaceChildren(...rows);
    const active = this.rows.querySelector('[aria-selected="true"]');
    if (active) this.list.setAttribute("aria-activedescendant", active.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const number = this.matches[place];
    const episode = this.data.episode(number);
    const [kind, text] = verdictOf(episode);
    // What is worst to meet comes first: a block, then what cannot be seen.
    const met = this.noises.filter((_, bit) => episode.met & (1 << bit)).reverse();
    const chips = met.slice(0, 1).map(noiseChip);
    if (met.length > 1) chips.push(h("span", { class: "more" }, `+${met.length - 1}`));
    const scenario = episode.mode === "inject_alt" ? ` · ${episode.effective.toUpperCase()}` : "";
    return h("div", {
      id: `row-${number}`, class: "row", role: "option", "data-number": number, style: `top:${place * ROW}px`,
      "aria-selected": String(number === this.selected), "aria-setsize": this.matches.length, "aria-posinset": place + 1,
    },
    h("span", { class: `mark ${kind}`, role: "img", "aria-label": text, title: text }, kind === "good" ? "✓" : "✕"),
    h("span", { class: "task" }, episode.task),
    h("span", { class: "system" }, episode.system),
    h("span", { class: "what" }, `${episode.mode} · seed ${episode.seed}${scenario}`),
    h("span", { class: "chips" }, ...chips));
  }

  async open(number, { beside = -1, show = false, focus = false } = {}) {
    this.selected = number;
    this.beside = beside;
    this.reveal();
    this.link();
    const drawing = (this.drawing += 1);
    const views = await Promise.all([number, beside].filter((one) => one >= 0).map((one) => episodeView(this.data, one, 4)));
    if (drawing !== this.drawing) return;
    this.detail.replaceChildren(this.bar(number, beside), h("div", { class: views.length > 1 ? "pair" : "single" }, ...views));
    this.detail.scrollTop = 0;
    this.root.classList.toggle("comparing", views.length > 1);
    this.root.classList.add("opened");
    const narrow = matchMedia("(max-width: 760px)").matches;
    if (show && narrow) this.detail.scrollIntoView({ block: "start" });
    if (focus) this.detail.querySelector(".episode-title").focus({ preventScroll: !narrow });
  }

  bar(number, beside) {
    const choices = this.data.others(number);
    const select = h("select", { onchange: (event) => this.open(number, { beside: Number(event.target.value) }) }, h("option", { value: "-1" }, "nothing"));
    const { mode } = this.data.episode(number);
    const groups = new Map();
    for (const other of choices) {
      const episode = this.data.episode(other);
      if (!groups.has(episode.mode)) groups.set(episode.mode, h("optgroup", { label: episode.mode === mode ? `${mode}, same draws` : episode.mode }));
      groups.get(episode.mode).append(h("option", { value: other }, `${episode.system} – ${verdictOf(episode)[1].toLowerCase()}`));
    }
    select.append(...groups.values());
    select.value = String(beside);
    const back = h("button", { type: "button", class: "back", onclick: () => this.list.focus() }, "← List");
    return h("div", { class: "bar" }, back, h("label", {}, "Beside it ", select));
  }

  /** Draw the list around the episode that is open. */
  reveal() {
    const place = this.matches.indexOf(this.selected);
    if (place >= 0) {
      const top = place * ROW, { scrollTop, clientHeight } = this.list;
      if (top < scrollTop) this.list.scrollTop = top;
      else if (top + ROW > scrollTop + clientHeight) this.list.scrollTop = top + ROW - clientHeight;
    }
    this.drawRows();
  }

  move(by) {
    const place = this.matches.indexOf(this.selected);
    this.show(place < 0 ? 0 : place + by);
  }

  /** Open what stands at a place of the list, or at the end that is nearer. */
  show(place) {
    const last = Math.min(this.matches.length, MOST_ROWS) - 1;
    if (last >= 0) this.open(this.matches[Math.max(0, Math.min(last, place))]);
  }

  compare() {
    if (this.selected < 0) return;
    const other = this.beside >= 0 ? -1 : this.data.others(this.selected)[0] ?? -1;
    this.open(this.selected, { beside: other });
  }

  listKey(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const ends = { Home: 0, End: this.data.size };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key in ends) this.show(ends[event.key]);
    else if (event.key === "Enter" && this.selected >= 0) this.open(this.selected, { beside: this.beside, focus: true, show: true });
    else return;
    event.preventDefault();
  }

  /** Write what is shown into the address, so that it can be sent to someone. */
  link() {
    const parameters = new URLSearchParams();
    for (const [name, value] of new FormData(this.form)) if (value !== "") parameters.set(name, value);
    if (this.selected >= 0) parameters.set("e", this.data.name(this.selected));
    if (this.beside >= 0) parameters.set("vs", this.data.name(this.beside));
    const text = parameters.toString();
    if (text || location.hash.startsWith("#explore")) history.replaceState(null, "", text ? `#explore?${text}` : "#explore");
  }

  /** Show what the address says. */
  follow() {
    const [place, text = ""] = location.hash.slice(1).split("?");
    if (place !== "explore" || !text) return;
    const parameters = new URLSearchParams(text);
    for (const element of this.form.elements) {
      if (element.type === "checkbox") element.checked = parameters.has(element.name);
      else if (element.name) element.value = parameters.get(element.name) ?? "";
    }
    this.filter({ keepLink: true });
    const number = this.data.find(parameters.get("e") ?? "");
    if (number >= 0) this.open(number, { beside: this.data.find(parameters.get("vs") ?? "") });
    this.root.scrollIntoView();
  }
}

const OUTCOMES = {
  passed: (episode) => episode.passed,
  failed: (episode) => !episode.passed,
  premature: (episode) => episode.escalation === "premature",
  abstained: (episode) => episode.escalation === "abstain",
  missed: (episode) => episode.effective === "s3" && episode.escalation !== "abstain",
  stuck: (episode) => !episode.passed && episode.escalation === "none",
};
