// SPDX-License-Identifier: MIT
// model.js - the page's copy of a mounted model. Events report changes: "organs", "figures",
// "metadata", "grafts", "check", "log", "facts", "gone", and "picture" once all is measured.
import {lines, natural} from "./dom.js";
import {encode, isWritable, list, readLines, request, text} from "./http.js";

export const CLASSES = {
	skeleton: "attention and other sequence mixing",
	organs: "feed-forward networks, experts, routers",
	embed: "token embedding, output head, output norm", norm: "every other norm",
	adapters: "LoRA pairs", other: "tensors of no other class",
};

// Interval between checks for changes, in milliseconds.
const PERIOD = 2000;

// The block of a file, and its part in the block; null outside of the blocks.
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
		donor: path === "-" ? "" : fileStem(path),
		origin: origin === "-" ? tensor : origin};
}

export class Model extends EventTarget {
	organs = new Map();	// by path, "organs/blk_0_ffn_up.bin"
	metadata = new Map();	// by key
	keyFiles = new Map();	// those of the keys, by name
	grafts = [];
	#graftOf = new Map();	// by the path of its file
	check = null;
	log = [];
	facts = {};
	writable = false;
	gone = false;
	#etags = {};
	#reading = null;	// the AbortController of the current read

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
		return this.#graftOf.get(path);
	}

	// Load the data that costs nothing first, then the measured data, which may take long.
	async load() {
		await this.#head();
		await this.refresh();
		this.#watch();
		await this.#all();
	}

	// Load whether the model is writable, and the first lines of the manifest, without
	// measurements.
	async #head() {
		this.writable = await isWritable(this.base);
		const head = await text(this.url("manifest.json"),
			{headers: {Range: "bytes=0-4095"}});
		this.facts = {};
		if (!lines(head ?? "").some((line) => this.#readFacts(line)))
			this.tell("facts");
	}

	#readFacts(line) {
		const facts = /^"model": (\{.*\}),$/.exec(line);
		if (!facts)
			return false;
		this.facts = parse(facts[1]) ?? {};
		this.tell("facts");
		return true;
	}

	// Abort running reads: they belong to an earlier state and occupy connections.
	async #all() {
		this.#reading?.abort();
		this.#reading = new AbortController();
		const {signal} = this.#reading;
		await Promise.all([this.#readOrgans(signal), this.#readGrafts(signal),
			this.#readLog()]);
		await Promise.all([this.#readManifest(signal), this.#readCheck(signal)]);
		if (!signal.aborted)
			this.tell("picture");
	}

	async #readOrgans(signal) {
		const names = Object.keys(CLASSES);
		const listings = await Promise.all([...names, "metadata"].map(
			(name) => list(this.url(`${name}/`))));
		if (signal.aborted)
			return;
		const files = listings.pop() ?? [];
		const organs = listings.flatMap((entries, i) => (entries ?? [])
			.filter((entry) => entry.name.endsWith(".bin"))
			.map((entry) => this.#organ(names[i], entry)));
		organs.sort((a, b) => natural(a.path, b.path));
		this.organs = new Map(organs.map((organ) => [organ.path, organ]));
		this.keyFiles = new Map(files.map((file) => [file.name, file]));
		this.tell("organs");
	}

	// Keep the known data of an organ that has not changed.
	#organ(name, entry) {
		const path = `${name}/${entry.name}`;
		const known = this.organs.get(path);
		if (known?.etag === entry.etag)
			return known;
		const stem = entry.name.slice(0, -4);
		return {path, stem, class: name, url: entry.url, etag: entry.etag,
			bytes: entry.bytes, ...place(stem)};
	}

	async #readGrafts(signal) {
		const list = await text(this.url(".grafts"), {cache: "no-cache", signal});
		if (signal.aborted)
			return;
		this.grafts = lines(list ?? "").map(graftOf);
		this.#graftOf = new Map(this.grafts.map((graft) => [graft.file, graft]));
		this.tell("grafts");
	}

	async #readLog() {
		this.log = lines(await text(this.url(".log"), {cache: "no-cache"}) ?? "");
		this.tell("log");
	}

	async #readCheck(signal) {
		const check = await text(this.url(".check"), {cache: "no-cache", signal});
		if (signal.aborted)
			return;
		this.check = lines(check ?? "unknown\tcheck\tit cannot be read; the log says why")
			.map((line) => {
				const [verdict, what, why = ""] = line.split("\t");
				return {verdict, what, why: why.trim()};
			});
		this.tell("check");
	}

	// Each entry is a line; entries of tensors arrive as the tensors are measured.
	async #readManifest(signal) {
		let part = "";
		const metadata = new Map();
		const take = (line) => {
			if (signal.aborted || !part && this.#readFacts(line))
				return;
			const head = /^"(\w+)": [[{]$/.exec(line);
			if (head)
				part = head[1];
			else if (part === "metadata" && line.startsWith("  "))
				Object.entries(parse(line, (s) => `{${s}}`) ?? {}).forEach(
					([key, value]) => metadata.set(key, value));
			else if (part === "metadata") {
				this.metadata = metadata;
				this.tell("metadata");
				part = "";
			} else if (part === "tensors")
				this.#measured(parse(line));
		};
		await readLines(this.url("manifest.json"), take, signal);
		if (!signal.aborted)
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

	// No request is sent while the page is hidden, and no file is opened only to check it: a
	// file that is open keeps the mount busy.
	#watch() {
		const look = async () => {
			if (document.visibilityState === "visible")
				await this.refresh().catch(console.error);
			setTimeout(look, PERIOD);
		};
		setTimeout(look, PERIOD);
	}

	// Refresh without waiting for measurements. A mount that answers again may be a new one.
	async refresh() {
		const entries = await list(this.base);
		const before = this.gone;
		this.gone = !entries;
		if (this.gone !== before)
			this.tell("gone");
		if (this.gone)
			return;
		if (before)
			await this.#head();
		const changed = (name) => {
			const etag = entries.find((entry) => entry.name === name)?.etag;
			const known = this.#etags[name];
			this.#etags[name] = etag;
			return known !== undefined && known !== etag;
		};
		const [log, grafts] = [changed(".log"), changed(".grafts")];
		if (grafts || before)
			this.#all().catch(console.error);
		else if (log)
			await this.#readLog();
	}

	// Refresh at once, after a change from this page.
	async reload() {
		this.#etags = {};
		await this.refresh();
		if (!this.gone)
			await this.#all();
	}

	// The class of a new file: that of the same part in other blocks.
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
