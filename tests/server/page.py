"""Drives the page of `perceiver serve` in Chromium, as people do, and leaves screenshots to be looked at.

tools/serve_clients.sh runs it with Playwright installed. Everything is asked of the server by the page
itself; the expected words, classes and motion are those of the samples.
"""

import argparse
import contextlib
import json
import re
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from playwright.sync_api import expect, sync_playwright
from started import started

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SAMPLES = Path(__file__).parents[2] / "samples"
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}


def png(width, height, colour):
    """A picture of one colour, in bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Visit:
    """A page, whose console must stay silent and which may ask its own server alone."""

    def __init__(self, browser, url, screenshots, name, quiet=True, **context):
        self.url, self.folder, self.name, self.quiet = url, screenshots, name, quiet
        self.complaints, self.strangers = [], []
        self.context = browser.new_context(**{"viewport": DESK, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        expect.set_options(timeout=120_000)  # patience, for machines with much to do
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.see(request.url))

    def see(self, url):
        if not url.startswith((self.url, "data:", "blob:")):
            self.strangers.append(url)

    def __enter__(self):
        self.page.goto(self.url)
        return self

    def __exit__(self, kind, *_):
        self.page.screenshot(path=self.folder / f"{self.name}.png", full_page=True)
        if kind is not None:
            shown = self.page.locator(".problem:visible").all_inner_texts()
            print(f"         the page says: {shown}, its console: {self.complaints}")
        self.context.close()
        if kind is None and self.quiet:
            assert not self.complaints, self.complaints
        assert not self.strangers, self.strangers

    def go(self, room):
        self.page.locator(f"nav a[href='#{room}']").click()
        return self.page.locator(f"#{room}")

    def shot(self, room):
        self.page.locator(f"#{room}").screenshot(path=self.folder / f"{self.name}-{room}.png")


def word(page, text):
    return page.locator(".word").get_by_text(text, exact=True)


def words_can_be_hidden(visit):
    page = visit.page
    hidden = page.locator(".word[aria-pressed=true]")
    expect(hidden).to_have_text("had")  # it is what was written, and what the model says
    expect(page.locator("#guesses li").first).to_contain_text("stood there")
    expect(page.locator("#words-time")).to_have_text(re.compile(r"\d ms|\d s"))

    word(page, "before").click()
    expect(hidden).to_have_count(2)
    expect(page.locator("#guesses ol")).to_have_count(2)
    visit.shot("words")
    word(page, "had").click()
    expect(hidden).to_have_count(1)
    expect(page.locator("#guesses ol")).to_have_count(1)

    page.get_by_role("button", name="Write your own").click()
    page.get_by_label("A sentence of yours").fill("We must go now, or we shall [MASK] late.")
    page.keyboard.press("Enter")
    expect(hidden).to_have_text("be")


def pictures_are_classified_and_painted_on(visit):
    page = visit.page
    visit.go("pictures")
    best = page.locator("#classes li").first
    expect(best).to_contain_text("frog")
    expect(page.locator("#looks button")).to_have_count(8)  # itself, the class, six groups
    expect(page.locator("#look-text")).to_contain_text("was read from")
    page.get_by_role("button", name="automobile").click()
    expect(best).to_contain_text("automobile")
    expect(page.locator("#looks button")).to_have_count(8)
    visit.shot("pictures")

    before = best.text_content()
    easel = page.locator("#easel")
    box = easel.bounding_box()
    page.get_by_role("radio", name="white").click()
    page.locator("#brush").fill("48")
    page.mouse.move(box["x"] + 20, box["y"] + 60)
    page.mouse.down()
    for row in range(60, 360, 30):
        page.mouse.move(box["x"] + 20, box["y"] + row)
        page.mouse.move(box["x"] + 360, box["y"] + row)
    page.mouse.up()
    expect(best).not_to_have_text(before)
    page.get_by_role("button", name="Undo").click()
    expect(best).to_have_text(before)


def a_picture_of_ones_own_is_taken(visit):
    page = visit.page
    visit.go("pictures")
    upload = page.get_by_label("A picture of yours")
    upload.set_input_files(SAMPLES / "pictures/truck.png")
    expect(page.locator("#classes li").first).to_contain_text("truck")
    wide = {"name": "wide.png", "mimeType": "image/png", "buffer": png(640, 200, (90, 150, 220))}
    upload.set_input_files(wide)
    expect(page.locator("#classes li").first).not_to_contain_text("truck")


def errors_are_sentences(visit):
    page = visit.page
    visit.go("pictures")
    problem = page.locator("#pictures [role=alert]")
    broken = {"name": "notes.png", "mimeType": "image/png", "buffer": b"no picture at all"}
    page.get_by_label("A picture of yours").set_input_files(broken)
    expect(problem).to_contain_text("notes.png is no picture that this browser can read")
    visit.shot("pictures")

    visit.go("motion")
    frames = [{"name": f"{side}.png", "mimeType": "image/png", "buffer": png(side, 64, (9, 9, 9))}
              for side in (96, 128)]
    page.get_by_label("Frames of yours").set_input_files(frames)
    expect(page.locator("#motion [role=alert]")).to_contain_text("differ in size: 96 × 64 and 128 × 64")


def a_server_that_is_gone_is_said(visit):
    """Also: one that refuses, or asks to come back later."""
    page = visit.page
    expect(page.locator("#guesses li")).to_have_count(5)
    page.route("**/fill", lambda route: route.abort())
    word(page, "London").click()
    problem = page.locator("#words [role=alert]")
    expect(problem).to_contain_text("The server cannot be reached")
    visit.shot("words")
    page.unroute("**/fill")

    answers = [(429, {"Retry-After": "1"})]

    def busy_once(route):
        if not answers:
            return route.continue_()
        status, headers = answers.pop()
        route.fulfill(status=status, headers=headers, json={"error": "too many requests wait"})

    page.route("**/fill", busy_once)
    problem.get_by_role("button", name="Try again").click()
    expect(problem).to_be_hidden()
    expect(page.locator("#guesses ol")).to_have_count(2)
    assert not answers

    answers.append((413, {}))
    word(page, "never").click()
    expect(problem).to_contain_text("That is too large for this server. It said: “too many")


def motion_is_drawn_and_asked_by_the_pixel(visit):
    page = visit.page
    asked = []
    page.on("request", lambda request: asked.append(request))
    visit.go("motion")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    expect(page.locator("#costs .ms")).to_have_text([re.compile(r"\d m?s")] * 2 + [""])
    asked.clear()

    # The striped ball of the sample moves right and down by some pixels.
    box = page.locator("#flow").bounding_box()
    at = {"x": box["width"] * 110 / 384, "y": box["height"] * 76 / 224}
    page.locator("#flow").click(position=at)
    expect(page.locator("#pixel")).to_have_text(re.compile(
        r"Pixel 1(09|10|11), 7[567] moves \d\.\d px right and \d\.\d px \w+; asked of the kept latents in"))
    expect(page.locator("#costs .ms")).to_have_text([re.compile(r"\d m?s")] * 3)
    expect(page.locator("#seen-text")).to_contain_text("lit")
    # That pixel alone was asked for, and the frames were not sent again.
    (query,) = [request for request in asked if request.method == "POST"]
    assert re.search(r"/latents/[^/]+/query$", query.url), query.url
    assert len(json.loads(query.post_data)["pixels"]) == 1, query.post_data
    visit.shot("motion")

    page.get_by_role("button", name="frames: camera").click()
    expect(page.locator("#pixel")).to_have_text("Touch a pixel to ask for it alone.")

    page.get_by_role("button", name="Move something yourself").click()
    page.get_by_label("the whole frame").check()
    page.locator("#seen").scroll_into_view_if_needed()
    box = page.locator("#seen").bounding_box()
    scale = box["width"] / 384
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 2 * scale, y, steps=2)
    page.mouse.move(x + 6 * scale, y, steps=4)
    page.mouse.up()
    expect(page.locator("#seen-text")).to_have_text("moved by 6 across, 0 down")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    page.locator("#flow").click()
    expect(page.locator("#pixel")).to_contain_text("px right")


def frames_of_ones_own_are_taken(visit):
    page = visit.page
    visit.go("motion")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    frames = [SAMPLES / f"flow/camera/frame{i}.png" for i in (1, 2)]
    page.get_by_label("Frames of yours").set_input_files(frames)
    expect(page.locator("#flow-text")).not_to_contain_text("the longest is")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")


def latents_that_were_let_go_are_made_again(visit):
    page = visit.page
    with page.expect_response(lambda response: response.url.endswith("/latents")) as made:
        visit.go("motion")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    page.request.delete(visit.url.rstrip("/") + f"/latents/{made.value.json()['id']}")
    page.locator("#flow").click()
    expect(page.locator("#pixel")).to_contain_text("asked of the kept latents")
    expect(page.locator("#motion .problem")).to_be_hidden()


def the_keyboard_is_enough(visit):
    page = visit.page
    press = page.keyboard.press

    def focused():
        return page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def tab_to(name):
        for _ in range(60):
            press("Tab")
            if focused() == name:
                return
        raise AssertionError(f"{name} is not reached by Tab")

    expect(page.locator("#guesses li")).to_have_count(5)
    tab_to("He")
    for _ in range(8):
        press("ArrowRight")
    assert focused() == "in", focused()
    press("Space")
    expect(page.locator(".word[aria-pressed=true]")).to_have_count(2)
    assert page.evaluate("document.activeElement.className") == "word"

    visit.go("pictures")
    expect(page.locator("#looks button")).to_have_count(8)
    before = page.locator("#classes").text_content()
    tab_to("easel")
    for key in ["Space", *["Shift+ArrowRight"] * 5, *["Shift+ArrowUp"] * 5, "Space"]:
        press(key)
    expect(page.locator("#classes")).not_to_have_text(before)

    visit.go("motion")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    tab_to("flow")
    press("ArrowLeft")
    press("Enter")
    expect(page.locator("#pixel")).to_contain_text("Pixel 188, 112 moves")
    tab_to("drag")
    press("Enter")
    page.locator("#seen").focus()
    for key in [*["ArrowDown"] * 4, "Enter"]:
        press(key)
    expect(page.locator("#seen-text")).to_have_text("moved by 0 across, 4 down")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")


def clips_say_what_they_need(visit):
    """No trained model for clips comes with the program."""
    room = visit.go("clips")
    expect(room.get_by_role("note")).to_contain_text("perceiver serve -m deepmind/multimodal-perceiver")


def a_clip_comes_back(visit):
    page = visit.page
    visit.go("clips")
    page.get_by_role("button", name="A ball that bounces").click()
    expect(page.locator("#clip-text")).to_contain_text("PSNR", timeout=300_000)
    for _ in range(200):  # the page's policy forbids what Playwright's own waiting takes
        if page.evaluate("document.getElementById('clip-video').readyState") >= 2:
            break
        page.wait_for_timeout(100)
    assert page.evaluate("document.getElementById('clip-video').videoWidth") > 0
    visit.shot("clips")


def it_fits(visit):
    """Every room, with what it shows, on the width of the screen."""
    page = visit.page
    expect(page.locator("#guesses li")).to_have_count(5)
    visit.go("pictures")
    expect(page.locator("#looks button")).to_have_count(8)
    visit.go("motion")
    expect(page.locator("#flow-text")).to_contain_text("the longest is")
    page.locator("#flow").click()
    expect(page.locator("#pixel")).to_contain_text("asked of the kept latents")
    visit.go("clips")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = page.evaluate("""[...document.querySelectorAll('button, .upload')].filter((button) => {
        const {width, height} = button.getBoundingClientRect();
        return !button.classList.contains('word') && height > 0 && Math.min(width, height) < 24;
    }).map((button) => button.outerHTML)""")
    assert not small, small


def it_is_dark(visit):
    it_fits(visit)
    light = visit.page.evaluate("""(() => {
        const parts = (element, of) => getComputedStyle(element)[of].match(/\\d+/g).map(Number);
        return [parts(document.body, 'backgroundColor')[0], parts(document.body, 'color')[0]];
    })()""")
    assert light[0] < 60 < 180 < light[1], light


def a_key_is_asked_for(visit):
    page = visit.page
    expect(page.locator("#key")).to_be_visible()
    page.get_by_placeholder("the key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#key-wrong")).to_have_text("That is not one of its keys.")
    visit.page.screenshot(path=visit.folder / f"{visit.name}-asked.png")
    page.get_by_placeholder("the key").fill("right-key-of-the-test")
    page.keyboard.press("Enter")
    expect(page.locator("#guesses li")).to_have_count(5)
    expect(page.locator("#key")).to_be_hidden()


class Tests:
    def __init__(self, browser, folder, only):
        self.browser, self.folder, self.only, self.failed = browser, folder, only, []

    def run(self, test, url, quiet=True, **context):
        if self.only and test.__name__ not in self.only:
            return
        try:
            with Visit(self.browser, url, self.folder, test.__name__, quiet, **context) as visit:
                test(visit)
            print(f"ok       {test.__name__}", flush=True)
        except Exception as error:  # the next one is to run all the same
            self.failed.append(test.__name__)
            print(f"FAILED   {test.__name__}: {error}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/perceiver")
    parser.add_argument("--chromium", help="its program; default: where it is found")
    parser.add_argument("--screenshots", type=Path, help="a folder to keep them in")
    parser.add_argument("--url", help="of a server that runs already, with the shipped models")
    parser.add_argument("tests", nargs="*", help="these alone, by name")
    args = parser.parse_args()
    names = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
    chromium = args.chromium or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        print("skipped: no Chromium is installed (Debian: chromium)")
        return 0
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = args.screenshots or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        tests = Tests(browser, folder, args.tests)
        with contextlib.nullcontext(args.url) if args.url else started(args.program) as url:
            for test in (words_can_be_hidden, pictures_are_classified_and_painted_on,
                         a_picture_of_ones_own_is_taken, motion_is_drawn_and_asked_by_the_pixel,
                         frames_of_ones_own_are_taken, clips_say_what_they_need, errors_are_sentences):
                tests.run(test, url)
            # Browsers write failed requests to the console themselves.
            for test in (a_server_that_is_gone_is_said, latents_that_were_let_go_are_made_again):
                tests.run(test, url, quiet=False)
            tests.run(the_keyboard_is_enough, url, reduced_motion="reduce")
            tests.run(it_fits, url, viewport=PHONE, is_mobile=True, has_touch=True, device_scale_factor=2)
            tests.run(it_is_dark, url, color_scheme="dark")
        if not args.url:
            key_file = Path(temporary, "keys")
            key_file.write_text("right-key-of-the-test\n")
            with started(args.program, "-m", "language-mini", "--api-key-file", key_file) as url:
                tests.run(a_key_is_asked_for, url, quiet=False)
            with started(args.program, "-m", "multimodal_mini") as url:
                tests.run(a_clip_comes_back, url)
        browser.close()
    return f"{len(tests.failed)} failed: {', '.join(tests.failed)}" if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
