// The packed data: base64 around deflated JSON. A piece is unpacked once, when it is first wanted.

async function unpacked(id) {
  const binary = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const EXECUTED = 1, ERROR = 2, BLOCKED = 4, GENUINE = 8, NONE = -1, SHARED = -2;
const USER = 0, ASSISTANT = 1, CALL = 2;

class Data {
  static async open() {
    const data = new Data();
    data.index = await unpacked("b2r-index");
    data.columns = data.index.columns;
    data.size = data.columns.task.length;
    data.pieces = new Map();
    return data;
  }

  /** Everything the index says of one episode. */
  episode(number) {
    const { index, columns } = this;
    const [benchmark, task, intent] = index.tasks[columns.task[number]];
    const [system, agent, folder] = index.systems[columns.system[number]];
    const mode = index.modes[columns.mode[number]];
    return {
      number, benchmark, task, intent, system, agent, folder, mode,
      seed: columns.seed[number],
      passed: columns.passed[number] === 1,
      assigned: index.scenarios[columns.assigned[number]],
      effective: index.scenarios[columns.effective[number]],
      escalation: index.escalations[columns.escalation[number]],
      ended: index.ends[columns.ended[number]],
      steps: columns.steps[number],
      calls: columns.calls[number],
      tokens: columns.tokens[number],
      met: columns.met[number],
      carried: columns.piece[number] !== NONE,
      id: `${task}:${agent}:${mode}:${columns.seed[number]}`,
    };
  }

  /** What an episode is called in a link: benchmark, task, mode, seed and system (`Performance.name` in gallery.py). */
  name(number) {
    const { benchmark, task, mode, seed, system } = this.episode(number);
    return [benchmark, task, mode, seed, system].join("~");
  }

  /** The episode of a name, or -1. */
  find(name) {
    if (!this.names) {
      this.names = new Map();
      for (let number = 0; number < this.size; number += 1) this.names.set(this.name(number), number);
    }
    return this.names.get(name) ?? -1;
  }

  /** The other episodes of the same task and seed: same mode first, then the other modes. */
  others(number) {
    const { task, seed, mode } = this.columns;
    const found = [];
    // Episodes are sorted by task, so those of one task lie together.
    let start = number, end = number;
    while (start > 0 && task[start - 1] === task[number]) start -= 1;
    while (end + 1 < this.size && task[end + 1] === task[number]) end += 1;
    for (let other = start; other <= end; other += 1) {
      if (other !== number && seed[other] === seed[number]) found.push(other);
    }
    return found.sort((a, b) => (mode[a] !== mode[number]) - (mode[b] !== mode[number]) || a - b);
  }

  /** What happened in an episode, with its texts put back; null where the report does not carry it. */
  async timeline(number) {
    const piece = this.columns.piece[number];
    if (piece === NONE) return null;
    if (!this.pieces.has(piece)) this.pieces.set(piece, unpacked(`b2r-piece-${piece}`));
    this.shared ??= unpacked("b2r-shared");
    const [[texts, timelines], shared] = await Promise.all([this.pieces.get(piece), this.shared]);
    const text = (place) => (place <= SHARED ? shared[SHARED - place] : texts[place]);
    const [messages, calls, [equivalence, side, blocked], parts] = timelines[this.columns.place[number]];
    return {
      messages: messages.map(([kind, first, ...rest]) => (kind === CALL
        ? { kind, call: first, aside: rest.length ? text(rest[0]) : "" }
        : { kind, text: text(first), rest: rest.map(text) })),
      calls: calls.map((call) => this.call(call, text)),
      equivalence: text(equivalence),
      side: text(side),
      blocked: blocked.map(text),
      parts: parts.map(([name, verdict]) => [text(name), verdict]),
    };
  }

  call(row, text) {
    const [tool, args, flags, delivered, truth = NONE, noise = NONE, drawn = NONE, withheld = NONE,
      corrupted = [], note = NONE] = row;
    const some = (place) => (place === NONE ? "" : text(place));
    const noiseOf = (place) => (place === NONE ? "" : this.index.noises[place]);
    return {
      tool: text(tool),
      args: text(args),
      executed: Boolean(flags & EXECUTED),
      error: Boolean(flags & ERROR),
      blocked: Boolean(flags & BLOCKED),
      genuine: Boolean(flags & GENUINE),
      delivered: text(delivered),
      truth: truth === NONE ? null : text(truth),
      noise: noiseOf(noise),
      drawn: noiseOf(drawn),
      withheld: some(withheld),
      corrupted: corrupted.map((field) => field.map(text)),
      note: some(note),
    };
  }
}
