// SPDX-License-Identifier: MIT
// figures.js - drawings beside names: θ as a mark on a scale, θ through the blocks, sizes by
// type, and the card of figures that a pointer or the focus brings up.
import {el, size, svg} from "./dom.js";

export const FIGURES = ["theta", "signal", "entropy", "kurtosis", "spacing", "magnitude"];
const NAMES = {theta: "θ in degrees"};

export const degrees = (theta) => theta.toFixed(2);

// The least and the greatest θ of some organs.
export function span(organs) {
	const known = organs.map((organ) => organ.theta).filter((theta) => theta != null);
	return known.length ? {least: Math.min(...known), most: Math.max(...known),
		mean: known.reduce((a, b) => a + b, 0) / known.length} : null;
}

// The place of θ between the least and the greatest of the model.
export function thetaMark(theta, {least, most}) {
	const x = most > least ? 2 + 56 * (theta - least) / (most - least) : 30;
	return svg("svg", {viewBox: "0 0 60 12", class: "theta-mark", "aria-hidden": "true"},
		svg("line", {x1: 2, x2: 58, y1: 6, y2: 6}), svg("circle", {cx: x, cy: 6, r: 3.5}));
}

// θ of one part, block after block.
export function sparkline(organs, {least, most}) {
	const known = organs.filter((organ) => organ.theta != null);
	const step = 56 / Math.max(1, known.length - 1);
	const y = (theta) => most > least ? 14 - 12 * (theta - least) / (most - least) : 8;
	const points = known.map((organ, i) =>
		`${(2 + i * step).toFixed(1)},${y(organ.theta).toFixed(1)}`);
	return svg("svg", {viewBox: "0 0 60 16", class: "sparkline", "aria-hidden": "true"},
		svg("polyline", {points: points.join(" ")}));
}

// A bar and its legend: the share of each type in the model's size.
export function sizesByType(organs) {
	const sums = new Map();
	for (const organ of organs.filter((organ) => organ.type))
		sums.set(organ.type, (sums.get(organ.type) ?? 0) + organ.bytes);
	const all = [...sums].sort((a, b) => b[1] - a[1]);
	const total = all.reduce((n, [, bytes]) => n + bytes, 0);
	const parts = all.map(([, bytes], i) => {
		const part = el("span", {className: `type-${i % 8}`});
		part.style.flexGrow = bytes;
		return part;
	});
	const bar = el("div", {className: "types", "aria-hidden": "true"}, ...parts);
	return [bar, el("ul", {className: "legend"}, ...all.map(([type, bytes], i) => el("li", {},
		el("span", {className: `swatch type-${i % 8}`, "aria-hidden": "true"}),
		`${type} ${size(bytes)}, ${Math.max(1, Math.round(100 * bytes / total))} %`)))];
}

export function figureList(figures) {
	return el("dl", {className: "figures"}, ...FIGURES.flatMap((name) => [
		el("dt", {}, NAMES[name] ?? name),
		el("dd", {}, typeof figures[name] === "number" ? `${figures[name]}` : "none")]));
}

/* the card */

const card = el("div", {className: "card", id: "card", role: "tooltip", hidden: true});
document.body.append(card);

export function showCard(organ, at) {
	if (!organ.figures)
		return;
	const few = organ.figures.sampled < organ.elements
		? `from ${organ.figures.sampled} of ${organ.elements} values`
		: `from all ${organ.elements} values`;
	card.replaceChildren(el("b", {}, organ.stem), figureList(organ.figures),
		el("p", {className: "soft"}, organ.status === "ok" ? few : organ.status));
	card.hidden = false;
	const box = at.getBoundingClientRect();
	const below = box.bottom + card.offsetHeight + 8 < innerHeight;
	const top = below ? box.bottom + 4 : Math.max(4, box.top - card.offsetHeight - 4);
	card.style.top = `${top}px`;
	card.style.left = `${Math.max(4, Math.min(box.left + 24,
		innerWidth - card.offsetWidth - 8))}px`;
}

export function hideCard() {
	card.hidden = true;
}

addEventListener("scroll", hideCard, {passive: true, capture: true});
addEventListener("keydown", (event) => {
	if (event.key === "Escape")
		hideCard();
});
