// Motion: two frames are read once; their latents are kept, and asked for all pixels or for one.

const motion = new Room("motion", "frames", ["/flow", "/latents"]);
const seen = byId("seen"), flowStage = byId("flow");
const kLongestSide = 512;  // of a visitor's frames: larger ones would take minutes on a small machine

const pair = {
  frames: null,    // two canvases of one size
  names: ["", ""],
  files: null,     // the two as they were given, where they are sent so
  shown: 0,        // which of them is seen
  playing: !calm.matches,
  latents: null,   // their id
  flow: null, flowPicture: null,
  cross: null,     // the pixel that is asked for next
  answer: null,    // {x, y, right, down, night}
  costs: {},
  shift: null,     // {from, by} while something is being moved
};

// One question at a time: of those that come meanwhile, the last counts.
let nextPixel = null, asking = false;

const sizeOf = () => pair.frames[0];

function drawMotion() {
  showPlay();
  if (!pair.frames || seen.clientWidth === 0) return;
  drawSeen();
  drawFlow();
}

function drawSeen() {
  const { width, height } = sizeOf();
  const { context, pixel } = sharpContext(seen, width, height);
  const { answer } = pair;
  context.drawImage(pair.frames[answer && !pair.shift ? 0 : pair.shown], 0, 0);
  if (pair.shift) return;
  if (answer) {
    if (answer.night) context.drawImage(answer.night, 0, 0);
    drawAnswer(context, pixel);
  }
  if (pair.cross) drawCross(context, centre(pair.cross), pixel);
}

function drawFlow() {
  const { width, height } = sizeOf();
  const { context, pixel } = sharpContext(flowStage, width, height);
  if (pair.flowPicture) context.drawImage(pair.flowPicture, 0, 0);
  if (pair.answer) drawAnswer(context, pixel);
  if (pair.cross) drawCross(context, centre(pair.cross), pixel);
}

const centre = ({ x, y }) => ({ x: x + 0.5, y: y + 0.5 });

// Four times as long as it is: most motion is of a few pixels.
function drawAnswer(context, pixel) {
  const { right, down } = pair.answer;
  const from = centre(pair.answer);
  if (Math.hypot(right, down) > 0.05) drawArrow(context, from, { x: from.x + 4 * right, y: from.y + 4 * down }, pixel, "#fff");
}

// The frames go in, all of the motion comes out.
function readPair() {
  pair.latents = pair.flow = pair.flowPicture = pair.answer = null;
  pair.costs = {};
  nextPixel = null;
  byId("pixel").textContent = "";
  showCosts();
  drawMotion();
  return motion.work(async (signal) => {
    byId("flow-text").textContent = "reading the two frames…";
    await encodePair(signal);
    byId("flow-text").textContent = "asking for every pixel…";
    const { content, ms } = await askLatents({}, signal, "application/octet-stream");
    if (signal.aborted) return;
    pair.flow = readFlo(content);
    pair.flowPicture = flowPicture(pair.flow);
    pair.costs.all = ms;
    byId("flow-text").textContent = `hue for direction, strength for length; the longest is ${pair.flow.largest.toFixed(1)} pixels`;
    byId("pixel").textContent = "Touch a pixel to ask for it alone.";
    showCosts();
    drawMotion();
    if (nextPixel) setTimeout(() => nextPixel && askPixel(nextPixel));
  });
}

async function encodePair(signal) {
  const blobs = pair.files ?? (await Promise.all(pair.frames.map(pngOf)));
  const files = blobs.map((blob, i) => [pair.names[i] || `frame${i + 1}.png`, blob]);
  const { content, ms } = await whileEncoding(ask("/latents", { body: form(files, { model: motion.model }), signal }));
  if (signal.aborted) return;
  forget();
  pair.latents = content.id;
  pair.costs.encode = ms;
  showCosts();
}

// Where the latents were let go in between, they are made again.
async function askLatents(body, signal, accept) {
  try {
    return await whileAsking(ask(`/latents/${pair.latents}/query`, { body, accept, signal }));
  } catch (error) {
    if (error.status !== 404) throw error;
    await encodePair(signal);
    return whileAsking(ask(`/latents/${pair.latents}/query`, { body, accept, signal }));
  }
}

function forget() {
  if (!pair.latents) return;
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  fetch(`/latents/${pair.latents}`, { method: "DELETE", headers, keepalive: true }).catch(() => {});
  pair.latents = null;
}
addEventListener("pagehide", forget);

async function askPixel(pixel) {
  pair.cross = pixel;
  drawMotion();
  nextPixel = pixel;
  if (asking || !pair.flow) return;  // readPair() comes back to it
  asking = true;
  while (nextPixel) {
    const { x, y } = nextPixel;
    nextPixel = null;
    await motion.work(async (signal) => {
      const { content, ms } = await askLatents({ pixels: [[x, y]], attention: true }, signal);
      if (!signal.aborted) showPixel(content, ms);
    });
  }
  asking = false;
}

function showPixel(content, ms) {
  const [{ x, y, flow: [right, down] }] = content.pixels;
  const { attention } = content;
  pair.answer = { x, y, right, down, night: attention ? nightAround(attention) : null };
  pair.costs.pixel = ms;
  const way = (value, forth, back) => `${Math.abs(value).toFixed(1)} px ${value < 0 ? back : forth}`;
  byId("pixel").replaceChildren(`Pixel ${x}, ${y} moves `, make("b", {}, way(right, "right", "left")), " and ",
    make("b", {}, way(down, "down", "up")), `; asked of the kept latents in ${milliseconds(ms)}.`);
  byId("seen-text").textContent = attention ? "lit: what this pixel's answer was read from" : "the first frame";
  showCosts();
  drawMotion();
}

// Outside of the tile nothing was read.
function nightAround({ left, top, rows }) {
  const { width, height } = sizeOf();
  const whole = night(Array.from({ length: height }, () => new Array(width).fill(0)));
  const context = whole.getContext("2d");
  context.clearRect(left, top, rows[0].length, rows.length);
  context.drawImage(night(rows), left, top);
  return whole;
}

function showCosts() {
  const { encode, all, pixel } = pair.costs;
  const longest = Math.max(encode ?? 0, all ?? 0, pixel ?? 0);
  const rows = [["reading two frames, once", encode], ["asking for every pixel", all], ["asking for one pixel", pixel]];
  byId("costs").replaceChildren(...rows.map(([name, ms]) => {
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", `${ms === undefined ? 0 : (100 * ms) / longest}%`);
    bar.hidden = ms === undefined;
    return make("li", {}, make("span", {}, name), ms === undefined ? make("span") : bar,
      make("span", { class: "ms" }, ms === undefined ? "" : milliseconds(ms)));
  }));
}

// Pointers and keys.

const within = (value, end) => Math.max(0, Math.min(end - 1, value));

function stagePixel(event) {
  const { width, height } = sizeOf();
  return {
    x: within(Math.floor((event.offsetX / event.target.clientWidth) * width), width),
    y: within(Math.floor((event.offsetY / event.target.clientHeight) * height), height),
  };
}

const moves = (event) => motion.dragging && event.target === seen;

for (const stage of [seen, flowStage]) {
  stage.addEventListener("pointerdown", (event) => {
    if (!pair.frames || event.button !== 0) return;
    stage.setPointerCapture(event.pointerId);
    if (moves(event)) beginShift(stagePixel(event));
    else askPixel(stagePixel(event));
  });
  stage.addEventListener("pointermove", (event) => {
    if (!pair.frames || !stage.hasPointerCapture(event.pointerId)) return;
    const to = stagePixel(event);
    if (pair.shift) shiftBy(to.x - pair.shift.from.x, to.y - pair.shift.from.y);
    else if (!moves(event)) askPixel(to);
  });
  stage.addEventListener("pointerup", () => pair.shift && endShift());
  stage.addEventListener("pointercancel", () => pair.shift && endShift());
  stage.addEventListener("keydown", onStageKey);
}

function onStageKey(event) {
  const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
  const enter = event.key === "Enter" || event.key === " ";
  if (!pair.frames || !(move || enter || (event.key === "Escape" && pair.shift))) return;
  event.preventDefault();
  const { width, height } = sizeOf();
  const at = pair.cross ?? { x: width >> 1, y: height >> 1 };
  if (event.key === "Escape" || (enter && pair.shift)) return endShift();
  if (enter) return askPixel(at);
  if (moves(event)) {
    if (!pair.shift) beginShift(at);
    return shiftBy(pair.shift.by.x + move[0], pair.shift.by.y + move[1]);
  }
  const step = event.shiftKey ? 1 : 4;
  pair.cross = { x: within(at.x + step * move[0], width), y: within(at.y + step * move[1], height) };
  drawMotion();
}

// Moving something oneself: the second frame is the first, a part of it shifted.

function beginShift(from) {
  const before = pair.frames[0];
  pair.frames = [before, canvasOf(before.width, before.height)];
  pair.files = null;
  pair.names = ["", ""];
  pair.shift = { from, by: { x: 0, y: 0 } };
  pair.cross = from;
  pair.shown = 1;
  shiftBy(0, 0);
}

function shiftBy(x, y) {
  const [before, after] = pair.frames;
  const farthest = before.width / 16;  // farther than models of motion can follow
  const scale = Math.min(1, farthest / Math.max(Math.hypot(x, y), 1e-6));
  const by = { x: Math.round(x * scale), y: Math.round(y * scale) };
  const { from } = pair.shift;
  const context = after.getContext("2d");
  context.drawImage(before, 0, 0);
  context.save();
  if (document.querySelector("input[name=drag]:checked").value === "disc") {
    context.beginPath();
    context.arc(from.x + by.x, from.y + by.y, before.height / 5, 0, 7);
    context.clip();
  }
  context.drawImage(before, by.x, by.y);
  context.restore();
  pair.shift.by = by;
  byId("seen-text").textContent = `moved by ${by.x} across, ${by.y} down`;
  drawSeen();
}

function endShift() {
  const { by } = pair.shift;
  pair.shift = null;
  pair.cross = null;
  if (by.x === 0 && by.y === 0) return drawMotion();
  press(byId("pair-samples"), null);
  readPair();
}

byId("drag").onclick = () => {
  motion.dragging = !motion.dragging;
  byId("drag").setAttribute("aria-pressed", String(motion.dragging));
  byId("drag-what").hidden = !motion.dragging;
  motion.section.classList.toggle("dragging", motion.dragging);
  byId("seen-text").textContent = motion.dragging ? "drag on the frame, or use the arrow keys and Enter" : "the two frames in turn";
  pair.answer = null;
  drawMotion();
};

byId("play").onclick = () => {
  pair.playing = !pair.playing || pair.answer !== null;
  pair.answer = null;
  byId("seen-text").textContent = "the two frames in turn";
  drawMotion();
};

function showPlay() {
  byId("play").textContent = pair.answer ? "back to the frames" : pair.playing ? "pause" : "play";
}

setInterval(() => {
  if (!pair.frames || !pair.playing || pair.answer || pair.shift) return;
  pair.shown = 1 - pair.shown;
  drawSeen();
}, 650);

// Frames to take.

async function takePair(files, names, button) {
  const images = await Promise.all(files.map((file, i) => picture(file, names[i])));
  const [a, b] = [images[0], images[1] ?? images[0]];
  if (a.width !== b.width || a.height !== b.height) {
    throw new Refusal(`The two frames differ in size: ${a.width} × ${a.height} and ${b.width} × ${b.height}. Take two of the same size, such as neighbours in a video.`, { again: false });
  }
  const small = Math.max(a.width, a.height) <= kLongestSide;
  pair.frames = [fitted(a, kLongestSide), fitted(b, kLongestSide)];
  pair.files = small && files.length === 2 ? files : null;
  pair.names = pair.files ? names : ["", ""];
  press(byId("pair-samples"), button);
  pair.shown = 0;
  pair.cross = null;
  for (const stage of [seen, flowStage]) stage.style.setProperty("--aspect", `${sizeOf().width} / ${sizeOf().height}`);
  const from = small ? "" : `, made smaller: ${sizeOf().width} × ${sizeOf().height} of ${a.width} × ${a.height}`;
  byId("seen-text").textContent = `the two frames in turn${from}`;
  if (files.length === 1 && !motion.dragging) byId("drag").click();
  await readPair();
}

async function openMotion(list) {
  drawWheel(byId("wheel"));
  new ResizeObserver(drawMotion).observe(seen);
  const shelf = byId("pair-samples");
  const frames = list.filter((one) => one.kind === "frame").map((one) => one.name).sort();
  const groups = new Map();  // "flow-objects-frame" -> its frames
  for (const name of frames) {
    const group = name.replace(/\d+\.\w+$/, "");
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  const buttons = await Promise.all([...groups].map(async ([group, names]) => {
    const files = await Promise.all(names.slice(0, 2).map(sampleFile));
    const title = group.replace(/^flow-|-frame$/g, "");
    const button = make("button", { type: "button", class: "sample", "aria-pressed": "false", "aria-label": `frames: ${title}`, title },
      make("img", { src: URL.createObjectURL(files[0]), alt: "", height: 54 }));
    button.onclick = () => motion.work(() => takePair(files, names, button));
    return button;
  }));
  shelf.replaceChildren(...buttons, uploadButton(motion, "Frames of yours, one or two", "image/*", (files) => {
    const taken = files.slice(0, 2);
    motion.work(() => takePair(taken, taken.map((file) => file.name), null));
  }, true));
  motion.changed = () => pair.frames && readPair();
  const first = buttons.find((button) => button.title === "objects") ?? buttons[0];
  first?.click();
}
