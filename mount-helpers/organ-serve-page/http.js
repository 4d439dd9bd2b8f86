// SPDX-License-Identifier: MIT
// http.js - requests to the server. No function here throws: a server that does not answer has
// status 503.

export const decode = (s) => {
	try {
		return decodeURIComponent(s);
	} catch {
		return s;
	}
};

export const encode = (path) => path.split("/").map(encodeURIComponent).join("/");

export async function request(url, init) {
	try {
		return await fetch(url, init);
	} catch {
		return new Response("The server does not answer.\n", {status: 503});
	}
}

// The text of an answer; null if the connection ends too early.
const body = (answer) => answer.text().catch(() => null);

export async function text(url, init) {
	const answer = await request(url, init);
	return answer.ok ? body(answer) : null;
}

// null after success, or the sentence of the refusal.
async function outcome(url, init) {
	const answer = await request(url, init);
	const said = (await body(answer))?.trim();
	return answer.ok ? null : said || `${decode(url)}: status ${answer.status}`;
}

// Only a body being sent can be cancelled: other requests take effect at once, or not at all.
export const put = (url, body, signal) => outcome(url, {method: "PUT", body, signal});
export const remove = (url) => outcome(url, {method: "DELETE"});
export const copy = (from, to) => outcome(from,
	{method: "COPY", headers: {Destination: location.origin + to}});

// The JSON at an address, or null.
export async function json(url) {
	const answer = await request(url, {cache: "no-cache",
		headers: {Accept: "application/json"}});
	return answer.ok ? answer.json().catch(() => null) : null;
}

export const mountBeside = (url, file) => outcome(url, {method: "POST", body: file});

// Copy all organs of a class, or none: if the connection ends, the server undoes the copy. Returns
// as outcome().
export async function copyClass(from, to, signal) {
	const answer = await request(from, {method: "COPY", signal,
		headers: {Destination: location.origin + to, Accept: "application/json"}});
	const said = await answer.json().catch(() => ({}));
	return answer.ok ? null : said.error ?? `${decode(from)}: status ${answer.status}`;
}

// The server's answer as a document, or null. (XMLHttpRequest parses it without a sink for HTML.)
function propfind(url, depth) {
	return new Promise((resolve) => {
		const asked = new XMLHttpRequest();
		asked.open("PROPFIND", url);
		asked.setRequestHeader("Depth", depth);
		asked.overrideMimeType("text/xml");
		asked.onload = () => resolve(asked.status === 207 ? asked.responseXML : null);
		asked.onerror = () => resolve(null);
		asked.send();
	});
}

function entryOf(response) {
	const of = (tag) => response.getElementsByTagNameNS("DAV:", tag)[0];
	const url = new URL(of("href").textContent, location.origin).pathname;
	return {url, name: decode(url.replace(/\/$/, "").split("/").pop()),
		directory: !!of("collection"), etag: of("getetag")?.textContent ?? "",
		bytes: Number(of("getcontentlength")?.textContent ?? 0)};
}

// The entries of a directory, or null. The listing measures nothing and opens no file.
export async function list(url) {
	const xml = await propfind(url, "1");
	return xml && [...xml.getElementsByTagNameNS("DAV:", "response")].slice(1).map(entryOf);
}

export async function exists(url) {
	return !!await propfind(url, "0");
}

export async function isWritable(url) {
	const answer = await request(url, {method: "OPTIONS"});
	return /\bPUT\b/.test(answer.headers.get("Allow") ?? "");
}

// Call line for each line of a text as soon as it arrives.
export async function readLines(url, line, signal) {
	const answer = await request(url, {cache: "no-cache", signal});
	if (!answer.ok)
		return false;
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	try {
		for (;;) {
			const {done, value} = await reader.read();
			const parts = (rest + (value ?? "")).split("\n");
			rest = done ? "" : parts.pop();
			parts.forEach(line);
			if (done)
				return true;
		}
	} catch {
		return false;
	}
}
