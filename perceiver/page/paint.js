// Pictures, attention and motion on canvases.

async function picture(blob, name) {
  try {
    return await createImageBitmap(blob);
  } catch {
    throw new Refusal(`${name} is no picture that this browser can read. PNG, JPEG, WebP and GIF will do.`, { again: false });
  }
}

function canvasOf(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

const pngOf = (canvas) => new Promise((done) => canvas.toBlob(done, "image/png"));

// A picture whose longer side has at most so many pixels, on a canvas of its own.
function fitted(image, longest) {
  const scale = Math.min(1, longest / Math.max(image.width, image.height));
  const canvas = canvasOf(Math.max(1, Math.round(image.width * scale)), Math.max(1, Math.round(image.height * scale)));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

// Night over everything that the weights [h][w], of at most 1, leave out; a canvas of h x w.
function night(weights) {
  const height = weights.length, width = weights[0].length;
  const canvas = canvasOf(width, height);
  const image = new ImageData(width, height);
  weights.flat().forEach((weight, i) => {
    image.data.set([14, 13, 22, 255 * 0.86 * (1 - Math.sqrt(Math.max(0, Math.min(1, weight))))], 4 * i);
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Hues between which the eye tells steps apart: the wheel of Baker et al. (2011), as `perceiver flow` draws.
const kWheel = (() => {
  const wheel = [];
  const run = (steps, colour) => {
    for (let i = 0; i < steps; ++i) wheel.push(colour(i / steps, 1 - i / steps));
  };
  run(15, (up) => [1, up, 0]);
  run(6, (up, down) => [down, 1, 0]);
  run(4, (up) => [0, 1, up]);
  run(11, (up, down) => [0, down, 1]);
  run(13, (up) => [up, 0, 1]);
  run(6, (up, down) => [1, 0, down]);
  return wheel;
})();

// Of a vector whose length is a share of the longest: [red, green, blue], white where nothing moves.
function flowColour(right, down) {
  const turn = ((Math.atan2(-down, -right) / Math.PI + 1) / 2) * (kWheel.length - 1);
  const below = Math.floor(turn), share = turn - below;
  const length = Math.min(1, Math.hypot(right, down));
  return [0, 1, 2].map((c) => {
    const hue = (1 - share) * kWheel[below][c] + share * kWheel[(below + 1) % kWheel.length][c];
    return 255 * (1 - length * (1 - hue));
  });
}

// A .flo file: "PIEH", width, height, then right and down of each pixel.
function readFlo(bytes) {
  const view = new DataView(bytes);
  const width = view.getInt32(4, true), height = view.getInt32(8, true);
  if (view.getFloat32(0, true) !== 202021.25 || bytes.byteLength !== 12 + 8 * width * height) {
    throw new Refusal("The server's answer is no flow.");
  }
  const values = new Float32Array(bytes.slice(12));
  let largest = 1e-3;
  for (let i = 0; i < values.length; i += 2) largest = Math.max(largest, Math.hypot(values[i], values[i + 1]) || 0);
  return { width, height, values, largest };
}

function flowPicture({ width, height, values, largest }) {
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; ++i) {
    const [r, g, b] = flowColour(values[2 * i] / largest, values[2 * i + 1] / largest);
    image.data.set([r, g, b, 255], 4 * i);
  }
  const canvas = canvasOf(width, height);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function drawWheel(canvas) {
  const { width } = canvas, middle = width / 2;
  const image = new ImageData(width, width);
  for (let y = 0; y < width; ++y) {
    for (let x = 0; x < width; ++x) {
      const right = (x + 0.5 - middle) / middle, down = (y + 0.5 - middle) / middle;
      if (Math.hypot(right, down) <= 1) image.data.set([...flowColour(right, down), 255], 4 * (y * width + x));
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// A canvas as sharp as the screen, on which pictures of width x height are drawn in their own pixels.
function sharpContext(canvas, width, height) {
  const shown = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
  const scale = shown / width;
  canvas.width = shown;
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.scale(scale, scale);
  return { context, pixel: devicePixelRatio / scale };  // `pixel`: one of the page's, in the picture's
}

// A cross where the next question is asked, light on dark, so that it shows on any ground.
function drawCross(context, { x, y }, pixel) {
  for (const [colour, width] of [["#000a", 3.5], ["#fff", 1.5]]) {
    context.strokeStyle = colour;
    context.lineWidth = width * pixel;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 4 * dx * pixel, y + 4 * dy * pixel);
      context.lineTo(x + 11 * dx * pixel, y + 11 * dy * pixel);
    }
    context.stroke();
  }
}

function drawArrow(context, from, to, pixel, colour) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const head = Math.min(9 * pixel, 0.5 * length);
  for (const [stroke, width] of [["#000a", 5], [colour, 2.5]]) {
    context.strokeStyle = stroke;
    context.lineWidth = width * pixel;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    for (const turn of [0.5, -0.5]) {
      context.moveTo(to.x, to.y);
      context.lineTo(to.x - head * Math.cos(angle + turn), to.y - head * Math.sin(angle + turn));
    }
    context.stroke();
  }
}
