"use strict";
// What every room needs: elements, requests, and errors in plain words.

const byId = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const percent = (share) => (share >= 0.001 ? `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %` : "< 0.1 %");
const milliseconds = (ms) =>
  ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
const lowerFirst = (text) => text.charAt(0).toLowerCase() + text.slice(1);

// Requests.

class Refusal extends Error {
  // `again`: whether trying again may help.
  constructor(message, { status = 0, again = true } = {}) {
    super(message);
    Object.assign(this, { status, again });
  }
}

let key = "";  // nothing is stored: it is gone with the page

function inPlainWords(status, said) {
  const because = said ? ` It said: “${said}”` : "";
  if (status === 401) return "This server answers those who have a key. Write it into the field at the top.";
  if (status === 403) return `The server does not answer pages from here.${because}`;
  if (status === 408) return "It took too long to reach the server. Try again, or take something smaller.";
  if (status === 413) return `That is too large for this server.${because}`;
  if (status === 415 || status === 422) return `The server cannot work with that.${because}`;
  if (status === 429) return "The server has more to do than it can at the moment. Wait a little, then try again.";
  if (status === 503) return `The server is not ready: it is loading its models, or stopping.${because}`;
  return `Something went wrong on the server (${status}).${because}`;
}

async function refusalOf(response) {
  let said = "";
  try {
    said = (await response.json()).error ?? "";
  } catch {
    // An answer without a reason: the status has to do.
  }
  if (response.status === 401) askForKey();
  return new Refusal(inPlainWords(response.status, said), { status: response.status, again: ![401, 413, 415, 422].includes(response.status) });
}

async function reach(path, options) {
  try {
    return await fetch(path, { ...options, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server cannot be reached. It may have been stopped: start it again with “perceiver serve”.");
  }
}

// "queue;dur=0.4, model;dur=8.1"
function modelTime(response) {
  const said = /model;dur=([\d.]+)/.exec(response.headers.get("Server-Timing") ?? "");
  return said ? Number(said[1]) : null;
}

// -> what came, and how many milliseconds the model took, or, where nobody says, the way there and back.
// A server that is busy is asked again when it wants to be.
async function ask(path, { body, accept = "application/json", method = body ? "POST" : "GET", signal, patience = 4 } = {}) {
  const headers = { Accept: accept };
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body && !(body instanceof FormData)) headers["Content-Type"] = "application/json";
  const packed = body && !(body instanceof FormData) ? JSON.stringify(body) : body;
  for (let tries = 1; ; ++tries) {
    const start = performance.now();
    const response = await reach(path, { method, headers, body: packed, signal });
    if (response.status === 429 && tries < patience) {
      await pause(Math.min(10, Number(response.headers.get("Retry-After")) || 1));
      if (signal?.aborted) throw new DOMException("no longer wanted", "AbortError");
      continue;
    }
    if (!response.ok) throw await refusalOf(response);
    const content = response.status === 204 ? null
      : accept === "application/json" ? await response.json() : await response.arrayBuffer();
    return { content, ms: modelTime(response) ?? performance.now() - start };
  }
}

// The lines of the diagram at the top glow while the server works.
async function glowing(parts, promise) {
  const { classList } = byId("diagram");
  classList.add(...parts);
  try {
    return await promise;
  } finally {
    classList.remove(...parts);
  }
}
const whileEncoding = (promise) => glowing(["encoding"], promise);
const whileAsking = (promise) => glowing(["asking"], promise);

// A form with files, and options beside them.
function form(files, options = {}) {
  const data = new FormData();
  for (const [name, blob] of files) data.append("file", blob, name);
  for (const [name, value] of Object.entries(options)) {
    if (value !== "" && value != null) data.append(name, String(value));
  }
  return data;
}

// Server-sent events of a path, one after another: EventSource cannot send a key.
async function* events(path, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const response = await reach(path, { headers, signal });
  if (!response.ok) throw await refusalOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (text + value).replaceAll("\r\n", "\n").split("\n\n");
    text = pieces.pop();
    for (const piece of pieces) {
      const field = (name) => new RegExp(`^${name}: ?(.*)$`, "m").exec(piece)?.[1] ?? "";
      if (field("data")) yield { name: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

const samples = new Map();  // by name: a blob, fetched once

async function sampleFile(name) {
  if (!samples.has(name)) {
    const { content } = await ask(`/samples/${encodeURIComponent(name)}`, { accept: "*/*" });
    samples.set(name, new Blob([content]));
  }
  return samples.get(name);
}

// Rooms.

const kOrigins = {
  shipped: "a small model that comes with the program",
  trained: "trained here",
  deepmind: "weights from DeepMind",
  huggingface: "weights from Hugging Face",
  random: "random weights: its answers mean nothing yet",
};

// A part of the page that asks routes, of one of the models that have them and read what it sends.
class Room {
  constructor(id, reads, routes) {
    this.section = byId(id);
    this.fits = (model) => model.reads === reads && routes.every((route) => model.routes.includes(route));
    this.problem = this.section.querySelector(".problem");
    this.model = "";
    this.changed = () => {};  // another model was chosen
  }

  // -> whether there is a model for it.
  open(info, whatIsMissing) {
    const models = info.models.filter(this.fits);
    this.section.classList.toggle("closed", models.length === 0);
    if (models.length === 0) {
      this.say(whatIsMissing, true);
      return false;
    }
    this.model = models[0].id;
    const line = this.section.querySelector(".model");
    const about = make("span", {}, kOrigins[models[0].origin] ?? "");
    const choose = (event) => {
      const chosen = models[event.target.selectedIndex];
      this.model = chosen.id;
      about.textContent = kOrigins[chosen.origin] ?? "";
      this.changed();
    };
    const names = models.map((model) => make("option", {}, model.id));
    line.replaceChildren(
      models.length > 1 ? make("select", { "aria-label": "Model", onchange: choose }, ...names) : this.model,
      about.textContent ? " · " : "", about);
    return true;
  }

  say(content, calmly = false) {
    this.problem.classList.toggle("calm", calmly);
    this.problem.setAttribute("role", calmly ? "note" : "alert");
    this.problem.replaceChildren(...[content].flat());
    this.problem.hidden = false;
  }

  // Runs `job(signal)` in the place of the one before, which nobody waits for any more.
  async work(job) {
    this.controller?.abort();
    const controller = (this.controller = new AbortController());
    this.problem.hidden = true;
    this.section.classList.add("busy");
    this.section.setAttribute("aria-busy", "true");
    try {
      await job(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      const again = make("button", { type: "button", class: "plain", onclick: () => this.work(job) }, "Try again");
      const known = error instanceof Refusal;
      this.say([known ? error.message : `This page made a mistake: ${error.message}`, " ", known && error.again ? again : ""]);
      if (!known) console.error(error);
    } finally {
      if (this.controller === controller) {
        this.section.classList.remove("busy");
        this.section.removeAttribute("aria-busy");
      }
    }
  }
}

// A button that takes a visitor's files, also when they are dropped on the room.
function uploadButton(room, text, accept, take, multiple = false) {
  const input = make("input", {
    type: "file", accept, multiple: multiple || null, "aria-label": text,
    onchange: () => {
      if (input.files.length > 0) take([...input.files]);
      input.value = "";
    },
  });
  room.section.addEventListener("dragover", (event) => event.preventDefault());
  room.section.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) take([...event.dataTransfer.files]);
  });
  return make("span", { class: "upload" }, text, input);
}

// One button of several is pressed.
function press(group, button) {
  for (const other of group.querySelectorAll("[aria-pressed]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
}

// Radio buttons that are drawn: one is reached by Tab, the others by arrow keys.
function choices(group, buttons, chosen) {
  const choose = (button) => {
    for (const other of buttons) {
      other.setAttribute("aria-checked", String(other === button));
      other.tabIndex = other === button ? 0 : -1;
    }
    chosen(buttons.indexOf(button));
  };
  for (const button of buttons) {
    button.type = "button";
    button.setAttribute("role", "radio");
    button.onclick = () => choose(button);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = buttons[(buttons.indexOf(button) + step + buttons.length) % buttons.length];
      next.focus();
      choose(next);
    };
  }
  group.replaceChildren(...buttons);
  if (buttons.length > 0) choose(buttons[0]);
}

function bars(list, rows) {
  list.replaceChildren(...rows.map(({ name, share, note }) => {
    const item = make("li", {}, make("span", {}, name, note ? make("span", { class: "truth" }, ` ${note}`) : ""),
      make("span", { class: "share" }, percent(share)));
    item.style.setProperty("--share", `${100 * share}%`);
    return item;
  }));
}
