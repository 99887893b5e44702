// What a browser makes of the page, at each width: too wide, too small, too pale. The harness has
// one frame per width; the answer stands in the element #measured as JSON.
"use strict";

const CONTRAST = 4.5; // WCAG 2.1, level AA

function channels(color) {
  const found = color.match(/[\d.]+/g).map(Number);
  return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
}

function luminance(color) {
  const [red, green, blue] = channels(color).rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function background(element) {
  for (let at = element; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (channels(color).alpha === 1) return color;
  }
  return "rgb(255, 255, 255)";
}

function words(element) {
  return [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
}

function measure(frame) {
  const page = frame.contentDocument;
  const width = page.documentElement.clientWidth;
  const bars = [...page.querySelectorAll("svg[role=img] > g")];
  const texts = [...page.querySelectorAll("body *")].filter(
    (element) => words(element) && !element.closest("svg") && element.getClientRects().length
  );
  const wide = [...page.querySelectorAll("body *")].filter(
    (element) => element.getBoundingClientRect().right > width + 0.5
  );
  return {
    width: width,
    scroll: page.documentElement.scrollWidth,
    dark: frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
    paper: background(page.body),
    wide: wide.map((element) => element.outerHTML.slice(0, 120)),
    texts: texts.length,
    pale: texts
      .filter((element) => contrast(getComputedStyle(element).color, background(element)) < CONTRAST)
      .map((element) => element.outerHTML.slice(0, 120)),
    bars: bars.map((group) => {
      const [rect, text] = [group.querySelector("rect"), group.querySelector("text")];
      const fill = getComputedStyle(rect).fill;
      return {
        kind: group.getAttribute("class"),
        fill: fill,
        width: rect.getBoundingClientRect().width,
        height: rect.getBoundingClientRect().height,
        text: text && text.textContent,
        room: text && rect.getBoundingClientRect().width - text.getBoundingClientRect().width,
        contrast: text && contrast(getComputedStyle(text).fill, fill),
      };
    }),
  };
}

window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(measure);
  const answer = document.createElement("pre");
  answer.id = "measured";
  answer.textContent = JSON.stringify(found);
  document.body.replaceChildren(answer);
});
