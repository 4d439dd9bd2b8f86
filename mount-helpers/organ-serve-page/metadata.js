// SPDX-License-Identifier: MIT
// metadata.js - the keys of a model and their values, editable in place.
import {run, say} from "./activity.js";
import {breakable, button, count, el, keepFocus, newId, placeRows} from "./dom.js";
import {undoGrafts} from "./edits.js";
import {put, remove, text} from "./http.js";

// Longer values open as a separate text.
const LONGEST = 20000;

// Keys that belong to the file and not to the model.
const FIXED = /^(general\.alignment|split\.)/;

// The file of a key, as the mount calls it.
const ENCODED = new RegExp("[\\x00-\\x1f\\x7f-\\x9f/%~\\u061c\\u200e\\u200f\\u202a-\\u202e" +
	"\\u2066-\\u2069]|^\\.", "g");
const fileOf = (key) => key.replace(ENCODED, (c) => Array.from(new TextEncoder().encode(c),
	(byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""));

function typeOf(value) {
	if (value?.type === "array")
		return `${value.element} × ${value.length}`;
	return value?.type ?? {string: "string", boolean: "boolean"}[typeof value] ?? "number";
}

function shown(value) {
	const short = (v) => typeof v === "string" ? v : JSON.stringify(v);
	if (value === null || typeof value !== "object")
		return String(value);
	if (!Array.isArray(value.first))
		return `${value.first ?? ""}…`;
	const rest = value.length > value.first.length ? `, … ${value.length} in all` : "";
	return value.first.map(short).join(", ") + rest;
}

export class Metadata {
	#rows = new Map();	// by key: {row, said}
	#editing = null;

	constructor(model) {
		this.model = model;
		this.body = el("tbody");
		const filter = el("input", {type: "search", placeholder: "Filter keys and values",
			"aria-label": "Filter keys and values",
			oninput: () => this.#filter(filter.value)});
		this.number = el("span", {className: "soft"});
		this.element = el("div", {}, el("div", {className: "row tools"}, filter,
			this.number),
			el("div", {className: "scroll", tabIndex: 0, role: "region",
				"aria-label": `Keys and values of ${model.name}`},
			el("table", {className: "metadata"}, el("thead", {}, el("tr", {},
				...["Key", "Type", "Value"].map((head) =>
					el("th", {scope: "col"}, head)))),
			this.body)), this.#adding());
		this.filter = filter;
		model.on("metadata", () => this.#show());
		model.on("grafts", () => this.#show());
	}

	#show() {
		const {model} = this;
		const keys = [...model.metadata.keys()];
		const gone = model.grafts.filter((graft) => graft.how === "removed" &&
			graft.file.startsWith("metadata/"));
		const rows = keys.map((key) => this.#row(key, model.metadata.get(key)))
			.concat(gone.map((graft) => this.#goneRow(graft)));
		if (!this.#editing)
			keepFocus(() => placeRows(this.body, rows));
		this.#filter(this.filter.value);
		this.add.hidden = !model.writable;
	}

	#filter(words) {
		const sought = words.toLowerCase();
		let n = 0;
		for (const row of this.body.rows) {
			row.hidden = !row.textContent.toLowerCase().includes(sought);
			n += !row.hidden;
		}
		this.number.textContent = count(n, "key");
	}

	// Reuse a row whose content is unchanged, so that it keeps the focus.
	#row(key, value) {
		const file = fileOf(key);
		const graft = this.model.graft(`metadata/${file}`);
		const same = JSON.stringify([value, graft?.how, this.model.writable]);
		const known = this.#rows.get(key);
		if (known?.same === same)
			return known.row;
		const row = el("tr", {className: graft ? "changed" : ""},
			el("th", {scope: "row", className: "name"}, ...breakable(key),
				...graft ? [el("span", {className: "mark"}, graft.how)] : []),
			el("td", {className: "soft type"}, typeOf(value)),
			el("td", {className: "value"}));
		this.#fill(row, {key, value, file, graft});
		this.#rows.set(key, {row, same});
		return row;
	}

	#goneRow(graft) {
		const key = graft.file.slice("metadata/".length);
		const same = JSON.stringify([graft, this.model.writable]);
		const known = this.#rows.get(graft.file);
		if (known?.same === same)
			return known.row;
		const row = el("tr", {className: "changed"}, el("th", {scope: "row",
			className: "name"}, ...breakable(key),
				el("span", {className: "mark"}, "removed")),
		el("td"), el("td", {}, ...this.#undo(graft, key)));
		this.#rows.set(graft.file, {row, same});
		return row;
	}

	#undo(graft, key) {
		return graft && this.model.writable ? [button("Undo", () =>
			undoGrafts(this.model, [graft]), {"aria-label": `Undo ${key}`})] : [];
	}

	// The value as it is shown when it is not edited.
	#fill(row, entry) {
		const {key, value, file, graft} = entry;
		const cell = row.lastChild;
		const url = this.model.url(`metadata/${file}`);
		const long = value !== null && typeof value === "object";
		const words = el("span", {className: "words"}, shown(value));
		const tools = el("span", {className: "row"});
		if (long)
			tools.append(el("a", {href: url, "aria-label": `${key} as text`},
				"as text"));
		if (this.model.writable && !FIXED.test(key) && this.model.keyFiles.has(file))
			tools.append(button("Edit", () => this.#edit(row, {...entry, url}),
				{className: "plain", "aria-label": `Edit ${key}`}));
		tools.append(...this.#undo(graft, key));
		cell.replaceChildren(el("div", {className: "line"}, words, tools));
	}

	async #edit(row, entry) {
		const now = await text(entry.url, {cache: "no-cache"});
		if (now === null) {
			say(`${entry.key} cannot be read.`, false);
			return;
		}
		// A form field would change the line ends of a value with "\r".
		if (now.length > LONGEST || now.includes("\r")) {
			location.href = entry.url;
			return;
		}
		this.#editing = entry.key;
		const value = now.replace(/\n$/, "");
		const several = value.includes("\n") || value.length > 60;
		const field = el(several ? "textarea" : "input", {value, "aria-label":
			`Value of ${entry.key}`, ...several ? {rows: 4} : {type: "text"}});
		const said = el("p", {className: "bad", role: "alert"});
		const close = () => {
			this.#editing = null;
			this.#rows.delete(entry.key);
			this.#show();
			this.#rows.get(entry.key)?.row.querySelector("button")?.focus();
		};
		const form = el("form", {className: "edit", onsubmit: (event) => {
			event.preventDefault();
			this.#save(entry, field.value, said, close);
		}, onkeydown: (event) => {
			if (event.key === "Escape") {
				event.stopPropagation();
				close();
			}
		}}, field, el("div", {className: "row"}, el("button", {className: "main"}, "Save"),
			button("Cancel", close), button("Remove key", () =>
				this.#remove(entry, close), {className: "plain bad"})), said);
		row.lastChild.replaceChildren(form);
		field.focus();
		field.select();
	}

	async #save(entry, value, said, close) {
		const why = await put(entry.url, value);
		if (why !== null) {
			said.textContent = why;
			return;
		}
		close();
		await this.model.reload();
	}

	async #remove(entry, close) {
		close();
		await run({doing: "Removing", noun: "key", done: "removed"}, [entry],
			(key) => remove(key.url));
		await this.model.reload();
	}

	#adding() {
		const [key, value] = [newId(), newId()];
		const said = el("p", {className: "bad", role: "alert"});
		const fields = [el("input", {type: "text", id: key, required: true}),
			el("input", {type: "text", id: value})];
		this.add = el("details", {}, el("summary", {}, "Add a key"), el("form",
			{className: "row", onsubmit: async (event) => {
				event.preventDefault();
				const url = this.model.url(`metadata/${fileOf(fields[0].value)}`);
				said.textContent = await put(url, fields[1].value) ?? "";
				if (!said.textContent) {
					event.target.reset();
					await this.model.reload();
				}
			}}, el("label", {htmlFor: key}, "Key"), fields[0],
			el("label", {htmlFor: value}, "Text"), fields[1],
			el("button", {}, "Add"), said));
		return this.add;
	}
}
