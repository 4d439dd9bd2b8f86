// SPDX-License-Identifier: MIT
// pane.js - the view of one model, alone on the page or beside another one.
import {ask, button, count, el, newId, setText, size} from "./dom.js";
import {assemble, dragged, graftFiles, organWords} from "./edits.js";
import {text} from "./http.js";
import {Grafts} from "./grafts.js";
import {Metadata} from "./metadata.js";
import {Organs} from "./organs.js";

// In a line; README.md has more.
const THETA = "θ is an angle that says how the weights of a tensor are distributed: " +
	"near 0° evenly, as noise; 36° a bell curve; near 90° with few weights far out. " +
	"It grades no tensor and no model.";

// The last lines of the log are the ones of interest.
const LOG_LINES = 20;

// The problem in few words, from the worst of the checks.
function verdictOf(check) {
	const overall = check.find(({what}) => what === "overall") ?? check[0];
	const worst = check.find(({verdict, what}) => verdict === overall.verdict &&
		what !== "overall");
	if (overall.verdict === "ok" || !worst)
		return {verdict: overall.verdict, why: overall.why};
	const lacks = /^removed, while their blocks are there: blk (\S+) (\S+?)(; |$)/
		.exec(worst.why);
	return {verdict: worst.verdict, why: lacks ? `blk ${lacks[1]} lacks ${lacks[2]}`
		: `${worst.what}: ${worst.why}`};
}

// The effect of a drop, shown while something is dragged over a model.
const hint = el("p", {className: "drop-hint", hidden: true, "aria-hidden": "true"});
document.body.append(hint);

export class Pane {
	#pictured = "";

	constructor(model, level) {
		this.model = model;
		this.level = level;
		this.titleId = newId();
		this.organs = new Organs(model);
		this.element = el("article", {className: "pane", "aria-label": model.name},
			this.#verdictBar(), this.#facts(), el("div", {className: "sections"},
				this.#section("θ as a picture",
					[el("p", {className: "soft"}, THETA), this.#picture()],
					"picture"),
				this.#section("Grafts", new Grafts(model).element, "grafts"),
				this.#section("Has it a chance?", this.#checks(), "check"),
				this.#section("Organs", [this.#files(), this.organs.element],
					"organs-section"),
				this.#section("Metadata", new Metadata(model).element,
					"metadata-section"),
				this.#report(), this.#log()));
		this.#listen();
	}

	#section(title, content, name) {
		const heading = el(`h${this.level + 1}`, {id: newId()}, title);
		return el("section", {className: name,
			"aria-labelledby": `${heading.id} ${this.titleId}`}, heading,
			...[content].flat(2));
	}

	/* the line at the top */

	#verdictBar() {
		const {model} = this;
		const name = el("input", {type: "text", id: newId(), size: 20});
		// The daemon's default name, with -2 and so on if that is taken.
		model.on("facts", () => {
			name.placeholder = `${model.name}.grafted.gguf`;
		});
		const go = el("button", {className: "main"}, "Assemble");
		this.form = el("form", {className: "row", hidden: true, onsubmit: async (event) => {
			event.preventDefault();
			if (!await this.#wants(name.value || name.placeholder))
				return;
			go.disabled = true;
			await assemble(model, name.value);
			go.disabled = false;
		}}, el("label", {htmlFor: name.id, className: "hide-narrow"}, "File name"), name,
			go);
		this.verdict = el("p", {className: "words", role: "status"},
			el("b", {}, "Checking"), " ", el("span", {}, "…"));
		return el("div", {className: "verdict-bar"}, this.verdict, this.form);
	}

	// A model that .check calls impossible is written only after a second confirmation.
	async #wants(name) {
		const {verdict, why} = this.model.check.length ? verdictOf(this.model.check)
			: {verdict: ""};
		return verdict !== "impossible" ||
			ask(`Write ${name}, though it is impossible: ${why}?`, "Write it");
	}

	#showVerdict() {
		const {verdict, why} = verdictOf(this.model.check);
		const [word, reason] = this.verdict.children;
		this.verdict.parentNode.dataset.verdict = verdict;
		setText(word, `${verdict}:`);
		setText(reason, why);
	}

	#checks() {
		const bad = el("ul", {className: "checks"});
		const good = el("ul", {className: "checks"});
		const words = el("summary");
		const fold = el("details", {hidden: true}, words, good);
		this.model.on("check", () => {
			this.#showVerdict();
			const all = this.model.check.filter(({what}) => what !== "overall");
			const line = ({verdict, what, why}) =>
				el("li", {}, el("b", {className: verdict},
				verdict), " ", el("b", {}, what), ` ${why}`);
			const fine = all.filter(({verdict}) => verdict === "ok");
			bad.replaceChildren(...all.filter((one) => !fine.includes(one)).map(line));
			good.replaceChildren(...fine.map(line));
			words.textContent = `${count(fine.length, "check")} ok`;
			fold.hidden = !fine.length;
		});
		return [bad, fold];
	}

	/* facts, picture, report, log */

	#facts() {
		const {model} = this;
		const title = el(`h${this.level}`, {id: this.titleId}, model.name);
		const line = el("p", {className: "soft"}, "Loading");
		const link = (path, words) => el("a", {href: model.url(path)}, words);
		model.on("facts", () => {
			const {facts} = model;
			model.name = facts.name ?? model.name;
			title.textContent = model.name;
			this.element.setAttribute("aria-label", model.name);
			line.textContent = [facts.architecture,
				facts.tensors &&
					`${facts.tensors} tensor${facts.tensors === 1 ? "" : "s"}`,
				facts.parameters &&
					`${(facts.parameters / 1e6).toFixed(1)} million parameters`,
				facts.bits_per_weight &&
					`${facts.bits_per_weight.toFixed(2)} bits each`,
				facts.size && size(facts.size)].filter((fact) => fact).join(" · ");
			if (!model.writable)
				line.append(" · only to be read");
			file.download = `${model.name}.gguf`;
		});
		const file = link("model.gguf", "model.gguf");
		return el("header", {className: "facts-line"}, title, line, el("p", {}, file,
			" · ",
			link("manifest.json", "manifest"), " · ",
			link("checksums.xxh128", "checksums"),
			" · ", link("metadata/", "metadata")));
	}

	// After a graft the picture changes under the same name.
	#picture() {
		const frame = el("div", {className: "scroll", tabIndex: 0, role: "region",
			"aria-label": `θ of ${this.model.name} as a picture`},
		el("p", {className: "soft"}, "Measuring…"));
		this.model.on("picture", async () => {
			const state = JSON.stringify(this.model.grafts);
			if (state === this.#pictured)
				return;
			this.#pictured = state;
			const image = el("img",
				{alt: "θ of every tensor: blocks across, the parts they play down",
				src: `${this.model.url("theta.svg")}?${Date.now()}`});
			const shown = await image.decode().then(() => image,
				() => "It cannot be shown.");
			if (state === this.#pictured)
				frame.replaceChildren(shown);
			if (shown !== image)
				this.#pictured = "";
		});
		return frame;
	}

	#report() {
		const words = el("pre", {}, "Measuring…");
		const read = async () => {
			if (fold.open)
				setText(words,
					await text(this.model.url(".theta"), {cache: "no-cache"}) ??
					"It cannot be read; the log says why.");
		};
		this.model.on("picture", read);
		const fold = el("details", {ontoggle: read}, el("summary", {}, "Read it"),
			el("div", {className: "scroll", tabIndex: 0,
			role: "region", "aria-label": `Report of ${this.model.name}`}, words));
		return this.#section("Report", fold, "report");
	}

	#log() {
		const words = el("pre");
		const section = this.#section("Log", el("div", {className: "scroll", tabIndex: 0,
			role: "region", "aria-label": `Log of ${this.model.name}`}, words), "log");
		section.hidden = true;
		this.model.on("log", () => {
			section.hidden = !this.model.log.length;
			setText(words, this.model.log.slice(-LOG_LINES).join("\n"));
		});
		return section;
	}

	/* chosen files, and drops */

	#files() {
		const input = el("input", {type: "file", multiple: true, id: newId()});
		input.onchange = async () => {
			await graftFiles(this.model, input.files);
			input.value = "";
		};
		this.files = el("p", {className: "row", hidden: true},
			el("label", {htmlFor: input.id},
			"Graft files, dropped here or chosen:"), input);
		return this.files;
	}

	#listen() {
		const {model, element, organs} = this;
		const leave = () => {
			hint.hidden = true;
			element.classList.remove("over");
			element.querySelector(".slot-over")?.classList.remove("slot-over");
		};
		const over = (event) => {
			const accepted = organs.accepts(event);
			leave();
			if (!accepted)
				return;
			element.classList.add("over");
			event.preventDefault();
			event.dataTransfer.dropEffect = "copy";
			this.#hint(event);
		};
		element.addEventListener("dragenter", over);
		element.addEventListener("dragover", over);
		element.addEventListener("dragleave", (event) => {
			if (!element.contains(event.relatedTarget))
				leave();
		});
		element.addEventListener("drop", (event) => {
			if (!organs.accepts(event))
				return;
			event.preventDefault();
			leave();
			organs.drop(event);
		});
		model.on("facts", () => {
			this.form.hidden = this.files.hidden = !model.writable;
		});
		model.on("gone", () => element.classList.toggle("gone", model.gone));
		model.on("gone", () => setText(this.verdict.firstChild, model.gone
			? "The mount does not answer:" : "The mount answers again:"));
	}

	#hint(event) {
		const slot = dragged.now && this.organs.slotAt(event.target);
		if (slot)
			event.target.closest("tr").classList.add("slot-over");
		hint.hidden = false;
		setText(hint, !dragged.now ? `Drop to graft into ${this.model.name}`
			: `Drop to copy ${organWords(dragged.now.organs)} into ` +
				(slot ?? this.model.name));
	}
}
