// SPDX-License-Identifier: MIT
// organ.js - the view of one organ: its facts, its figures, the distribution of its values.
import {ask, button, el, newId, size, svg} from "./dom.js";
import {copyOrgans, graftFiles, removeOrgans, undoGrafts} from "./edits.js";
import {figureList} from "./figures.js";
import {request} from "./http.js";

// Values are sampled in this many places of a tensor, with this many bytes in each.
const PLACES = 8;
const BYTES = 8192;
const BARS = 41;

const READERS = {"<f4": Float32Array, "<f8": Float64Array, "|i1": Int8Array, "<i2": Int16Array,
	"<i4": Int32Array};

async function bytes(url, from, length) {
	const answer = await request(url, {headers: {Range: `bytes=${from}-${from + length - 1}`}});
	return answer.status === 206 ? answer.arrayBuffer() : null;
}

// Offset, type and number of the values of an .npy; null if the header is not understood.
async function header(url) {
	const start = await bytes(url, 0, 1024);
	if (!start || start.byteLength < 12)
		return null;
	const view = new DataView(start);
	const long = view.getUint8(6) > 1;
	const from = long ? 12 : 10;
	const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
	const words = new TextDecoder("latin1").decode(start.slice(from, from + length));
	const Reader = READERS[/'descr': '([^']+)'/.exec(words)?.[1]];
	const shape = /'shape': \(([^)]*)\)/.exec(words)?.[1] ?? "";
	const n = shape.split(",").filter((s) => s.trim()).reduce((all, s) => all * Number(s), 1);
	return Reader ? {Reader, data: from + length, n} : null;
}

// Values from places throughout the organ.
async function sample(url) {
	const npy = await header(url);
	if (!npy)
		return null;
	const width = npy.Reader.BYTES_PER_ELEMENT;
	const each = Math.min(npy.n, BYTES / width);
	const last = npy.n - each;
	const starts = new Set(Array.from({length: PLACES}, (_, i) =>
		Math.floor(last * i / (PLACES - 1))));
	const values = [];
	for (const start of last ? starts : [0]) {
		const part = await bytes(url, npy.data + start * width, each * width);
		if (!part)
			return null;
		values.push(...new npy.Reader(part));
	}
	return {values: values.filter(Number.isFinite), all: npy.n};
}

function histogram({values, all}) {
	const far = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
	const counts = new Array(BARS).fill(0);
	for (const value of values)
		counts[Math.min(BARS - 1, Math.floor((far ? value / far + 1 : 1) / 2 * BARS))]++;
	const most = Math.max(...counts);
	const words = `How ${values.length} of ${all} values are spread, ` +
		`from ${-far.toPrecision(3)} to ${far.toPrecision(3)}`;
	return [svg("svg", {viewBox: `0 0 ${BARS * 10} 120`, class: "histogram", role: "img",
		"aria-label": words}, ...counts.map((n, i) => svg("rect", {x: i * 10 + 1, width: 8,
		y: 120 - 118 * n / most, height: 118 * n / most})),
	svg("line", {x1: BARS * 5, x2: BARS * 5, y1: 0, y2: 120})),
	el("p", {className: "axis", "aria-hidden": "true"}, el("span", {}, (-far).toPrecision(3)),
		el("span", {}, "0"), el("span", {}, far.toPrecision(3))),
	el("p", {className: "soft"}, `${values.length} of ${all} values`)];
}

function facts(organ, graft) {
	const list = {"Tensor": organ.tensor, "Class": organ.class, "Block": organ.block ?? "none",
		"Type": organ.type, "Shape": organ.shape?.join(" × "), "Values": organ.elements,
		"Size": `${size(organ.bytes)}, ${organ.bytes} bytes with its header`,
		"In the base": organ.offset == null ? "not there" : `at byte ${organ.offset}`,
		"Graft": graft ? [graft.how, graft.donor && `from ${graft.donor}`, graft.origin]
			.filter((word) => word).join(" ") : "none"};
	return el("dl", {className: "facts"}, ...Object.entries(list).flatMap(([name, value]) =>
		[el("dt", {}, name), el("dd", {}, `${value ?? "…"}`)]));
}

function tools(model, organ, other, close) {
	const then = (act) => () => {
		close();
		act();
	};
	const graft = model.graft(organ.path);
	const all = [el("a", {href: organ.url, download: `${organ.stem}.bin`, className: "button"},
		"Download")];
	if (other?.writable)
		all.push(button(`Copy to ${other.name}`,
			then(() => copyOrgans(model, other, [organ]))));
	if (!model.writable)
		return all;
	const file = el("input", {type: "file", id: newId()});
	file.onchange = then(() => graftFiles(model, file.files, organ.path));
	if (graft)
		all.push(button("Undo the graft", then(() => undoGrafts(model, [graft]))));
	all.push(button("Remove", async () => {
		close();
		if (await ask(`Remove ${organ.stem}?`, "Remove"))
			removeOrgans(model, [organ]);
	}), el("span", {className: "field"}, el("label", {htmlFor: file.id}, "Replace by"), file));
	return all;
}

export async function openOrgan(model, path, other) {
	const organ = model.organs.get(path);
	if (!organ)
		return;
	const title = el("h2", {id: newId()}, organ.stem);
	const values = el("div", {}, el("p", {className: "soft"}, "Reading values…"));
	const dialog = el("dialog", {className: "organ-view", "aria-labelledby": title.id});
	const close = () => dialog.close();
	dialog.append(el("header", {className: "line"}, title, button("Close", close)),
		el("p", {className: "soft"}, model.name),
		el("div", {className: "columns"}, facts(organ, model.graft(path)),
			el("div", {}, el("h3", {}, "Figures"),
				organ.figures ? figureList(organ.figures)
				: "Not measured yet.", el("h3", {}, "Values"), values)),
		el("div", {className: "row"}, ...tools(model, organ, other, close)));
	dialog.onclose = () => dialog.remove();
	document.body.append(dialog);
	dialog.showModal();
	const npy = model.url(`.views/npy/${organ.class}/${organ.stem}.npy`);
	const some = await sample(npy);
	values.replaceChildren(...some?.values.length ? histogram(some)
		: [el("p", {className: "soft"}, "They cannot be drawn.")]);
}
