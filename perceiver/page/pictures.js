// Pictures: one is on the easel, can be painted on, and is classified anew after every stroke.

const pictures = new Room("pictures", "picture", ["/classify", "/attend"]);
const easel = byId("easel");
const kColours = { black: "#1d1b1a", white: "#ffffff", red: "#c23b2e", yellow: "#e9b93a", green: "#4f8a3c", blue: "#4d86c9", brown: "#7a5236" };

const sheet = {
  canvas: canvasOf(384, 384),  // what is sent once it was painted on
  file: null,                  // what it began as, sent as it is until then
  undo: [],
  colour: kColours.black,
  pen: { x: 192, y: 192, down: false, shown: false },
  looks: [],                   // {name, text, night}
  look: 0,
};

function drawEasel() {
  const context = easel.getContext("2d");
  context.drawImage(sheet.canvas, 0, 0);
  const veil = sheet.looks[sheet.look]?.night;
  if (veil && !sheet.stroke) {
    context.imageSmoothingEnabled = veil.width > 32;  // of a coarse grid, a cell stays a cell
    context.drawImage(veil, 0, 0, 384, 384);
    context.imageSmoothingEnabled = true;
  }
  if (sheet.pen.shown) {
    context.strokeStyle = sheet.pen.down ? "#fff" : "#fffb";
    context.lineWidth = 2;
    context.beginPath();
    context.arc(sheet.pen.x, sheet.pen.y, byId("brush").value / 2 + 1, 0, 7);
    context.stroke();
    context.strokeStyle = "#000b";
    context.lineWidth = 1;
    context.stroke();
  }
}

async function putOnEasel(name, blob, button) {
  const context = sheet.canvas.getContext("2d");
  if (blob) {
    const image = await picture(blob, name);
    const side = Math.min(image.width, image.height);  // models read the square in the middle
    context.imageSmoothingQuality = "high";
    context.drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, 0, 0, 384, 384);
    // A photograph of many megabytes is sent as it lies on the easel.
    sheet.file = blob.size < (1 << 21) && side <= 4096 ? blob : null;
  } else {
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, 384, 384);
    sheet.file = null;
  }
  press(byId("picture-samples"), button);
  sheet.name = name;
  sheet.undo = [];
  byId("undo").disabled = true;
  await classify();
}

function classify() {
  sheet.looks = [];
  showLooks();
  return pictures.work(async (signal) => {
    const blob = sheet.file ?? (await pngOf(sheet.canvas));
    const file = [[sheet.file ? sheet.name : "painted.png", blob]];
    const model = pictures.model;
    const { content, ms } = await whileEncoding(ask("/classify", { body: form(file, { top: 5, model }), signal }));
    if (signal.aborted) return;
    bars(byId("classes"), content.top.map((one) => ({ name: one.name, share: one.probability })));
    byId("pictures-time").textContent = milliseconds(ms);
    const first = content.top[0]?.name ?? "the class";
    const [read, groups] = await Promise.all([
      ask("/attend", { body: form(file, { query: true, weights: true, model }), signal }),
      ask("/attend", { body: form(file, { clusters: 6, weights: true, model }), signal }),
    ]);
    if (signal.aborted) return;
    sheet.looks = [
      { label: "the picture alone", text: "The picture as it is." },
      ...read.content.maps.map((map) => lookOf(map, `what “${first}” was read from`)),
      ...groups.content.maps.map((map) => lookOf(map, `what ${map.latents.length === 1 ? "one latent looks" : `${map.latents.length} latents look`} at`)),
    ];
    showLooks();
  });
}

const lookOf = (map, label) => ({
  label, night: night(map.weights),
  text: `${label.charAt(0).toUpperCase()}${label.slice(1)}; half of it on ${percent(map.half_on)} of the picture.`,
});

function showLooks() {
  const buttons = sheet.looks.map((look) => {
    const canvas = canvasOf(112, 112);
    const context = canvas.getContext("2d");
    context.drawImage(sheet.canvas, 0, 0, 112, 112);
    context.imageSmoothingEnabled = (look.night?.width ?? 0) > 32;
    if (look.night) context.drawImage(look.night, 0, 0, 112, 112);
    return make("button", { "aria-label": look.label, title: look.label }, canvas);
  });
  choices(byId("looks"), buttons, (i) => {
    sheet.look = i;
    byId("look-text").textContent = sheet.looks[i].text;
    drawEasel();
  });
  if (buttons.length > 1) buttons[1].click();
  else {
    sheet.look = 0;
    byId("look-text").textContent = "";
    drawEasel();
  }
}

// Painting.

function beginStroke(point) {
  const kept = canvasOf(384, 384);
  kept.getContext("2d").drawImage(sheet.canvas, 0, 0);
  sheet.undo = [...sheet.undo.slice(-19), { canvas: kept, file: sheet.file }];
  byId("undo").disabled = false;
  sheet.stroke = true;
  sheet.pen = { ...point, down: true, shown: true };
  strokeTo(point);
}

function strokeTo(point) {
  const context = sheet.canvas.getContext("2d");
  context.strokeStyle = sheet.colour;
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = byId("brush").value;
  context.beginPath();
  context.moveTo(sheet.pen.x, sheet.pen.y);
  context.lineTo(point.x + 0.01, point.y);
  context.stroke();
  Object.assign(sheet.pen, point);
  drawEasel();
}

function endStroke() {
  sheet.stroke = false;
  sheet.pen.down = false;
  sheet.file = null;
  classify();
}

const easelPoint = (event) => ({
  x: (event.offsetX / easel.clientWidth) * 384, y: (event.offsetY / easel.clientHeight) * 384,
});
easel.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  easel.setPointerCapture(event.pointerId);
  beginStroke(easelPoint(event));
});
easel.addEventListener("pointermove", (event) => {
  if (sheet.stroke) for (const point of event.getCoalescedEvents?.() ?? [event]) strokeTo(easelPoint(point));
});
for (const name of ["pointerup", "pointercancel"]) {
  easel.addEventListener(name, () => {
    sheet.pen.shown = false;
    if (sheet.stroke) endStroke();
  });
}

easel.addEventListener("keydown", (event) => {
  const step = event.shiftKey ? 24 : 6;
  const move = { ArrowRight: [step, 0], ArrowLeft: [-step, 0], ArrowDown: [0, step], ArrowUp: [0, -step] }[event.key];
  if (!move && event.key !== " ") return;
  event.preventDefault();
  sheet.pen.shown = true;
  if (event.key === " ") return sheet.stroke ? endStroke() : beginStroke({ x: sheet.pen.x, y: sheet.pen.y });
  const within = (value) => Math.max(0, Math.min(384, value));
  const point = { x: within(sheet.pen.x + move[0]), y: within(sheet.pen.y + move[1]) };
  if (sheet.stroke) return strokeTo(point);
  Object.assign(sheet.pen, point);
  drawEasel();
});
easel.addEventListener("blur", () => {
  sheet.pen.shown = false;
  if (sheet.stroke) endStroke();
  else drawEasel();
});

byId("undo").onclick = () => {
  const { canvas, file } = sheet.undo.pop();
  sheet.canvas = canvas;
  sheet.file = file;
  byId("undo").disabled = sheet.undo.length === 0;
  classify();
};

choices(byId("colours"), Object.entries(kColours).map(([name, colour]) => {
  const button = make("button", { class: "colour", "aria-label": name, title: name });
  button.style.setProperty("--dab", colour);
  return button;
}), (i) => (sheet.colour = Object.values(kColours)[i]));

// What can be put on the easel.

async function openPictures(list) {
  const shelf = byId("picture-samples");
  const names = list.filter((one) => one.kind === "picture").map((one) => one.name);
  const button = (text, content, put, extra = "") => {
    const made = make("button", { type: "button", class: `sample ${extra}`, "aria-pressed": "false", "aria-label": text, title: text }, content);
    made.onclick = () => pictures.work(() => put(made));
    return made;
  };
  const images = await Promise.all(names.map(async (name) => {
    const blob = await sampleFile(name);
    const title = name.replace(/^pictures-|\.\w+$/g, "");
    return button(title, make("img", { src: URL.createObjectURL(blob), alt: "", width: 54, height: 54 }), (made) => putOnEasel(name, blob, made));
  }));
  shelf.replaceChildren(...images,
    button("a blank sheet", "blank", (made) => putOnEasel("a blank sheet", null, made), "blank"),
    uploadButton(pictures, "A picture of yours", "image/*", ([file]) => {
      pictures.work(() => putOnEasel(file.name, file, null));
    }));
  pictures.changed = classify;
  const first = images[names.indexOf("pictures-frog.png")] ?? shelf.querySelector("button");
  first.click();
}
