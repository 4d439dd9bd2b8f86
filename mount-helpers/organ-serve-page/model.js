// SPDX-License-Identifier: MIT
// model.js - one mounted model, as the page knows it. It tells by events what has become known:
// "organs", "figures", "metadata", "grafts", "check", "log", "picture", "facts", "gone", "loaded".
import {lines, natural} from "./dom.js";
import {encode, isWritable, list, readLines, request, text} from "./http.js";

export const CLASSES = {
	skeleton: "attention and other sequence mixing",
	organs: "feed-forward networks, experts, routers",
	embed: "token embedding, output head, output norm", norm: "every other norm",
	adapters: "LoRA pairs", other: "what fits nowhere else",
};

// Between two looks at what has changed, in milliseconds.
const PERIOD = 2000;

// The block that a file belongs to, and the part it plays there; null outside of the blocks.
export function place(name) {
	const match = /^blk_(\d+)_(.+)$/.exec(name);
	return match ? {block: Number(match[1]), kind: match[2]} : {block: null, kind: name};
}

// A line of a table or of a list in JSON, without the comma behind it.
function parse(line, wrap = (s) => s) {
	try {
		return JSON.parse(wrap(line.trim().replace(/,$/, "")));
	} catch {
		return null;
	}
}

const fileStem = (path) => path.split("/").pop().replace(/\.(gguf|bin)$/, "");

function graftOf(line) {
	const [file, how, type, , bytes, tensor, , path = "-", origin = "-"] = line.split("\t");
	return {file, how, type, bytes: Number(bytes), tensor,
		donor: path === "-" ? "" : fileStem(path), origin: origin === "-" ? tensor : origin};
}

export class Model extends EventTarget {
	organs = new Map();	// by path, "organs/blk_0_ffn_up.bin"
	metadata = new Map();	// by key: value, and url where it has a file
	grafts = [];
	check = null;
	log = [];
	facts = {};
	writable = false;
	gone = false;
	#etags = {};
	#round = 0;		// what belongs to an earlier one is no longer of interest

	constructor(base, name) {
		super();
		this.base = base;
		this.name = name;
	}

	url(path) {
		return this.base + encode(path);
	}

	tell(what) {
		this.dispatchEvent(new Event(what));
	}

	on(what, listener) {
		this.addEventListener(what, listener);
	}

	graft(path) {
		return this.grafts.find((graft) => graft.file === path);
	}

	// What costs nothing first, then what is measured.
	async load() {
		this.writable = await isWritable(this.base);
		await this.#head();
		await this.refresh();
		await this.#all();
		this.#watch();
	}

	// The first lines of the manifest, without what is measured.
	async #head() {
		const head = await text(this.url("manifest.json"), {headers: {Range: "bytes=0-4095"}});
		const line = /^"model": (\{.*\}),$/m.exec(head ?? "");
		this.facts = (line && parse(line[1])) ?? {};
		this.tell("facts");
	}

	async #all() {
		const round = ++this.#round;
		const current = () => round === this.#round;
		await Promise.all([this.#readOrgans(), this.#readGrafts(), this.#readLog()]);
		const figures = this.#readManifest(current);
		await this.#readCheck();
		await figures;
		if (!current())
			return;
		this.tell("picture");
		this.tell("loaded");
	}

	async #readOrgans() {
		const names = Object.keys(CLASSES);
		const listings = await Promise.all([...names, "metadata"].map(
			(name) => list(this.url(`${name}/`))));
		const files = listings.pop() ?? [];
		const organs = listings.flatMap((entries, i) => (entries ?? [])
			.filter((entry) => entry.name.endsWith(".bin"))
			.map((entry) => this.#organ(names[i], entry)));
		organs.sort((a, b) => natural(a.path, b.path));
		this.organs = new Map(organs.map((organ) => [organ.path, organ]));
		this.keyFiles = new Map(files.map((file) => [file.name, file]));
		this.tell("organs");
	}

	// What was known of one that has not changed stays.
	#organ(name, entry) {
		const path = `${name}/${entry.name}`;
		const known = this.organs.get(path);
		if (known?.etag === entry.etag)
			return known;
		const stem = entry.name.slice(0, -4);
		return {path, stem, class: name, url: entry.url, etag: entry.etag,
			bytes: entry.bytes, ...place(stem)};
	}

	async #readGrafts() {
		const list = lines(await text(this.url(".grafts"), {cache: "no-cache"}) ?? "");
		this.grafts = list.map(graftOf);
		this.tell("grafts");
	}

	async #readLog() {
		this.log = lines(await text(this.url(".log"), {cache: "no-cache"}) ?? "");
		this.tell("log");
	}

	async #readCheck() {
		const check = await text(this.url(".check"), {cache: "no-cache"});
		this.check = lines(check ?? "unknown\tcheck\tit cannot be read; the log says why")
			.map((line) => {
				const [verdict, what, why = ""] = line.split("\t");
				return {verdict, what, why: why.trim()};
			});
		this.tell("check");
	}

	// An entry is a line; those of the tensors come as they are measured.
	async #readManifest(current) {
		let part = "";
		const metadata = new Map();
		const take = (line) => {
			const head = /^"(\w+)": [[{]$/.exec(line);
			if (head)
				part = head[1];
			else if (part === "metadata" && line.startsWith("  "))
				Object.entries(parse(line, (s) => `{${s}}`) ?? {}).forEach(
					([key, value]) => metadata.set(key, value));
			else if (part === "metadata" && current()) {
				this.metadata = metadata;
				this.tell("metadata");
				part = "";
			} else if (part === "tensors" && current())
				this.#measured(parse(line));
		};
		await readLines(this.url("manifest.json"), take);
		if (current())
			this.tell("figures");
	}

	#measured(tensor) {
		const organ = tensor && this.organs.get(tensor.file);
		if (!organ)
			return;
		Object.assign(organ, {tensor: tensor.name, type: tensor.type, shape: tensor.shape,
			elements: tensor.elements, offset: tensor.offset, figures: tensor,
			theta: tensor.status.trim() === "ok" ? tensor.theta : null,
			status: tensor.status.trim()});
		this.tell("figures");
	}

	/* live */

	// Nothing is asked for while the page is hidden, and no file is opened only to look: whoever
	// has one open keeps the mount busy.
	#watch() {
		const look = async () => {
			if (document.visibilityState === "visible")
				await this.refresh();
			setTimeout(look, PERIOD);
		};
		setTimeout(look, PERIOD);
	}

	async refresh() {
		const entries = await list(this.base);
		const gone = !entries;
		if (gone !== this.gone) {
			this.gone = gone;
			this.tell("gone");
		}
		if (gone)
			return;
		const changed = (name) => {
			const etag = entries.find((entry) => entry.name === name)?.etag;
			const before = this.#etags[name];
			this.#etags[name] = etag;
			return before !== undefined && before !== etag;
		};
		const [log, grafts] = [changed(".log"), changed(".grafts")];
		if (grafts)
			await this.#all();
		else if (log)
			await this.#readLog();
	}

	// After a change from here: it need not wait for its turn.
	async reload() {
		this.#etags = {};
		await this.refresh();
		await this.#all();
	}

	// The class of a new file: where the same part of other blocks is.
	classOf(name) {
		const stem = name.replace(/\.bin$/, "");
		const same = [...this.organs.values()];
		return (same.find((organ) => organ.stem === stem) ??
			same.find((organ) => organ.kind === place(stem).kind))?.class;
	}

	async assembleStatus() {
		const answer = await request(this.url(".assemble"), {cache: "no-cache"});
		return answer.ok ? answer.text() : "";
	}
}
