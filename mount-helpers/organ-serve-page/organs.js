// SPDX-License-Identifier: MIT
// organs.js - the organs of a model as a table: by class and kind, or as one list; sorted,
// filtered, selected and dragged.
import {ask, button, count, el, keepFocus, natural, newId, placeRows, ranges, setText,
	size, unbroken} from "./dom.js";
import {copyOrgans, dragged, graftFiles, organWords, removeOrgans, undoGrafts} from "./edits.js";
import {degrees, hideCard, showCard, sizesByType, span, sparkline, thetaMark} from "./figures.js";
import {openOrgan} from "./organ.js";
import {CLASSES} from "./model.js";

const COLUMNS = [
	{key: "name", title: "Organ", of: (organ) => organ.stem},
	{key: "type", title: "Type", of: (organ) => organ.type ?? ""},
	{key: "shape", title: "Shape", of: (organ) => organ.elements ?? 0},
	{key: "size", title: "Size", of: (organ) => organ.bytes, number: true},
	{key: "theta", title: "θ", of: (organ) => organ.theta ?? -1, number: true},
	{key: "graft", title: "From", of: (organ, model) => originOf(model, organ)},
];

function originOf(model, organ) {
	const graft = model.graft(organ.path);
	return graft ? graft.donor || graft.how : "";
}

const sum = (organs) => organs.reduce((n, organ) => n + organ.bytes, 0);
const unique = (values) => [...new Set(values.filter((value) => value))];

export class Organs {
	#rows = new Map();	// by key: the row and what tells whether it still shows the same
	#selected = new Set();	// paths
	#open = new Set();	// keys of classes and kinds that are unfolded
	#known = new Set();	// classes that have been seen: they are unfolded once
	#sort = {key: "name", down: false};
	#planned = false;
	#took = 0;		// the milliseconds that it took last

	constructor(model) {
		this.model = model;
		this.other = null;	// the model beside this one
		this.body = el("tbody");
		this.sizes = el("div", {className: "sizes"});
		this.tools = this.#tools();
		this.selection = this.#selectionTools();
		this.table = el("table", {className: "organs"}, this.#head(), this.body);
		this.element = el("div", {}, this.sizes, this.tools, this.selection, el("div",
			{className: "scroll", tabIndex: 0, role: "region",
				"aria-label": `Organs of ${model.name}`}, this.table));
		for (const what of ["organs", "figures", "grafts"])
			model.on(what, () => this.#plan());
		model.on("picture", () => this.#show());
		this.#listen();
	}

	/* the tools above it */

	#field(words, input) {
		input.id = newId();
		input.oninput = () => this.#show();
		return el("span", {className: "field"}, el("label", {htmlFor: input.id}, words),
			input);
	}

	#tools() {
		const number = (words) => el("input", {type: "number", min: 0, max: 90, step: "any",
			"aria-label": words});
		this.words = el("input", {type: "search", placeholder: "ffn_up, blk_3, …"});
		this.type = el("select", {}, new Option("any", ""));
		this.class = el("select", {}, new Option("any", ""));
		this.least = number("Least θ");
		this.most = number("Greatest θ");
		this.most.oninput = () => this.#show();
		this.view = el("select", {}, new Option("by kind", "tree"),
			new Option("one list", "list"));
		this.found = el("span", {className: "soft", role: "status"});
		return el("div", {className: "row tools"}, this.#field("Filter", this.words),
			this.#field("Type", this.type), this.#field("Class", this.class),
			el("span", {className: "field"}, this.#field("θ from", this.least), "to",
				this.most),
			this.#field("Show", this.view), this.found);
	}

	#selectionTools() {
		this.chosen = el("b");
		this.copy = button("Copy", () => copyOrgans(this.model, this.other, this.#chosen()),
			{className: "main"});
		this.remove = button("Remove", async () => {
			const organs = this.#chosen();
			if (organs.length === 1 ||
				await ask(`Remove ${organWords(organs)}?`, "Remove"))
				removeOrgans(this.model, organs);
		});
		this.undo = button("Undo", () => undoGrafts(this.model, this.#chosenGrafts()));
		const clear = button("Clear", () => {
			this.#selected.clear();
			this.#show();
		}, {className: "plain"});
		return el("div", {className: "row selection", hidden: true}, this.chosen, this.copy,
			this.undo, this.remove, clear);
	}

	#head() {
		this.headings = COLUMNS.map(({key, title, number}) => el("th", {scope: "col",
			className: `${key}${number ? " number" : ""}`}, button(title, () =>
			this.#sortBy(key), {className: "sort"})));
		return el("thead", {}, el("tr", {}, el("td", {className: "check"}),
			...this.headings));
	}

	#sortBy(key) {
		this.#sort = {key, down: this.#sort.key === key && !this.#sort.down};
		this.#show();
	}

	#chosen() {
		return [...this.#selected].map((path) => this.model.organs.get(path))
			.filter((organ) => organ);
	}

	#chosenGrafts() {
		return this.#chosen().map((organ) => this.model.graft(organ.path)).filter((g) => g);
	}

	/* rows shown */

	// Draw once for many figures in a row; with many organs, rarely enough for the page to
	// stay usable.
	#plan() {
		if (this.#planned)
			return;
		this.#planned = true;
		setTimeout(() => {
			const start = performance.now();
			this.#planned = false;
			this.#show();
			this.#took = performance.now() - start;
		}, Math.max(50, 8 * this.#took));
	}

	#matches(organ) {
		const sought = this.words.value.trim().toLowerCase();
		const [least, most] = [this.least.value, this.most.value];
		return (!sought || organ.stem.toLowerCase().includes(sought)) &&
			(!this.type.value || organ.type === this.type.value) &&
			(!this.class.value || organ.class === this.class.value) &&
			(least === "" || organ.theta >= Number(least)) &&
			(most === "" || (organ.theta ?? 91) <= Number(most));
	}

	#choices(select, values) {
		if (select.options.length === values.length + 1)
			return;
		const before = select.value;
		select.replaceChildren(new Option("any", ""),
			...values.map((v) => new Option(v, v)));
		select.value = values.includes(before) ? before : "";
	}

	#sorted(groups) {
		const {of} = COLUMNS.find(({key}) => key === this.#sort.key);
		const sign = this.#sort.down ? -1 : 1;
		const value = (item) => Array.isArray(item.organs) ? this.#groupValue(item, of)
			: of(item, this.model);
		const compare = (a, b) => typeof a === "number" ? a - b : natural(a, b);
		return groups.map((item) => ({item, value: value(item)}))
			.sort((a, b) => sign * compare(a.value, b.value)).map(({item}) => item);
	}

	#groupValue({kind, organs}, of) {
		const first = of(organs[0], this.model);
		if (this.#sort.key === "name")
			return kind;
		if (typeof first !== "number")
			return first;
		return organs.reduce((n, organ) => n + of(organ), 0) /
			(this.#sort.key === "size" ? 1 : organs.length);
	}

	#show() {
		const all = [...this.model.organs.values()];
		const classes = unique(all.map((organ) => organ.class));
		this.#choices(this.type, unique(all.map((organ) => organ.type)).sort(natural));
		this.#choices(this.class, classes);
		for (const name of classes.filter((name) => !this.#known.has(name))) {
			this.#known.add(name);
			this.#open.add(name);
		}
		this.range = span(all) ?? {least: 0, most: 90};
		const organs = all.filter((organ) => this.#matches(organ));
		const rows = this.view.value === "list"
			? this.#sorted(organs).map((organ) => this.#organRow(organ, organ.stem, 0))
			: this.#tree(organs);
		keepFocus(() => placeRows(this.body, rows));
		setText(this.found, organs.length === all.length ? count(all.length, "organ")
			: `${organs.length} of ${count(all.length, "organ")}`);
		this.#showSizes(all);
		this.#showSort();
		this.#showSelection();
	}

	#showSizes(all) {
		const same = all.map((organ) => `${organ.type} ${organ.bytes}`).join();
		if (this.sizes.dataset.same !== same)
			this.sizes.replaceChildren(...sizesByType(all));
		this.sizes.dataset.same = same;
	}

	#showSort() {
		this.headings.forEach((heading, i) => heading.setAttribute("aria-sort",
			COLUMNS[i].key !== this.#sort.key ? "none"
				: this.#sort.down ? "descending" : "ascending"));
	}

	#showSelection() {
		const organs = this.#chosen();
		const writes = this.other?.writable && this.other !== this.model;
		this.selection.hidden = !organs.length || !(this.model.writable || writes);
		const selected = `${count(organs.length, "organ")} selected`;
		this.chosen.textContent = `${selected}, ${size(sum(organs))}`;
		this.copy.hidden = !writes;
		this.copy.textContent = `Copy to ${this.other?.name}`;
		this.undo.hidden = !this.model.writable || !this.#chosenGrafts().length;
		this.remove.hidden = !this.model.writable;
		for (const box of this.body.querySelectorAll("input[type=checkbox]"))
			this.#showBox(box);
	}

	#showBox(box) {
		const {organs} = box.closest("tr");
		const n = organs.filter((organ) => this.#selected.has(organ.path)).length;
		box.checked = n === organs.length;
		box.indeterminate = n > 0 && n < organs.length;
		box.closest("tr").classList.toggle("selected", n === organs.length);
	}

	/* rows: classes, their kinds, their organs */

	#tree(organs) {
		const searching = this.words.value.trim() !== "";
		const isOpen = (key) => searching || this.#open.has(key);
		return Object.keys(CLASSES).flatMap((name) => {
			const members = organs.filter((organ) => organ.class === name);
			if (!members.length)
				return [];
			const row = this.#groupRow(name, name, members, 0, isOpen(name));
			return isOpen(name) ? [row, ...this.#kinds(name, members, isOpen)] : [row];
		});
	}

	#kinds(name, members, isOpen) {
		const kinds = new Map();
		for (const organ of members)
			if (kinds.has(organ.kind))
				kinds.get(organ.kind).push(organ);
			else
				kinds.set(organ.kind, [organ]);
		const groups = [...kinds].map(([kind, organs]) => ({kind, organs}));
		return this.#sorted(groups).flatMap(({kind, organs}) => {
			if (organs.length === 1)
				return [this.#organRow(organs[0], organs[0].stem, 1)];
			const key = `${name}/${kind}`;
			const row = this.#groupRow(key, kind, organs, 1, isOpen(key));
			return isOpen(key) ? [row, ...this.#sorted(organs).map((organ) =>
				this.#organRow(organ, `blk ${organ.block}`, 2))] : [row];
		});
	}

	// The row of that key, rebuilt only if its content changes.
	#row(key, shows, organs, make) {
		const same = JSON.stringify(shows);
		const known = this.#rows.get(key);
		if (known?.same === same) {
			known.row.organs = organs;
			return known.row;
		}
		const row = make();
		const had = known?.row.contains(document.activeElement) &&
			document.activeElement.dataset.part;
		row.organs = organs;
		row.draggable = true;
		row.dataset.path = organs.length === 1 && row.classList.contains("leaf")
			? organs[0].path : key.replace(/ \d$/, "");
		this.#rows.set(key, {row, same});
		if (had)
			queueMicrotask(() => row.querySelector(`[data-part=${had}]`)
				?.focus({preventScroll: true}));
		return row;
	}

	#check(words) {
		const box = el("input", {type: "checkbox", "aria-label": `Select ${words}`,
			"data-part": "check"});
		return el("td", {className: "check"}, box);
	}

	#groupRow(key, title, organs, level, open) {
		const theta = span(organs);
		const origins = unique(organs.map((organ) => originOf(this.model, organ)));
		const grafts = organs.filter((organ) => this.model.graft(organ.path)).length;
		const from = grafts ? `${grafts} from ${origins.join(", ")}` : "";
		const types = unique(organs.map((organ) => organ.type)).join(", ");
		const shapes = level ? unique(organs.map((o) => o.shape?.join(" × "))).join(", ")
			: "";
		return this.#row(`${key} ${level}`,
			[organs.length, sum(organs), theta, types, shapes, from,
			open, this.range, organs.map((o) => o.theta)], organs, () =>
			el("tr", {className: `level-${level}`}, this.#check(title),
				el("th", {scope: "row", className: "name"}, button(title, () =>
					this.#toggle(key),
					{className: "fold", "aria-expanded": String(open),
					"data-part": "fold"}), el("span", {className: "soft"},
					...unbroken(level
					? `blk ${ranges(organs.map((organ) => organ.block))}`
					: `${organs.length}`)),
						el("span", {className: "soft about"}, level
					? "" : `: ${CLASSES[key]}`)),
				el("td", {className: "type"}, types),
				el("td", {className: "shape"}, shapes),
				el("td", {className: "size number"}, size(sum(organs))),
				el("td", {className: "theta number"},
					theta ? degrees(theta.mean) : "…", " ",
					level && theta ? sparkline(organs, this.range)
						: el("span", {className: "sparkline"})),
				el("td", {className: "graft"}, from)));
	}

	#toggle(key) {
		this.#open[this.#open.has(key) ? "delete" : "add"](key);
		this.#show();
	}

	#organRow(organ, title, level) {
		const from = originOf(this.model, organ);
		return this.#row(`${organ.path} ${title} ${level}`,
			[organ.etag, organ.type, organ.theta,
			organ.status, from, this.range], [organ], () => {
			const open = button(title,
				() => openOrgan(this.model, organ.path, this.other),
				{className: "organ", "aria-describedby": "card",
					"data-part": "open"});
			const theta = organ.theta == null ? [organ.status ?? "…"]
				: [degrees(organ.theta), " ", thetaMark(organ.theta, this.range)];
			return el("tr", {className: `level-${level} leaf${from ? " grafted" : ""}`},
				this.#check(organ.stem),
				el("th", {scope: "row", className: "name"}, open),
				el("td", {className: "type"}, organ.type ?? "…"),
				el("td", {className: "shape"}, organ.shape?.join(" × ") ?? "…"),
				el("td", {className: "size number"}, size(organ.bytes)),
				el("td", {className: "theta number"}, ...theta),
				el("td", {className: "graft"}, from));
		});
	}

	/* pointer and keyboard */

	#listen() {
		const {body} = this;
		const organOf = (event) => {
			const row = event.target.closest?.("tr.leaf");
			return row ? [row.organs[0], row.querySelector(".name")] : null;
		};
		const card = (event) => organOf(event) ? showCard(...organOf(event)) : hideCard();
		body.addEventListener("mouseover", card);
		body.addEventListener("focusin", card);
		body.addEventListener("mouseleave", hideCard);
		body.addEventListener("focusout", hideCard);
		body.addEventListener("change", (event) => this.#select(event.target));
		body.addEventListener("dragstart", (event) => this.#drag(event));
		body.addEventListener("dragend", () => {
			dragged.now = null;
		});
	}

	#select(box) {
		for (const organ of box.closest("tr").organs)
			this.#selected[box.checked ? "add" : "delete"](organ.path);
		this.#showSelection();
	}

	// Dragging a selected row drags all selected rows.
	#drag(event) {
		hideCard();
		const row = event.target.closest("tr");
		const taken = row.classList.contains("selected") ? this.#chosen() : row.organs;
		dragged.now = {model: this.model, organs: taken};
		event.dataTransfer.effectAllowed = "copy";
		event.dataTransfer.setData("text/plain", taken.map((organ) =>
			location.origin + organ.url).join("\n"));
	}

	/* drops */

	// The slot on which a single organ is dropped, if both are of the same kind.
	slotAt(target) {
		const row = target.closest?.("tr.leaf");
		const [organ] = dragged.now?.organs.length === 1 ? dragged.now.organs : [];
		const slot = row && this.body.contains(row) ? row.organs[0] : null;
		return organ && slot && slot.kind === organ.kind && slot.class === organ.class
			? slot.path : null;
	}

	accepts(event) {
		if (!this.model.writable)
			return false;
		if (!dragged.now)
			return [...event.dataTransfer.types].includes("Files");
		const slot = this.slotAt(event.target);
		return dragged.now.model !== this.model ||
			!!slot && slot !== dragged.now.organs[0].path;
	}

	drop(event) {
		const from = dragged.now;
		const slot = this.slotAt(event.target);
		dragged.now = null;
		if (from)
			copyOrgans(from.model, this.model, from.organs, slot);
		else
			graftFiles(this.model, event.dataTransfer.files);
	}
}
