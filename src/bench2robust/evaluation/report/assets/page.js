// The page: theme, keys, and what waits for the data.

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  const button = document.getElementById("theme");
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.querySelector("span").textContent = theme;
  button.dataset.next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  try {
    localStorage.setItem("b2r-theme", theme);
  } catch { /* A browser that keeps nothing still shows the page. */ }
}

function startTheme() {
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => setTheme(button.dataset.next));
  let kept = "auto";
  try {
    kept = localStorage.getItem("b2r-theme") ?? "auto";
  } catch { /* As above. */ }
  setTheme(THEMES.includes(kept) ? kept : "auto");
}

function startKeys(explorer) {
  const help = document.getElementById("keys");
  document.getElementById("show-keys").addEventListener("click", () => help.showModal());
  help.querySelector("button").addEventListener("click", () => help.close());
  const single = document.getElementById("single-keys");
  const search = explorer.form.elements.q;
  const actions = {
    j: () => explorer.move(1),
    k: () => explorer.move(-1),
    c: () => explorer.compare(),
    "/": () => search.focus(),
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches("input[type=search], select, textarea");
    if (event.key === "Escape") escape(explorer, event.target);
    else if (!typing && single.checked && event.key in actions) {
      actions[event.key]();
      explorer.root.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    }
  });
}

/** Step back: from the second episode to one, from the episode to the list, out of the search (which browsers clear). */
function escape(explorer, target) {
  if (target.matches("input[type=search]")) explorer.list.focus();
  else if (explorer.beside >= 0) explorer.open(explorer.selected);
  else explorer.list.focus();
}

async function startGallery(data) {
  for (const place of document.querySelectorAll("[data-shows]")) {
    const number = data.find(place.dataset.shows);
    if (number >= 0) place.replaceChildren(await episodeView(data, number, 4));
  }
}

async function start() {
  startTheme();
  const root = document.getElementById("explore");
  try {
    const data = await Data.open();
    const explorer = new Explorer(data, root);
    explorer.filter({ keepLink: true });
    explorer.follow();
    addEventListener("hashchange", () => explorer.follow());
    startKeys(explorer);
    root.removeAttribute("aria-busy");
    await startGallery(data);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    root.querySelector('[data-part="count"]').textContent = `The episodes cannot be unpacked here (${error.message}). A current Chrome, Edge, Firefox or Safari can.`;
  }
}

start();
