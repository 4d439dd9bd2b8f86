// SPDX-License-Identifier: MIT
// grafts.js - the grafts in force, those that belong together as one: "blk 1-4 ffn_* from clerk".
import {button, count, el, keepFocus, placeRows, ranges} from "./dom.js";
import {undoGrafts} from "./edits.js";
import {place} from "./model.js";

const VERBS = {removed: "removed", edited: "edited", added: "added", retyped: "converted"};

function parts(graft) {
	const [directory, ...rest] = graft.file.split("/");
	const name = rest.join("/");
	return {graft, directory, name, ...place(name.replace(/\.bin$/, ""))};
}

// Distance from the organ's block to its block in the donor.
function shift({graft, block}) {
	const origin = /^blk\.(\d+)\./.exec(graft.origin);
	return block === null || !origin ? 0 : Number(origin[1]) - block;
}

// Key of a line: the parts in it share the action, the donor, and the shift in blocks.
function family(part) {
	if (part.directory === "metadata")
		return JSON.stringify(["metadata", part.graft.how]);
	if (VERBS[part.graft.how])
		return JSON.stringify([part.graft.how]);
	return JSON.stringify([part.graft.how === "merged", part.graft.donor, shift(part)]);
}

function groupBy(items, key) {
	const groups = new Map();
	for (const item of items)
		if (groups.has(key(item)))
			groups.get(key(item)).push(item);
		else
			groups.set(key(item), [item]);
	return [...groups.values()];
}

// "ffn_*" for all parts of that beginning that their classes have, or else their names.
function kindsInWords(parts, known) {
	return groupBy(parts, (part) => part.kind.split("_")[0]).map((same) => {
		const prefix = `${same[0].kind.split("_")[0]}_`;
		const kinds = new Set(same.map((part) => part.kind));
		const classes = new Set(same.map((part) => part.directory));
		const all = known.filter((organ) => organ.kind.startsWith(prefix) &&
			classes.has(organ.class)).every((organ) => kinds.has(organ.kind));
		return kinds.size > 1 && all ? `${prefix}*` : [...kinds].join(", ");
	}).join(", ");
}

// The parts of one family, grouped by their blocks.
function linesOf(family, known) {
	const kinds = groupBy(family, (part) => part.kind);
	const blocksOf = (parts) => ranges(parts.map((part) => part.block));
	const groups = groupBy(kinds, (parts) => parts[0].block === null ? "" : blocksOf(parts));
	return groups.map((same) => {
		const names = same.map((parts) => parts[0].kind);
		const all = same.flat();
		const first = all[0];
		const what = first.directory === "metadata"
			? all.map((part) => part.name).join(", ")
			: first.block === null ? names.join(", ")
			: `blk ${blocksOf(all)} ${kindsInWords(all, known)}`;
		return {what, parts: all};
	});
}

function origin(part) {
	const {graft} = part;
	const moved = shift(part) ? `blk ${part.block + shift(part)} of ` : "";
	return `from ${moved}${graft.donor || "a file"}`;
}

function how(part, n) {
	const verb = VERBS[part.graft.how];
	if (part.directory === "metadata")
		return `${n === 1 ? "key" : "keys"} ${verb ?? part.graft.how}`;
	if (verb)
		return verb;
	return part.graft.how === "merged" ? "merged with an adapter" : origin(part);
}

export class Grafts {
	#open = new Set();	// the lines that a reader has unfolded
	#lines = new Map();	// by what they show

	constructor(model) {
		this.model = model;
		this.undoAll = button("Undo all", () => undoGrafts(model, model.grafts));
		this.list = el("ul", {className: "grafts"});
		this.empty = el("p", {className: "soft"}, "None: the model is as it lies on disk.");
		this.element = el("div", {}, this.empty, this.list, this.undoAll);
		model.on("grafts", () => this.#show());
	}

	#show() {
		const {model} = this;
		const all = model.grafts.map(parts);
		const removed = all.filter((part) => part.graft.how === "removed")
			.map((part) => ({class: part.directory, kind: part.kind}));
		const known = [...model.organs.values(), ...removed];
		const groups = groupBy(all, family).flatMap((same) => linesOf(same, known));
		const lines = groups.map((group) =>
			[JSON.stringify([model.writable, group]), group]);
		this.#lines = new Map(lines.map(([shows, group]) =>
			[shows, this.#lines.get(shows) ?? this.#line(group)]));
		keepFocus(() => placeRows(this.list, [...this.#lines.values()]));
		this.undoAll.hidden = !model.writable || all.length < 2;
		this.empty.hidden = groups.length > 0;
	}

	#undo(grafts, words) {
		return this.model.writable ? [button("Undo", () => undoGrafts(this.model, grafts),
			{"aria-label": `Undo ${words}`})] : [];
	}

	#line({what, parts}) {
		const words = `${what} ${how(parts[0], parts.length)}`;
		const title = el("span", {className: "what"}, el("b", {}, what), " ",
			how(parts[0], parts.length));
		const grafts = parts.map((part) => part.graft);
		if (parts.length === 1)
			return el("li", {}, el("div", {className: "line"}, title,
				...this.#undo(grafts, words)));
		const details = el("details", {open: this.#open.has(words), ontoggle: () =>
			this.#open[details.open ? "add" : "delete"](words)},
		el("summary", {}, title, el("span", {className: "soft"},
			` ${count(parts.length, "file")}`)),
		el("ul", {}, ...grafts.map((graft) => el("li", {className: "line"},
			el("span", {className: "what"}, graft.file, el("span", {className: "soft"},
				graft.type === "-" ? "" : ` ${graft.how}, ${graft.type}`)),
			...this.#undo([graft], graft.file)))));
		return el("li", {}, el("div", {className: "line"}, details,
			...this.#undo(grafts, words)));
	}
}
